// SPDX-License-Identifier: Apache-2.0
/* Calls that the target makes, and why they fail. */
#ifndef OPS_TARGET_RUN_H
#define OPS_TARGET_RUN_H

#include "ops/target/session.h"

/* One run: calls that the target makes in a row. */
struct run {
	struct call *calls;
	size_t n;	 /* at most SESSION_CALLS_MAX */
	bool keep_going; /* make all of them, as if each had CALL_KEEP_GOING */
	/*
	 * Make the calls after the first `n_unconditional` only if config.prof and opt.prof are
	 * true.
	 */
	bool gated;
	size_t n_unconditional;
	/* As in struct injector_run: for calls about the calling thread. */
	pid_t tid;
	unsigned int search_ms;
};
/* The others read the version to confirm a jemalloc, and version and options for the gate. */
#define SESSION_CALLS_MAX (CALLS_MAX - 4)

/*
 * injector_run(), retried on ERR_BUSY while there is time; adds up the cost. A jemalloc that was
 * found without symbols is first asked for its version, and for nothing else unless that matches
 * its image: ERR_NOJEMALLOC. ERR_NOPROF, with its fix, if a gated call was not made because one of
 * the two options is false. If an unconditional call failed, the gated ones are not made, which is
 * no error: see each call's `made` and `ret`.
 */
int session_run(struct session *s, const struct run *run, struct err *err) __must_check;

/* Was it made, and did mallctl return 0? */
bool call_succeeded(const struct call *call);

/* The bool that it read; TRI_UNKNOWN if it did not succeed. */
enum tristate call_answer(const struct call *call);

/* Fail with the reason why `call` did not succeed. */
int session_call_failed(const struct session *s, const struct call *call, struct err *err);

/* The two refusals of the gate. */
int session_no_config_prof(const struct session *s, struct err *err);
int session_no_opt_prof(const struct session *s, struct err *err);

struct call call_read(const char *name, void *old, size_t len);
struct call call_write(const char *name, const void *new, size_t len);
/* Write, and read the previous value in the same call. */
struct call call_swap(const char *name, void *old, const void *new, size_t len);
struct call call_read_string(const char *name, char *old, size_t size);
struct call call_write_string(const char *name, const char *text);

#endif
