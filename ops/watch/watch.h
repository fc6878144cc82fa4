// SPDX-License-Identifier: Apache-2.0
/*
 * Every dump of chosen processes, or of all, as it happens. Dumps are seen by
 * the kernel (bpf/watch.h, which says what that does to a process); nobody is
 * stopped, and no thread is borrowed.
 */
#ifndef OPS_WATCH_WATCH_H
#define OPS_WATCH_WATCH_H

#include "base/err.h"
#include "bpf/event.h"
#include "process/proc.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

/* Who asked for a dump, as far as its arguments and its name tell. Pure functions. */

enum watch_kind {
	WATCH_KIND_UNKNOWN,
	WATCH_MANUAL,	/* mallctl("prof.dump") */
	WATCH_INTERVAL, /* opt.lg_prof_interval */
	WATCH_GDUMP,	/* prof.gdump: a new maximum of memory */
	WATCH_FINAL,	/* opt.prof_final, opt.prof_leak: at exit */
};

/* "manual", "interval", "gdump", "final", "unknown". */
const char *watch_kind_name(enum watch_kind kind);

/*
 * By the letter in a name that jemalloc made: PREFIX.PID.SEQ.LETTER[N].heap, LETTER one of
 * m, i, u and f. Unknown for any other name, and NULL.
 */
enum watch_kind watch_kind_by_name(const char *name);

/* By prof_dump's arguments, where it is known which they are, and by the name. */
enum watch_kind watch_kind_of(const struct watch_dump *dump, const char *name);

/*
 * Which arguments prof_dump was called with: as its probe says, else by which of them was
 * opened. WATCH_UNKNOWN when that is neither.
 */
enum watch_convention watch_convention_of(const struct watch_dump *dump);

/* Was the file that was opened the one that prof_dump was given? */
bool watch_is_confirmed(const struct watch_dump *dump);

/* One call on the way to the dump, innermost first. */
struct watch_frame {
	uint64_t addr;
	const char *image; /* path, raw; NULL if unknown */
	const char *name;  /* of the function, raw; NULL if unknown */
	uint64_t offset;   /* from its beginning */
};
#define OPS_WATCH_FRAMES 65

/* A dump. All texts are raw, and live as long as the call that hands the event over. */
struct ops_watch_event {
	struct timespec time;	 /* when it began, CLOCK_REALTIME */
	uint64_t since_start_us; /* the same, since the process was started */
	pid_t pid, tid;
	char comm[PROC_COMM_SIZE];
	enum watch_kind kind;
	const char *file;      /* absolute, as the process sees it; or, by_us, where the profile
			      * went to; NULL if unknown */
	const char *host_file; /* the same file from here, for a process in another root; or NULL */
	bool file_confirmed;   /* the kernel was asked to open just that */
	bool ok;
	const char *error; /* why not ok; NULL if unknown */
	uint64_t duration_us;
	bool has_bytes;
	uint64_t bytes;
	bool probed; /* seen at prof_dump; else by its system calls alone */
	bool by_us;  /* jeprof-ctl asked for it */
	char cgroup[512];
	char container[64]; /* "" if it is in none */
	struct watch_frame frames[OPS_WATCH_FRAMES];
	size_t n_frames;
};

struct ops_watch_request {
	const pid_t *pids; /* these processes, */
	size_t n_pids;
	bool all;    /* or every one, also those that start later */
	bool stacks; /* events are to have their frames */
	bool debuginfod;
	bool no_uprobes; /* place none: each dump is seen by its system calls alone */
	uint64_t for_ms; /* how long; 0: until stop_fd */
	uint64_t count;	 /* how many events; 0: no limit */
	/* For each, see ops/hook.h: a command for sh, or a program. NULL: none; not both. */
	const char *on_dump, *on_dump_exec;
	int stop_fd; /* readable when it is to end; a second time: at once. Or -1 */
	int out_fd;  /* where events go to: nobody reads it any more is ERR_OUTPUT. Or -1 */

	/* Who is told. Each returns 0, or -1 with `err` set, which ends the watch. */
	int (*ready)(void *ctx, size_t processes, struct err *err); /* everything is in place */
	int (*event)(void *ctx, const struct ops_watch_event *event, struct err *err);
	int (*lost)(void *ctx, uint64_t n, struct err *err); /* so many more were seen, not told */
	void (*note)(void *ctx, const char *line);	     /* about a process or a command */
	void *ctx;
};

struct ops_watch_summary {
	uint64_t events, failed, lost;
	uint64_t skipped; /* commands that were not run, for too many were waiting */
	uint64_t commands_failed;
};

/*
 * Watch until time is up, enough was seen, all of `pids` have ended or stop_fd says so. What
 * was seen until then is told. ERR_NOPROC, ERR_NOJEMALLOC and ERR_NOPROF for one of `pids`;
 * ERR_PERM and ERR_FAILED where the kernel does not let us (see watch_open()).
 * `out` is filled also when a handler fails.
 */
int ops_watch(const struct ops_watch_request *request, struct ops_watch_summary *out,
	      struct err *err) __must_check;

#endif
