// SPDX-License-Identifier: Apache-2.0
/* Opens a process: inspects everything, and readies the injector. */
#ifndef OPS_TARGET_OPEN_H
#define OPS_TARGET_OPEN_H

#include "ops/target/session.h"

/*
 * The one of `n` whose image is called `name` (a path as in maps, or its file name) or whose prefix
 * is `name`; the first when `name` is NULL. ERR_NOJEMALLOC when there is none, ERR_USAGE when there
 * are several; both list what there is.
 */
int pick_jemalloc(struct jemalloc *v, size_t n, const char *name, struct jemalloc **picked,
		  struct err *err) __must_check;

/* The steps of session_open(), for callers that want to know which one failed. */
int session_open_proc(struct session *s, pid_t pid, const struct ops_options *options,
		      struct err *err) __must_check;
int session_may_trace(struct session *s, struct err *err) __must_check;
int session_find_jemalloc(struct session *s, struct err *err) __must_check;
/* The second half of session_find_jemalloc(), after look_found(). */
int session_pick_jemalloc(struct session *s, struct err *err) __must_check;
int session_open_injector(struct session *s, struct err *err) __must_check;

/* All of them. `s` is SESSION_INIT; session_close() is due even after a failure. Only inspects. */
int session_open(struct session *s, pid_t pid, const struct ops_options *options, struct err *err)
	__must_check;
void session_close(struct session *s);

#endif
