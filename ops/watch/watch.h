// SPDX-License-Identifier: Apache-2.0
/*
 * Every dump of chosen processes, or of all, as it happens. Dumps are seen by the kernel
 * (bpf/watch.h describes what that does to a process); no process is stopped, and no thread is
 * borrowed.
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

/* What caused a dump, as far as its arguments and its name show. Pure functions. */

enum watch_kind {
	WATCH_KIND_UNKNOWN,
	WATCH_MANUAL,	/* mallctl("prof.dump") */
	WATCH_INTERVAL, /* opt.lg_prof_interval */
	WATCH_GDUMP,	/* prof.gdump: a new memory maximum */
	WATCH_FINAL,	/* opt.prof_final, opt.prof_leak: at exit */
};

/* "manual", "interval", "gdump", "final", "unknown". */
const char *watch_kind_name(enum watch_kind kind);

/*
 * By the letter in a name made by jemalloc: PREFIX.PID.SEQ.LETTER[N].heap, LETTER one of m, i, u
 * and f. WATCH_KIND_UNKNOWN for NULL and for any other name.
 */
enum watch_kind watch_kind_by_name(const char *name);

/* By prof_dump's arguments, if their order is known, and by the name. */
enum watch_kind watch_kind_of(const struct watch_dump *dump, const char *name);

/*
 * Which arguments prof_dump was called with: according to its probe, else by which of them was
 * opened. WATCH_UNKNOWN if neither shows it.
 */
enum watch_convention watch_convention_of(const struct watch_dump *dump);

/* Is the file that was opened the one that prof_dump was given? */
bool watch_is_confirmed(const struct watch_dump *dump);

/* One call on the stack of the dump, innermost first. */
struct watch_frame {
	uint64_t addr;
	const char *image; /* path, raw; NULL if unknown */
	const char *name;  /* of the function, raw; NULL if unknown */
	uint64_t offset;   /* from its beginning */
};
#define OPS_WATCH_FRAMES 65

/* A dump. All texts are raw, and live as long as the call that passes the event. */
struct ops_watch_event {
	struct timespec time;	 /* when it began, CLOCK_REALTIME */
	uint64_t since_start_us; /* the same, from the start of the process */
	pid_t pid, tid;
	char comm[PROC_COMM_SIZE];
	enum watch_kind kind;
	const char *file; /* absolute, as the process sees it; by_us: the output; NULL if unknown */
	const char *host_file; /* its path from here, for a process in another root; or NULL */
	bool file_confirmed;   /* exactly this name was passed to the kernel */
	bool ok;
	const char *error; /* why not ok; NULL if unknown */
	uint64_t duration_us;
	bool has_bytes;
	uint64_t bytes;
	bool probed; /* seen at prof_dump; otherwise by its system calls alone */
	bool by_us;  /* jeprof-ctl requested it */
	char cgroup[512];
	char container[64]; /* "" if not in one */
	struct watch_frame frames[OPS_WATCH_FRAMES];
	size_t n_frames;
};

struct ops_watch_request {
	const pid_t *pids; /* these processes, */
	size_t n_pids;
	bool all;    /* or all, including those that start later */
	bool stacks; /* events have their frames */
	bool debuginfod;
	bool no_uprobes; /* place none: see each dump by its system calls alone */
	uint64_t for_ms; /* duration; 0: until stop_fd */
	uint64_t count;	 /* number of events; 0: no limit */
	/*
	 * Run for each event, see ops/hook.h: a command for sh, or a program. NULL: none; not both.
	 */
	const char *on_dump, *on_dump_exec;
	int stop_fd; /* readable to end the watch; a second time: at once. Or -1 */
	int out_fd;  /* where events go: ERR_OUTPUT when its reader has gone. Or -1 */

	/* Handlers. Each returns 0, or -1 with `err` set, which ends the watch. */
	int (*ready)(void *ctx, size_t processes, struct err *err); /* everything is in place */
	int (*event)(void *ctx, const struct ops_watch_event *event, struct err *err);
	/* `n` more were seen, but not reported. */
	int (*lost)(void *ctx, uint64_t n, struct err *err);
	err_warn_fn *on_warning; /* processes are watched only in part, or not at all */
	void *ctx;
};

struct ops_watch_summary {
	uint64_t events, failed, lost;
	uint64_t skipped; /* commands that were not run, as too many were waiting */
	uint64_t commands_failed;
};

/*
 * Watch until the time is up, enough was seen, all of `pids` have ended or stop_fd is readable.
 * What was seen until then is reported. ERR_NOPROC, ERR_NOJEMALLOC and ERR_NOPROF for one of
 * `pids`; ERR_PERM and ERR_FAILED if the kernel does not allow it (see watch_open()). `out` is
 * filled even if a handler fails.
 */
int ops_watch(const struct ops_watch_request *request, struct ops_watch_summary *out,
	      struct err *err) __must_check;

#endif
