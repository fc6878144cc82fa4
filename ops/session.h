// SPDX-License-Identifier: Apache-2.0
/* One operation on one process: everything looked at, and the injector ready. */
#ifndef OPS_SESSION_H
#define OPS_SESSION_H

#include "elf/image.h"
#include "injector/injector.h"
#include "jemalloc/jemalloc.h"
#include "ops/ops.h"
#include "process/maps.h"
#include "process/proc.h"
#include "sandbox/confined.h"

/* Private to ops/: which of a process's jemallocs is meant. */

/*
 * The one of `n` whose image is called `name` (a path as maps names it, or its
 * file name) or whose prefix is `name`; the first when `name` is NULL.
 * ERR_NOJEMALLOC when there is none, ERR_USAGE when there are several; both
 * name what there is.
 */
int pick_jemalloc(struct jemalloc *v, size_t n, const char *name, struct jemalloc **picked,
		  struct err *err) __must_check;

struct session {
	const struct ops_options *options;
	uint64_t deadline_ms; /* until when to try again on ERR_BUSY, CLOCK_MONOTONIC */
	uint64_t timeout_ms;  /* until when all runs together may go on, CLOCK_MONOTONIC */
	struct proc proc;
	struct confined looker; /* it reads the files and the memory of the process: ops/look.h */
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
	bool no_call;	      /* what failed is that no call can be made in it */
	uint64_t recorded_ms; /* for how long a recording has gone on; 0: it is none */
};

/* The steps of session_open(), for callers that want to know which one failed. */
int session_open_proc(struct session *s, pid_t pid, const struct ops_options *options,
		      struct err *err) __must_check;
int session_may_trace(struct session *s, struct err *err) __must_check;
int session_find_jemalloc(struct session *s, struct err *err) __must_check;
int session_open_injector(struct session *s, struct err *err) __must_check;

/* All of them. `s` is SESSION_INIT; session_close() is due also when this fails. Only looks. */
#define SESSION_INIT                    \
	{                               \
		.looker = CONFINED_INIT \
	}
int session_open(struct session *s, pid_t pid, const struct ops_options *options, struct err *err)
	__must_check;
void session_close(struct session *s);

/*
 * ERR_FAILED, with its fix, when sampling is known to end some programs like this one, or to
 * hang them: all of session_may_unwind() and, where it was started with prof_gdump:true,
 * session_may_gdump(). What memory and code do not tell is asked by calls, with ERR_NOPROF and all
 * else that a gated run fails with; where none can be made, not to know is ERR_UNSAFE.
 */
int session_may_sample(struct session *s, struct err *err) __must_check;
/* ERR_FAILED, with its fix, when this unwinder may end this program; UNWINDER_UNKNOWN too. */
int session_may_unwind(const struct session *s, enum jemalloc_unwinder unwinder, struct err *err)
	__must_check;
/* It never may: ERR_FAILED, with its fix. */
int session_may_gdump(const struct session *s, struct err *err) __must_check;

/* One run: calls that the target makes in a row. */
struct run {
	struct call *calls;
	size_t n; /* at most SESSION_CALLS_MAX */
	/* The calls after the first `n_unconditional` are made only if config.prof and opt.prof are
	 * true. */
	bool gated;
	size_t n_unconditional;
	/* As in struct injector_run: calls about the calling thread. */
	pid_t tid;
	unsigned int search_ms;
};
/* The others read the version to confirm a jemalloc, and version and options to gate. */
#define SESSION_CALLS_MAX (CALLS_MAX - 4)

/*
 * injector_run(), tried again while ERR_BUSY and there is time; adds up the cost. A jemalloc that
 * no symbol named is asked for its version first, and for nothing else unless that is the one in
 * its image: ERR_NOJEMALLOC. ERR_NOPROF, with its fix, where a gated call was not made as one of
 * the two is false. Where an unconditional call failed, the gated ones were not made, which is no
 * error: see each call's `made` and `ret`.
 */
int session_run(struct session *s, const struct run *run, struct err *err) __must_check;

/* Fail with why `call` did not succeed. */
int session_call_failed(const struct session *s, const struct call *call, struct err *err);

/* The two refusals of the gate. */
int session_no_config_prof(const struct session *s, struct err *err);
int session_no_opt_prof(const struct session *s, struct err *err);

/* "4242 (redis-server)" in `buf`, safe to print. */
#define SESSION_WHO_SIZE 320
const char *session_who(const struct session *s, char *buf, size_t size);

/* What is left of --timeout, for operations of many runs; 0 when it is over. */
unsigned int session_left_ms(const struct session *s);

/* Is the target's jemalloc known to be older than this? Unknown is newest. */
bool session_older(const struct session *s, int major, int minor, int patch);

struct call call_read(const char *name, void *old, size_t len);
struct call call_write(const char *name, const void *new, size_t len);
/* Write, and get the value from before in the same call. */
struct call call_swap(const char *name, void *old, const void *new, size_t len);
struct call call_read_string(const char *name, char *old, size_t size);
struct call call_write_string(const char *name, const char *text);

/* Mallctl values as calls: shared by get, set and status. */

/* The call that reads `value->name` into `value`; `value->ctl` is set. */
struct call value_call(struct ops_value *value);

#endif
