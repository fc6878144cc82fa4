// SPDX-License-Identifier: Apache-2.0
/* Calls that the target makes, and why one of them failed. */
#ifndef OPS_TARGET_RUN_H
#define OPS_TARGET_RUN_H

#include "ops/target/session.h"

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

/* Was it made, and did mallctl return 0? */
bool call_succeeded(const struct call *call);

/* The bool that it read; TRI_UNKNOWN where it did not succeed. */
enum tristate call_answer(const struct call *call);

/* Fail with why `call` did not succeed. */
int session_call_failed(const struct session *s, const struct call *call, struct err *err);

/* The two refusals of the gate. */
int session_no_config_prof(const struct session *s, struct err *err);
int session_no_opt_prof(const struct session *s, struct err *err);

struct call call_read(const char *name, void *old, size_t len);
struct call call_write(const char *name, const void *new, size_t len);
/* Write, and get the value from before in the same call. */
struct call call_swap(const char *name, void *old, const void *new, size_t len);
struct call call_read_string(const char *name, char *old, size_t size);
struct call call_write_string(const char *name, const char *text);

#endif
