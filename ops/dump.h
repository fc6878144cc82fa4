// SPDX-License-Identifier: Apache-2.0
/* Taking a heap profile through memory, as a part of a larger operation. */
#ifndef OPS_DUMP_H
#define OPS_DUMP_H

#include "ops/target/session.h"

/*
 * The path of a profile: `file`, or if that ends in "/" or is NULL, "COMM.PID.UTC-TIMESTAMP.heap"
 * in that folder or here. The caller frees it; NULL when out of memory.
 */
char *dump_path(const struct proc *p, const char *file);

/*
 * Open the file at that path, which `path` receives; the caller closes `out` and frees `path`. Does
 * nothing if `file` is NULL. ERR_OUTPUT.
 */
struct output;
int dump_open(const struct proc *p, const char *file, bool force, struct output *out, char **path,
	      struct err *err) __must_check;

/* "COMM.PID.UTC-TIMESTAMP.guard-WHY.heap" in `folder`, which ends in "/"; freed as above. */
char *dump_path_of_guard(pid_t pid, const char *comm, const char *folder, const char *why);

/* "COMM.PID.UTC-TIMESTAMP" and `suffix`, to name a profile for a client; freed as above. */
char *dump_name(pid_t pid, const char *comm, const char *suffix);

/* ERR_OUTPUT, with its fix, when the target cannot write to a descriptor that it is given. */
int dump_check_memory(const struct session *s, struct err *err) __must_check;

/*
 * The call that dumps into a memfd. Its `new` may be set to the result of dump_label(), so that
 * `watch` can show where the profile went.
 */
struct call dump_call(void);

/*
 * The destination of the profile, for dump_call(): `path` made absolute, "-" for a stream. NULL,
 * for no label, if that is too long.
 */
#define DUMP_LABEL_SIZE (INJECTOR_MEMFD_TEXT_MAX + 1)
const char *dump_label(const char *path, char buf[DUMP_LABEL_SIZE]);

/*
 * Make `n` calls in one run, preceded by those of dump_count(); calls[at] is dump_call(). On
 * success `fd`, which the caller closes, holds the complete profile of `bytes`. When this fails,
 * the other calls may have been made nevertheless: see there.
 */
int dump_run(struct session *s, struct call *calls, size_t n, size_t at, int *fd, uint64_t *bytes,
	     struct err *err) __must_check;

/*
 * Dump; the request says whether prof.active must be true. *fd is the caller's; dump->bytes and
 * dump->warning are set. `label`: from dump_label().
 */
int dump_take(struct session *s, const struct ops_dump_request *request, const char *label, int *fd,
	      struct ops_dump *dump, struct err *err) __must_check;

/* Set session->allocated and opt_active, in a run of its own. */
int dump_count(struct session *s, struct err *err) __must_check;

#endif
