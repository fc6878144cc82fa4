// SPDX-License-Identifier: Apache-2.0
/* One operation on one process: what is known of it, and what every step shares. */
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
	const struct ops_options *options;
	uint64_t deadline_ms; /* until when to try again on ERR_BUSY, CLOCK_MONOTONIC */
	uint64_t timeout_ms;  /* until when all runs together may go on, CLOCK_MONOTONIC */
	struct proc proc;
	struct confined looker; /* it reads the files and the memory of the process: look.h */
	look_fn *question;	/* of the caller's own, see look_ask(); NULL: none */
	struct maps maps;	/* of the looker alone */
	struct images images;	/* what the looker found, without the files */
	struct jemalloc *jemallocs;
	size_t n_jemallocs;
	struct jemalloc *je; /* the one operated on: it owns the program's malloc, unless another
			      * was asked for */
	struct injector *inj;
	bool luajit;		     /* it runs LuaJIT; after look_values() */
	char version[64];	     /* as the target said, else as its image does; "" if unknown */
	struct injector_report last; /* what the last run cost, and found */
	struct ops_cost cost;
	bool no_call;	       /* what failed is that no call can be made in it */
	uint64_t recorded_ms;  /* for how long a recording has gone on; 0: it is none */
	uint64_t sample_bytes; /* a profile of allocated bytes: what a sample stands for; else 0 */
	/* In the run of the last dump: */
	uint64_t allocated;	  /* bytes, without what thread caches keep; 0: not known */
	enum tristate opt_active; /* opt.prof_active: was it sampled from the start? */
};

#define SESSION_INIT                    \
	{                               \
		.looker = CONFINED_INIT \
	}

/* "4242 (redis-server)" in `buf`, safe to print. */
#define SESSION_WHO_SIZE 320
#define SESSION_ARGS(s) .pid = (s)->proc.pid, .comm = (s)->proc.status.comm
const char *session_who(const struct session *s, char *buf, size_t size);

/* Add what another session cost: its stops, and their times. */
void cost_add(struct ops_cost *sum, const struct ops_cost *more);

/* What is left of --timeout, for operations of many runs; 0 when it is over. */
unsigned int session_left_ms(const struct session *s);

/* Is the target's jemalloc known to be older than this? Unknown is newest. */
bool session_older(const struct session *s, int major, int minor, int patch);

/* After a failure: is it worth another try? Then it has slept for a moment. */
bool session_try_again(const struct session *s, const struct err *err);

/* Whatever failed in a process that has ended, or runs another program: that is the cause. -1. */
int session_failed(const struct session *s, struct err *err);

/* The same where no call was made: the injector touched nothing unless it is ERR_LOST. */
int session_no_call(struct session *s, struct err *err);

#endif
