// SPDX-License-Identifier: Apache-2.0
/*
 * Processes untrusted data of a target in an unprivileged child.
 *
 * confined_start() creates two children. Before it reads the first byte, the confined one drops
 * capabilities(7), new privileges (PR_SET_NO_NEW_PRIVS), and all system calls except those needed
 * to compute, read and reply. It cannot open a file, start a program, trace, signal or connect. The
 * other child, the opener, opens what it needs (sandbox/door.h). It replies with messages, which
 * the controller validates like any other external input.
 *
 * Both are expendable. A child that reads memory backed by an unresponsive file system sleeps in
 * the kernel, where not even SIGKILL has an effect; the controller waits until its deadline, and
 * continues without it.
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
	int stop_fd; /* owned by the caller: no reply is awaited once it is readable; or -1 */
	bool broken; /* it hangs, exited, or sent an invalid message: unusable */
	unsigned char *message; /* the last one received */
	const char *what;	/* from confined_options */
};
#define CONFINED_UNTIL(stop)                  \
	{                                     \
		.sock = -1, .stop_fd = (stop) \
	}
#define CONFINED_INIT CONFINED_UNTIL(-1)

struct confined_options {
	const char *what; /* for messages, as in "cannot WHAT"; outlives the handle */
	struct door_policy policy;
	const int *fds; /* descriptors that the child keeps; negative ones are ignored */
	size_t n_fds;
	bool no_door; /* it needs to open nothing: start no opener */
	int out;      /* its standard output; 0: /dev/null */
	/* Called in the child before it is confined; may be NULL. */
	int (*enter)(void *ctx, struct err *err);
	uint64_t memory_max_bytes; /* RLIMIT_DATA; 0: CONFINED_MEMORY */
	uint64_t file_max_bytes;   /* RLIMIT_FSIZE, also for memory files; 0: CONFINED_FILE */
	unsigned int cpu_max_s;	   /* RLIMIT_CPU; 0: CONFINED_CPU_S */
};
#define CONFINED_FILE (UINT64_C(2) << 30)
#define CONFINED_MEMORY (UINT64_C(2) << 30)
#define CONFINED_CPU_S 120

/*
 * From now on no child gets more bytes (RLIMIT_DATA), such as may be taken from our memory cgroup.
 * The lowest limit counts; at the start, there is none.
 */
void confined_limit_memory(uint64_t bytes);

/* Main function of the child: receives messages and replies. */
typedef void confined_fn(void *ctx);

/*
 * Start both, and have the child call `fn`; it exits when that returns. It has a copy of the
 * caller's memory, as with fork(2). `c` is CONFINED_INIT or CONFINED_UNTIL(). ERR_FAILED when no
 * child can be created.
 */
int confined_start(struct confined *c, const struct confined_options *options, confined_fn *fn,
		   void *ctx, struct err *err) __must_check;

/* Kill both by SIGKILL, without waiting for their exit. `c` is reset to its initial state. */
void confined_end(struct confined *c);

/*
 * The same for a child that has finished its work: it exits on its own, and is waited for up to a
 * second, so that its CPU time and memory are accounted to us (getrusage(2)).
 */
void confined_finish(struct confined *c);

/* --- the controller's side --- */

/* Send a message; `fd` is -1 or a descriptor to duplicate into the child. */
int confined_ask(struct confined *c, const struct pack *message, int fd, struct err *err)
	__must_check;

/* The same with up to CONFINED_FDS_MAX descriptors. */
#define CONFINED_FDS_MAX 4
int confined_ask_with(struct confined *c, const struct pack *message, const int *fds, size_t n_fds,
		      struct err *err) __must_check;

/*
 * Receive the child's next reply. `answer` points into memory of the handle, until the next call.
 * The caller owns a descriptor that came with it; with `fd` NULL none is received. Only receive
 * descriptors from children that cannot, even if compromised, have one whose close may block
 * forever.
 *
 * Fails with the child's own error, validated and made printable; with ERR_UNSAFE after
 * `timeout_ms`; with ERR_FAILED when stop_fd ended the wait, or the child exited, or sent an
 * invalid message, or more than `max` bytes. In all cases but the first `broken` is set, and the
 * handle can only be closed.
 */
int confined_answer(struct confined *c, unsigned int timeout_ms, size_t max, struct unpack *answer,
		    int *fd, struct err *err) __must_check;

/* Is this process such a child? */
bool confined_inside(void);

/* --- the child's side: only in `fn` --- */

/* The next message, valid until the next call; false when there are no more. */
bool confined_next(struct unpack *message, int *fd);
bool confined_next_with(struct unpack *message, int fds[CONFINED_FDS_MAX], size_t *n_fds);

/* Reply with `answer`, or with the error if `failed`; `fd` is sent along unless it is -1. */
void confined_reply(bool failed, const struct err *err, const struct pack *answer, int fd);

#endif
