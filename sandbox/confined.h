// SPDX-License-Identifier: Apache-2.0
/*
 * Work on what a target names or holds, in a process where nothing can be gained.
 *
 * confined_start() makes two children. The confined one gives up everything
 * before it reads the first byte: capabilities(7), new privileges
 * (PR_SET_NO_NEW_PRIVS), and all system calls but those that compute, read and
 * answer. It cannot open a file, start a program, trace, signal or connect.
 * What it needs the opener opens for it (sandbox/door.h). It answers by messages,
 * which the controller checks like anything else that comes from outside.
 *
 * Both are expendable. A child that reads memory behind a file system that does not answer
 * sleeps in the kernel, where not even SIGKILL reaches it; the controller
 * waits until its deadline, and goes on without it.
 */
#ifndef SANDBOX_CONFINED_H
#define SANDBOX_CONFINED_H

#include "base/err.h"
#include "base/pack.h"
#include "sandbox/door.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct confined {
	pid_t child, opener; /* 0: none */
	int sock;	     /* SOCK_SEQPACKET, to the child */
	int stop_fd; /* of the caller: answers are not waited for once it is readable; or -1 */
	bool broken; /* it hangs, ended, or made no sense: nothing more will come */
	unsigned char *message; /* the last one received */
	const char *what;	/* of confined_options */
};
#define CONFINED_UNTIL(stop)                  \
	{                                     \
		.sock = -1, .stop_fd = (stop) \
	}
#define CONFINED_INIT CONFINED_UNTIL(-1)

struct confined_options {
	const char *what; /* for messages, as in "cannot WHAT"; outlives the handle */
	struct door_policy policy;
	const int *fds; /* descriptors that the child keeps; those below 0 are passed over */
	size_t n_fds;
	bool no_door; /* it needs nothing opened: there is no opener */
	int out;      /* its standard output; 0: it leads nowhere */
	/* In the child, before it is confined; NULL: nothing. */
	int (*enter)(void *ctx, struct err *err);
	uint64_t memory_max_bytes; /* RLIMIT_DATA; 0: CONFINED_MEMORY */
	uint64_t file_max_bytes;   /* RLIMIT_FSIZE, memory files too; 0: CONFINED_FILE */
	unsigned int cpu_max_s;	   /* RLIMIT_CPU; 0: CONFINED_CPU_S */
};
#define CONFINED_FILE (UINT64_C(2) << 30)
#define CONFINED_MEMORY (UINT64_C(2) << 30)
#define CONFINED_CPU_S 120

/* Receives the messages of one side and sends those of the other. */
typedef void confined_fn(void *ctx);

/*
 * Start both, and have the child call `fn`; it ends when that returns. The memory of the caller
 * is copied to it, as fork(2) does. `c` is CONFINED_INIT or CONFINED_UNTIL(). ERR_FAILED when no
 * child can be made.
 */
int confined_start(struct confined *c, const struct confined_options *options, confined_fn *fn,
		   void *ctx, struct err *err) __must_check;

/* End both, by SIGKILL; that they are gone is not waited for. `c` is as it was before. */
void confined_end(struct confined *c);

/*
 * The same for a child that has done all it was asked: it ends by itself, and is waited for up to
 * a second, so that the time and the memory it took are counted as ours (getrusage(2)).
 */
void confined_finish(struct confined *c);

/* --- the controller's side --- */

/* Send a message; `fd` is -1 or a descriptor that the child gets a copy of. */
int confined_ask(struct confined *c, const struct pack *message, int fd, struct err *err)
	__must_check;

/* The same with up to CONFINED_FDS_MAX descriptors. */
#define CONFINED_FDS_MAX 4
int confined_ask_with(struct confined *c, const struct pack *message, const int *fds, size_t n_fds,
		      struct err *err) __must_check;

/*
 * The child's next answer. `answer` points into memory of the handle, until the next call. A
 * descriptor that came with it is the caller's; where `fd` is NULL none is taken. That is for
 * children which have no descriptor that may take for ever to close, whatever they are made to do.
 *
 * Fails with the child's own error, which was checked and made printable; with
 * ERR_UNSAFE when none came within `timeout_ms`; with ERR_FAILED when stop_fd ended the wait, when
 * the child ended, or sent what is no message, or more than `max` bytes. In all but the first case
 * `broken` is set, and the handle can only be ended.
 */
int confined_answer(struct confined *c, unsigned int timeout_ms, size_t max, struct unpack *answer,
		    int *fd, struct err *err) __must_check;

/* Is this process such a child? */
bool confined_inside(void);

/* --- the child's side: only in `fn` --- */

/* The next message, in memory that stays until the next call; false when there is none any more. */
bool confined_next(struct unpack *message, int *fd);
bool confined_next_with(struct unpack *message, int fds[CONFINED_FDS_MAX], size_t *n_fds);

/* Answer with what was packed, or with the error if `failed`; with `fd` unless that is -1. */
void confined_reply(bool failed, const struct err *err, const struct pack *answer, int fd);

#endif
