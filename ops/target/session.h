// SPDX-License-Identifier: Apache-2.0
/* One operation on one process: what is known of it, and what all steps share. */
#ifndef OPS_TARGET_SESSION_H
#define OPS_TARGET_SESSION_H

#include "elf/image.h"
#include "injector/injector.h"
#include "jemalloc/jemalloc.h"
#include "ops/ops.h"
#include "process/maps.h"
#include "process/proc.h"
#include "sandbox/confined.h"

/* Answers a question in the confined child that reads the process. */
struct session;
typedef int look_fn(struct session *s, struct unpack *question, struct pack *answer,
		    struct err *err);

struct session {
	/* Used until the session is closed: a variable for them is declared before the session. */
	const struct ops_options *options;
	uint64_t deadline_ms; /* until when to retry on ERR_BUSY, CLOCK_MONOTONIC */
	uint64_t timeout_ms;  /* until when all runs together may go on, CLOCK_MONOTONIC */
	struct proc proc;
	struct confined looker; /* reads the files and the memory of the process: look.h */
	look_fn *question;	/* the caller's own, see look_ask(); NULL: none */
	struct maps maps;	/* used by the looker only */
	struct images images;	/* found by the looker, without the files */
	struct jemalloc *jemallocs;
	size_t n_jemallocs;
	struct err no_jemalloc; /* why there is none */
	struct jemalloc *je;	/* operated on: owns the program's malloc, or was requested */
	struct injector *inj;
	bool luajit;	  /* it runs LuaJIT; after look_values() */
	char version[64]; /* as the target reported it, else from its image; "" if unknown */
	struct injector_report last; /* cost and findings of the last run */
	struct ops_cost cost;
	bool no_call;	       /* the failure is that no call can be made in it */
	uint64_t recorded_ms;  /* how long a recording has been going on; 0: none */
	uint64_t sample_bytes; /* profile of allocated bytes: what a sample stands for; else 0 */
	/* From the run of the last dump: */
	uint64_t allocated;	  /* bytes, without thread caches; 0: unknown */
	enum tristate opt_active; /* opt.prof_active: sampled from the start? */
};

#define SESSION_INIT                    \
	{                               \
		.looker = CONFINED_INIT \
	}

/* "4242 (redis-server)" in `buf`, safe to print. */
#define SESSION_WHO_SIZE 320
#define SESSION_ARGS(s) .pid = (s)->proc.pid, .comm = (s)->proc.status.comm
const char *session_who(const struct session *s, char *buf, size_t size);

/* Add what another session cost: its stops and their times. */
void cost_add(struct ops_cost *sum, const struct ops_cost *more);

/* What is left of --timeout, for operations of many runs; 0 when it has expired. */
unsigned int session_left_ms(const struct session *s);

/* Is the target's jemalloc known to be older than this? Unknown counts as newest. */
bool session_older(const struct session *s, int major, int minor, int patch);

/* After a failure: is it worth a retry? If so, sleeps for a moment first. */
bool session_try_again(const struct session *s, const struct err *err);

/*
 * If the process has ended or runs another program, that is the cause of any failure. Returns -1.
 */
int session_failed(const struct session *s, struct err *err);

/* The same if no call was made: unless it is ERR_LOST, the injector touched nothing. */
int session_no_call(struct session *s, struct err *err);

#endif
