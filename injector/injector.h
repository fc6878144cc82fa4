// SPDX-License-Identifier: Apache-2.0
/*
 * The only way in which another process is changed.
 *
 * injector_open() only reads. Only injector_run() touches the target: it borrows one thread for a
 * few hundred microseconds, has it create a helper thread (or, in inline mode, uses the borrowed
 * one), and has that make the calls in sequence. If the caller dies, the target restores itself;
 * see doc/injection.md.
 */
#ifndef INJECTOR_INJECTOR_H
#define INJECTOR_INJECTOR_H

#include "base/err.h"
#include "elf/image.h"
#include "jemalloc/jemalloc.h"
#include "process/proc.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum injector_mode {
	INJECTOR_AUTO,	 /* inline for short calls, thread for others; the other one if that is
			  * impossible */
	INJECTOR_THREAD, /* in a helper thread, created in the target */
	INJECTOR_INLINE, /* in the borrowed thread; no CALL_MEMFD */
	INJECTOR_POKE,	 /* no call at all (ops/activate.h); not for injector_run() */
};

enum call_flags {
	CALL_OLD_STRING = 1, /* mallctl returns a char *: `old` receives the string, truncated to
			      * old_len */
	CALL_NEW_STRING = 2, /* `new` is a string; the call gets the address of a char * to it */
	CALL_MEMFD = 4, /* as CALL_NEW_STRING with the path of a new memfd, returned in `fd`; `new`,
			 * if not NULL, becomes part of the memfd's name */
	CALL_STATS = 8, /* malloc_stats_print(NULL, NULL, name) into a memfd, returned in `fd` */
	CALL_KEEP_GOING = 16, /* make the calls after it even if it returns non-zero */
	CALL_MAP = 32,	      /* not mallctl: map `new`, a struct call_mapping; `old` receives the
			  * address, a uint64_t */
	CALL_EMPTY = 64, /* not mallctl: zero the mapping at `new`, a struct call_range, and free
			  * its memory */
};

/*
 * An image that stays mapped, from a sealed memory file named `name`: the first `n_code` bytes are
 * readable and executable, those up to `n_file` private and writable, and those up to `n_all`
 * anonymous memory, zeroed in a child process (MADV_WIPEONFORK). All are multiples of the page
 * size.
 */
struct call_mapping {
	const char *name;
	const void *image;
	size_t len; /* CALL_IMAGE_MAX at most */
	uint64_t n_code, n_file, n_all;
};
#define CALL_IMAGE_MAX ((size_t)128 << 10)

struct call_range {
	uint64_t addr, len;
};

/*
 * One call for the target to make, and its result. Plain data: no pointer of ours reaches the
 * target.
 */
struct call {
	const char *name;    /* mallctl name, or the options of malloc_stats_print */
	uint64_t at;	     /* address of a function to call instead of mallctl; 0: mallctl */
	unsigned int flags;  /* enum call_flags */
	void *old;	     /* receives the value read; NULL: read nothing; one byte is a bool */
	size_t old_len;	     /* its size; at most CALL_VALUE_MAX unless CALL_OLD_STRING */
	const void *new;     /* the value to write; NULL: write nothing */
	size_t new_len;	     /* its size, at most CALL_VALUE_MAX unless CALL_NEW_STRING */
	const void *expect;  /* if not NULL, no further call is made unless `old` equals it */
	uint64_t file_bytes; /* CALL_MEMFD: estimate of what it writes; 0: up to 4 MiB */

	bool made; /* out: the call returned; nothing below is set otherwise */
	int ret;   /* out: return value of mallctl: an errno value, 0 for success */
	int sys;   /* out: errno in the calling thread after a failed call */
	int fd;	   /* out: CALL_MEMFD and CALL_STATS: a descriptor owned by the caller; else -1 */
	uint64_t call_us; /* out: duration of the call */
};
#define CALL_VALUE_MAX 256

/*
 * The name of a memfd, followed by a colon and its text if it has one that fits: it shows in the
 * target's /proc whose file it is.
 */
#define INJECTOR_MEMFD "jeprof-ctl"
#define INJECTOR_MEMFD_TEXT_MAX 238
#define CALLS_MAX 32

struct injector_options {
	enum injector_mode mode;
	unsigned int timeout_ms;   /* for all the calls of one run; 0: 60 s */
	unsigned int max_pause_ms; /* longest time the borrowed thread may be stopped; 0: 250 ms */
	unsigned int search_ms;	   /* how long to look for a safe moment; 0: 10 s */
	int stop_fd;		   /* the search for a safe moment ends when it is readable; or
				    * -1 */
	void (*log)(void *ctx, const char *line); /* receives the lines of -v; may be NULL */
	void *ctx;
};

/* The impact of the last injector_run() on the target. */
struct injector_report {
	enum injector_mode mode; /* THREAD or INLINE */
	unsigned int stops;    /* how often a thread was borrowed; inline, more than once after some
			        * reads */
	pid_t tid;	       /* the thread borrowed last */
	uint64_t pause_us;     /* time from stop to release, all stops together */
	unsigned int attempts; /* threads stopped until one was safe, including that one */
	bool fresh;	       /* the requested thread never called jemalloc: no call was made */
	bool thread_punished;  /* a seccomp filter would punish a helper thread that dumps */
	unsigned int prolonged; /* number of system calls that wait longer because their timeout
				 * restarted */
	uint64_t late_us;	/* how much longer; 0: not known */
};

/* A sequence of calls, and the thread to make them in. */
struct injector_run {
	struct call *calls;
	size_t n;
	/*
	 * 0: any thread. Otherwise the calls are made inline, in this thread only, and not at all
	 * if it never called jemalloc, since that would create an arena (report->fresh).
	 */
	pid_t tid;
	unsigned int search_ms; /* how long to look for a safe moment; 0: as in the options */
};

struct injector;

/*
 * Does the target's state allow an injection? Read-only. Fails with ERR_PERM (ptrace(2) is not
 * permitted), ERR_BUSY (another tracer), ERR_UNSAFE (stopped, frozen, strict seccomp) or ERR_FAILED
 * (32-bit), each with a fix.
 */
int injector_may_work(const struct proc *p, const struct images *images, struct err *err)
	__must_check;

/*
 * Prepare everything; nothing in the target is stopped or changed. `p`, `je` and `images` must
 * outlive the handle. Takes ownership of `site` (injector/site.h), also on failure: ERR_FAILED if
 * out of memory.
 */
struct callsite;
int injector_open(struct injector **out, const struct proc *p, const struct images *images,
		  const struct jemalloc *je, struct callsite *site,
		  const struct injector_options *options, struct err *err) __must_check;
void injector_close(struct injector *inj);

/*
 * Make the calls. Returns 0 when they were made as far as their results allowed: check each call's
 * `made` and `ret`. Stops after a call that returned non-zero, unless CALL_KEEP_GOING.
 *
 * Runs of the same calls in a series of threads share a tracer: what `name`, `new` and `expect`
 * point to must not change between them.
 *
 * ERR_UNSAFE: no safe moment was found; nothing was changed.
 * ERR_LOST: the target exited, or a call did not return in time; in the latter case the target
 * finishes it on its own.
 * ERR_BUSY: another tracer is attached.
 * ERR_NOPROC: the requested thread has exited.
 * ERR_FAILED: among others, stop_fd ended the search; nothing was changed.
 * The caller owns the descriptors in calls[].fd also on failure.
 */
int injector_run(struct injector *inj, const struct injector_run *run,
		 struct injector_report *report, struct err *err) __must_check;

/*
 * Could a helper thread make a dump and return it? ERR_FAILED, with the numbers, when the target
 * lacks a function, or its limits or memory do not suffice. Seccomp filters are checked only by
 * injector_run() (report->thread_punished). Read-only.
 */
int injector_may_dump(const struct injector *inj, struct err *err) __must_check;

/* "thread", "inline". */
const char *injector_mode_name(enum injector_mode mode);

/* Sets a flag of the target without a call or a stop. ops/activate.h explains why that is safe. */

/*
 * Write the bool at `addr` through `mem`, which is /proc/PID/mem open for reading and writing, and
 * read it back. A confined process does that, for up to `timeout_ms`: it may hang on a page that a
 * file system does not deliver. *before and *after are the values read.
 *
 * ERR_LOST when the program behind `mem` has exited or called execve(2), and nothing was written,
 * or on timeout, when it is unknown whether anything was. ERR_UNSAFE when the byte is neither 0 nor
 * 1; it is left unchanged.
 */
int injector_poke(int mem, uint64_t addr, bool want, unsigned int timeout_ms, bool *before,
		  bool *after, struct err *err) __must_check;

#endif
