// SPDX-License-Identifier: Apache-2.0
/*
 * The one door to changing another process.
 *
 * injector_open() only looks. injector_run() is the one place where the
 * target is touched: it borrows one thread for a few hundred microseconds, has
 * the target make a thread of its own (or, in direct mode, uses the borrowed
 * one), and lets it make the calls in a row. Whatever happens to the caller,
 * the target mends itself; doc/injection.md has the argument.
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
	INJECTOR_AUTO,	 /* inline for short calls, thread for others, or what can be done */
	INJECTOR_THREAD, /* in a new thread of the target's */
	INJECTOR_INLINE, /* in the borrowed thread; no CALL_MEMFD */
	INJECTOR_POKE,	 /* no call at all (ops/activate.h): nothing that an injector could do */
};

enum call_flags {
	CALL_OLD_STRING = 1, /* mallctl answers a char *: `old` receives the text, cut to old_len */
	CALL_NEW_STRING = 2, /* `new` is text; the call gets a pointer to a char * to it */
	CALL_MEMFD = 4, /* as CALL_NEW_STRING with the path of a fresh memfd, handed back in `fd`;
			 * `new`, if not NULL, is text that the memfd is named by */
	CALL_STATS = 8, /* malloc_stats_print(NULL, NULL, name) into a memfd, handed back in `fd` */
	CALL_KEEP_GOING = 16, /* the calls after it are made even if it returns non-zero */
	CALL_MAP = 32,	 /* no call of mallctl: map `new`, a struct call_mapping; `old` receives the
			* address, a uint64_t */
	CALL_EMPTY = 64, /* the same: have what is mapped at `new`, a struct call_range, read as 0
			  * again, and its memory given back */
};

/*
 * An image that is to stay mapped: from a sealed memory file that is named by `name`, its first
 * `n_code` bytes to be read and run, up to `n_file` private and writable, up to `n_all` memory
 * without a file, which a child finds empty (MADV_WIPEONFORK). Whole pages each.
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
 * One call for the target to make, and what came of it. Data: no pointer of
 * ours reaches the target.
 */
struct call {
	const char *name;    /* mallctl name, or the options of malloc_stats_print */
	uint64_t at;	     /* instead of mallctl, a function at this address; 0: mallctl */
	unsigned int flags;  /* enum call_flags */
	void *old;	     /* receives the value read; NULL not to read; one byte is a bool */
	size_t old_len;	     /* its size; at most CALL_VALUE_MAX unless CALL_OLD_STRING */
	const void *new;     /* the value to write; NULL not to write */
	size_t new_len;	     /* its size, at most CALL_VALUE_MAX unless CALL_NEW_STRING */
	const void *expect;  /* not NULL: no further call is made when `old` reads otherwise */
	uint64_t file_bytes; /* CALL_MEMFD: what it may write, about; 0: up to 4 MiB */

	bool made; /* out: the call returned; nothing below is set otherwise */
	int ret;   /* out: what mallctl returned, an errno value, 0 for success */
	int sys;   /* out: errno after a call that failed (in the calling thread) */
	int fd;	   /* out: CALL_MEMFD and CALL_STATS: a descriptor of the caller's, else -1 */
	uint64_t call_us; /* out: how long the call took */
};
#define CALL_VALUE_MAX 256

/*
 * A memfd is called this, and a colon and its text if it has one and that fits:
 * so that those who watch the process can tell whose file it is.
 */
#define INJECTOR_MEMFD "jeprof-ctl"
#define INJECTOR_MEMFD_TEXT_MAX 238
#define CALLS_MAX 32

struct injector_options {
	enum injector_mode mode;
	unsigned int timeout_ms;   /* for all the calls of one run; 0: 60 s */
	unsigned int max_pause_ms; /* longest stop of the borrowed thread; 0: 250 ms */
	unsigned int search_ms;	   /* how long to look for a safe moment; 0: 10 s */
	int stop_fd;		   /* readable: a safe moment is no longer looked for; or -1 */
	void (*log)(void *ctx, const char *line); /* what -v prints; NULL: nothing */
	void *ctx;
};

/* What the last injector_run() cost the target. */
struct injector_report {
	enum injector_mode mode; /* THREAD or INLINE */
	unsigned int stops;    /* how often a thread was borrowed: again after some reads, inline */
	pid_t tid;	       /* the thread that was borrowed last */
	uint64_t pause_us;     /* how long it was stopped, stop to release; all together */
	unsigned int attempts; /* threads stopped until one was safe, that one included */
	bool fresh;	       /* the thread aimed at has no data of jemalloc's: no call was made */
	bool thread_punished;  /* by a seccomp filter: a thread of our own that makes a dump */
	unsigned int prolonged; /* so many system calls wait longer, as their timeout began again */
	uint64_t late_us;	/* by so much; 0: not known */
};

/* Calls in a row, and the thread to make them in. */
struct injector_run {
	struct call *calls;
	size_t n;
	/*
	 * 0: any thread. Calls that belong to a certain one are made inline, in this and no other,
	 * and not at all if it never called jemalloc, which would get an arena (report->fresh).
	 */
	pid_t tid;
	unsigned int search_ms; /* how long to look for a safe moment; 0: as the options say */
};

struct injector;

/*
 * Is the target in a state in which it can be worked on? Looks only. Fails with ERR_PERM
 * (ptrace(2) will not allow it), ERR_BUSY (another tracer), ERR_UNSAFE (stopped, frozen,
 * strict seccomp) or ERR_FAILED (32-bit), each with its fix.
 */
int injector_may_work(const struct proc *p, const struct images *images, struct err *err)
	__must_check;

/*
 * Prepare everything; nothing in the target is stopped or changed. `p`, `je` and `images` must
 * outlive the handle, which owns `site` from now on (injector/site.h), also when this fails:
 * ERR_FAILED without memory.
 */
struct callsite;
int injector_open(struct injector **out, const struct proc *p, const struct images *images,
		  const struct jemalloc *je, struct callsite *site,
		  const struct injector_options *options, struct err *err) __must_check;
void injector_close(struct injector *inj);

/*
 * Make the calls. Returns 0 when they were made as far as their
 * results allowed: look at each call's `made` and `ret`. Stops after a call
 * that returned non-zero, unless CALL_KEEP_GOING.
 *
 * Runs of the same calls in one thread after the other share a tracer: what `name`, `new` and
 * `expect` point to stays as it was.
 *
 * ERR_UNSAFE: no safe moment was found, nothing was changed.
 * ERR_LOST: the target ended, or a call did not return in time; in the latter
 * case the target finishes it by itself.
 * ERR_BUSY: another tracer came first.
 * ERR_NOPROC: the thread that was asked for has ended.
 * ERR_FAILED: among others, stop_fd ended the search; nothing was changed.
 * Descriptors in calls[].fd belong to the caller also when this fails.
 */
int injector_run(struct injector *inj, const struct injector_run *run,
		 struct injector_report *report, struct err *err) __must_check;

/*
 * Could a dump come back, from a thread of the target's made for it? ERR_FAILED when it lacks a
 * function, room or memory for that, with the numbers. Its filters are seen by injector_run() alone
 * (report->thread_punished). Looks only.
 */
int injector_may_dump(const struct injector *inj, struct err *err) __must_check;

/* "thread", "inline". */
const char *injector_mode_name(enum injector_mode mode);

#endif
