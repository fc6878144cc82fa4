// SPDX-License-Identifier: Apache-2.0
/* Taking a heap profile through memory, for operations that do more than that. */
#ifndef OPS_DUMP_H
#define OPS_DUMP_H

#include "ops/target/session.h"

/*
 * Where a profile goes: `file`, or where that ends in "/" or is NULL, "COMM.PID.UTC-TIMESTAMP.heap"
 * in that folder or here. The caller frees it; NULL without memory.
 */
char *dump_path(const struct proc *p, const char *file);

/* "COMM.PID.UTC-TIMESTAMP.guard-WHY.heap" in `folder`, which ends in "/"; the same. */
char *dump_path_of_guard(pid_t pid, const char *comm, const char *folder, const char *why);

/* "COMM.PID.UTC-TIMESTAMP" and `suffix`, for who gets a profile from us; the same. */
char *dump_name(pid_t pid, const char *comm, const char *suffix);

/* ERR_OUTPUT, with its fix, when the target cannot write to a descriptor it is handed. */
int dump_check_memory(const struct session *s, struct err *err) __must_check;

/*
 * The call that dumps into a memfd. Its `new` may be set to what dump_label()
 * made, so that `watch` can say where the profile went.
 */
struct call dump_call(void);

/*
 * Where the profile goes to, for dump_call(): `path` made absolute, "-" for a
 * stream. NULL, which is no label, where that is too long.
 */
#define DUMP_LABEL_SIZE (INJECTOR_MEMFD_TEXT_MAX + 1)
const char *dump_label(const char *path, char buf[DUMP_LABEL_SIZE]);

/*
 * Make `n` calls in one run, of which calls[at] is dump_call(), with dump_count()'s in front of
 * them. On success `fd`, which the caller closes, holds the whole profile, `bytes` long. When this
 * fails the other calls may have been made all the same: see there.
 */
int dump_run(struct session *s, struct call *calls, size_t n, size_t at, int *fd, uint64_t *bytes,
	     struct err *err) __must_check;

/*
 * Dump, as the request says whether prof.active must be true for that. *fd is the caller's;
 * dump->bytes and dump->warning are set. `label`: of dump_label().
 */
int dump_take(struct session *s, const struct ops_dump_request *request, const char *label, int *fd,
	      struct ops_dump *dump, struct err *err) __must_check;

/* Set session->allocated and opt_active, in a run of its own. */
int dump_count(struct session *s, struct err *err) __must_check;

#endif
