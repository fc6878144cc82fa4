// SPDX-License-Identifier: Apache-2.0
/*
 * The operations that users ask for, as functions that return data. Nothing here prints, exits or
 * reads a command line.
 *
 * Before it changes anything, every function checks, in this order, that the process exists and may
 * be traced, that it has a jemalloc, config.prof, opt.prof, prof.thread_active_init, and then what
 * the operation itself needs. Errors: ERR_NOPROC, ERR_PERM, ERR_BUSY, ERR_NOJEMALLOC, ERR_NOPROF,
 * ERR_UNSAFE and ERR_LOST from these checks and from injector_run(); others are named below.
 */
#ifndef OPS_OPS_H
#define OPS_OPS_H

#include "base/err.h"
#include "injector/injector.h"
#include "jemalloc/conf_lint.h"
#include "jemalloc/jemalloc.h"
#include "jemalloc/mallctl.h"
#include "ops/target/container.h"
#include "ops/target/memory.h"
#include "ops/until.h"
#include "process/proc.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define JEPROF_CTL_VERSION "0.1.0"

/* Upper bounds on what is read of a target's answer, in bytes: a profile, statistics. */
#define OPS_PROFILE_MAX (UINT64_C(1) << 30)
#define OPS_STATS_MAX (UINT64_C(64) << 20)
#define OPS_TEXT_SIZE 512
#define OPS_COMMAND_SIZE 1024

struct ops_options {
	enum injector_mode mode;
	unsigned int timeout_ms;   /* 0: the injector's own */
	unsigned int max_pause_ms; /* 0: the injector's own */
	unsigned int wait_ms;	   /* how long to retry while the target is ERR_BUSY */
	uint64_t max_bytes; /* what the target may hand over; 0: OPS_PROFILE_MAX, OPS_STATS_MAX */
	/* Which jemalloc: a path, file name or prefix; NULL: the program's own. */
	const char *image;
	bool debuginfod; /* symbols found nowhere else may come from debuginfod */
	/*
	 * Start time of the process that is meant, as in struct proc: another process that has
	 * reused its pid is ERR_NOPROC. 0: any process with that pid.
	 */
	uint64_t start_time;
	int turn_fd; /* of turn_make(): one holder at a time has a target open; 0: none */
	/*
	 * Readable when the operation is to end early: recordings and work on many threads return
	 * what they have so far, anything else fails with ERR_FAILED before its next run of calls.
	 * Or -1.
	 */
	int stop_fd;
	void (*log)(void *ctx, const char *line); /* NULL: nothing is logged */
	/* For work on many threads; NULL: none. */
	void (*progress)(void *ctx, size_t done, size_t total);
	void *ctx; /* for both */
};

/* Time limit of the whole operation: timeout_ms, or a minute. */
static inline unsigned int ops_timeout_ms(const struct ops_options *options)
{
	return options->timeout_ms ? options->timeout_ms : 60000;
}

/* The process, and what the operation cost it. */
struct ops_cost {
	pid_t pid;
	char comm[PROC_COMM_SIZE]; /* raw, see output_safe() */
	unsigned int stops;	   /* how often one of its threads was borrowed */
	pid_t tid;		   /* the thread borrowed last */
	uint64_t pause_us;	   /* how long threads were stopped, in total */
	unsigned int prolonged;	   /* how often a thread's wait was restarted, */
	uint64_t late_us; /* and by how much later these waits end, in total, as far as known */
	uint64_t call_us; /* how long the calls took, in total */
	enum injector_mode mode; /* of the last run */
};

/* A process that was found, to be worked on later. */
struct ops_match {
	pid_t pid;
	uint64_t start_time;	   /* see struct ops_options; 0: not known */
	char comm[PROC_COMM_SIZE]; /* raw, see output_safe() */
};

/* A switch that was set: prof.active, prof.gdump. */
struct ops_change {
	struct ops_cost cost;
	bool changed, before, after;
	struct err warning; /* as set by err_raise(); ERROR_NONE when there is none */
};

/*
 * Set prof.active. Idempotent; the value is read back. ops_activate() first sets
 * prof.thread_active_init to true if it is false; only a recording restores it. In jemalloc 5.2.0
 * and 5.2.1 it also makes each existing thread sample, by a call in each; what was sampled there
 * before is lost.
 */
/* `force`: even if sampling is known to crash or hang some such programs; else ERR_FAILED. */
int ops_activate(pid_t pid, bool force, const struct ops_options *options, struct ops_change *out,
		 struct err *err) __must_check;
int ops_deactivate(pid_t pid, const struct ops_options *options, struct ops_change *out,
		   struct err *err) __must_check;

/*
 * Set prof.gdump: a dump under the target's own prefix at each new maximum of its memory. This can
 * hang the target (jemalloc 4.5.0 to 5.3.1): turning it on without `force` is ERR_FAILED.
 */
int ops_gdump(pid_t pid, bool on, bool force, const struct ops_options *options,
	      struct ops_change *out, struct err *err) __must_check;

/* What jemalloc knows of one thread. */
enum ops_thread_state {
	OPS_THREAD_UNASKED, /* not reached before a signal or the time limit */
	OPS_THREAD_UNREAD,  /* no safe moment was found; see `reason` */
	OPS_THREAD_REFUSED, /* will not be retried; `reason` says why */
	OPS_THREAD_READ,
};
#define OPS_REASON_SIZE 256
struct ops_thread {
	pid_t tid;
	char name[PROC_COMM_SIZE]; /* raw, see output_safe() */
	enum ops_thread_state state;
	enum tristate active; /* thread.prof.active, unknown where opt.prof is false */
	bool changed;	      /* was set to true */
	bool has_bytes;
	uint64_t allocated, deallocated;	 /* thread.*, since it began; if has_bytes */
	uint64_t read_us;			 /* when it was read, as now_us() */
	bool is_new, has_rate;			 /* set by ops_threads_rate(): */
	double allocated_rate, deallocated_rate; /* bytes per second */
	char reason[OPS_REASON_SIZE];
};

struct ops_threads_request {
	bool activate;	   /* set thread.prof.active in each */
	const pid_t *only; /* these threads and no others; NULL: all */
	size_t n_only;
};

struct ops_threads {
	struct ops_cost cost;
	uint64_t start_time;  /* of the process, as in struct ops_options */
	struct ops_thread *v; /* by tid; without threads that ended meanwhile */
	size_t n;
	size_t missed;	    /* not OPS_THREAD_READ, */
	size_t unasked;	    /* of these, OPS_THREAD_UNASKED; `warning` says why */
	struct err warning; /* as set by err_raise(); ERROR_NONE when there is none */
};

/*
 * What jemalloc knows of each thread, by a short call in each, one after the other. Without
 * opt.prof, thread.prof.active is left alone: reading it makes jemalloc 5.2.1 crash when the thread
 * ends. ERR_NOPROC when one of `only` is not a thread of the process; ERR_NOPROF to activate
 * without opt.prof. options->stop_fd ends it between two threads, with what is known so far.
 */
int ops_threads(pid_t pid, const struct ops_threads_request *request,
		const struct ops_options *options, struct ops_threads *out, struct err *err)
	__must_check;
void ops_threads_fini(struct ops_threads *threads);

/*
 * Compute how fast each thread allocates and frees since an earlier look; those that allocate most
 * come first. A thread that began in between (`is_new`), or was not read at one of the two looks,
 * has no rate. The cost is that of both.
 */
void ops_threads_rate(struct ops_threads *now, const struct ops_threads *before);

enum ops_via { OPS_VIA_MEMFD, OPS_VIA_TARGET };

struct ops_dump_request {
	/* Output path; "DIR/": in this folder; NULL: COMM.PID.UTC-TIMESTAMP.heap */
	const char *file;
	int stream_fd;		 /* >= 0: write the profile here, and ignore `file` */
	bool force;		 /* replace a file that exists */
	const char *format;	 /* not in_target: see profile/format/format.h; NULL: as is */
	size_t max_stacks;	 /* with `format`: see profile/bound.h; 0: all */
	bool no_cache;		 /* see struct ops_symbolize_options */
	err_warn_fn *on_warning; /* the same */
	void *ctx;
	bool only_active;	 /* dump nothing while prof.active is false: see below */
	bool in_target;		 /* the target writes it, with its rights, to its file system */
	const char *target_path; /* in_target: path; NULL: the target's own prefix */
};

/* Does `file` name a folder to make a file in, under a default name? Then it ends in "/". */
bool ops_names_folder(const char *file);

struct ops_dump {
	struct ops_cost cost;
	enum ops_via via;
	char *file;	    /* NULL for a stream, or if the target chose an unknown name */
	uint64_t bytes;	    /* 0 when `file` is not known */
	struct err warning; /* as set by err_raise(); ERROR_NONE when there is none */
};

/*
 * Write a heap profile. The output is checked before the target is touched (ERR_OUTPUT), and a
 * profile that cannot be written completely leaves no file. With `only_active`, prof.active is read
 * in the same run; if it is false, nothing is written, and the error is ERROR_PROF_INACTIVE
 * (ERR_NOPROF). On success the caller owns `out` and ends it with ops_dump_fini().
 */
int ops_dump(pid_t pid, const struct ops_dump_request *request, const struct ops_options *options,
	     struct ops_dump *out, struct err *err) __must_check;
void ops_dump_fini(struct ops_dump *dump);

/*
 * Write what happened within `ms`: dump, wait, dump again, and subtract. Decreases are negative. No
 * setting is changed: without sampling nothing happens. Written to request->stream_fd, in
 * request->format (NULL: pprof). Between the dumps no thread is stopped, and nothing is held.
 * ERR_FAILED when options->stop_fd ended it, ERR_LOST when the process ended or runs another
 * program. The cost is that of both dumps. On success the caller ends `out` with ops_dump_fini().
 */
int ops_dump_between(pid_t pid, uint64_t ms, const struct ops_dump_request *request,
		     const struct ops_options *options, struct ops_dump *out, struct err *err)
	__must_check;

/*
 * Write the names of code addresses of a process to `fd`, in the format of pprof's remote
 * symbolization (POST .../pprof/symbol): "0xADDRESS TAB outer--inner" for each address that lies in
 * an image, once, in the order of first request. An address is that of an instruction and is looked
 * up as given: to look up a call, the client subtracts 1 from its return address, as jeprof(1) and
 * pprof do. An address without a name gets the one used in reports, "[image+0xoffset]"; functions
 * of the allocator are all called "malloc", which both tools drop from the inner end of a stack.
 *
 * Touches nothing, and needs no jemalloc. ERR_USAGE: more than OPS_ADDRESSES_MAX; ERR_OUTPUT.
 */
#define OPS_ADDRESSES_MAX 65536
int ops_symbols(pid_t pid, const uint64_t *addresses, size_t n, const struct ops_options *options,
		int fd, struct err *err) __must_check;

/* Set prof.prefix (jemalloc 5.3.0 and newer): where the target writes its own dumps. */
struct ops_prefix {
	struct ops_cost cost;
	struct err warning; /* as set by err_raise(); ERROR_NONE when there is none */
};
int ops_prefix(pid_t pid, const char *prefix, const struct ops_options *options,
	       struct ops_prefix *out, struct err *err) __must_check;

#define OPS_LG_KEEP (-1)
struct ops_reset {
	struct ops_cost cost;
	uint64_t lg_before, lg_after; /* prof.lg_sample */
	struct err warning;	      /* as in struct ops_prefix */
};

/* Discard all samples (prof.reset); unless `lg_sample` is OPS_LG_KEEP, sample every 2^lg bytes. */
int ops_reset(pid_t pid, int lg_sample, const struct ops_options *options, struct ops_reset *out,
	      struct err *err) __must_check;

/* A mallctl value as read. */
struct ops_value {
	const char *name; /* as requested */
	const struct mallctl *ctl;
	int ret; /* 0: the value is known; else what mallctl returned; -1: not asked */
	union mallctl_value v;
	char text[OPS_TEXT_SIZE]; /* of a MALLCTL_STRING: raw bytes from the target */
};

/* Read `n` names in one run. ERR_USAGE, before anything else, for a name that cannot be read. */
#define OPS_NAMES_MAX 24
int ops_get(pid_t pid, const char *const *names, size_t n, const struct ops_options *options,
	    struct ops_value *values, struct ops_cost *cost, struct err *err) __must_check;

struct ops_set {
	struct ops_cost cost;
	const struct mallctl *ctl;
	bool readable; /* before and after are known */
	bool changed;
	struct ops_value before, after;
};

/* Write one name; `text` as mallctl_parse() takes it, NULL for a MALLCTL_VOID. */
int ops_set(pid_t pid, const char *name, const char *text, const struct ops_options *options,
	    struct ops_set *out, struct err *err) __must_check;

/* What is known of a jemalloc from outside. */
struct ops_jemalloc {
	char image[OPS_TEXT_SIZE]; /* its path, raw */
	char version[64];	   /* "" if unknown */
	char prefix[64];
	char conf_name[80]; /* the variable it reads its options from */
	enum jemalloc_linkage linkage;
	size_t others; /* how many other jemallocs the process has */
	bool by_scan;  /* found without symbols */
	uint64_t mallctl, malloc_stats_print, prof_active; /* 0 if unknown */
	uint64_t opt[JEMALLOC_OPTS]; /* addresses of the opt.* variables, 0 if unknown */
	struct jemalloc_dump dump;
};

struct ops_status {
	struct ops_cost cost;
	struct ops_jemalloc jemalloc;
	struct ops_value *values; /* config.*, opt.*, prof.*; `ret` tells which are known */
	size_t n;
	struct err recording; /* in progress, or killed; ERROR_NONE when there is none */
};

/* Only reads. Also works where profiling is not available. */
int ops_status(pid_t pid, const struct ops_options *options, struct ops_status *out,
	       struct err *err) __must_check;
void ops_status_fini(struct ops_status *status);

struct ops_check {
	const char *name; /* "process", "permission", "jemalloc", ... */
	bool made;	  /* false: it depends on an earlier check that failed */
	enum tristate ok; /* TRI_UNKNOWN: not made, or no answer */
	char detail[OPS_TEXT_SIZE];
	struct err err; /* TRI_NO: why; TRI_YES: its fixes are possible improvements */
};

struct ops_conf_request {
	const char *text;    /* the proposed MALLOC_CONF */
	const char *version; /* jemalloc version; NULL: all */
	pid_t pid;	     /* not 0: as the jemalloc of this process would read it */
	uint64_t start_time; /* of `pid`, as in struct ops_options */
};

struct ops_conf {
	char version[64]; /* version looked at, "" for all */
	struct conf_lint lint;
};

/*
 * How jemalloc reads a configuration string. With a pid, the images of the process are inspected;
 * nothing is touched. ERR_USAGE for an invalid version.
 */
int ops_conf(const struct ops_conf_request *request, struct ops_conf *out, struct err *err)
	__must_check;

/* What resident memory consists of. jemalloc's own parts, as it counts them: */
enum ops_part {
	OPS_PART_ALLOCATED,  /* in use by the program */
	OPS_PART_SAMPLING,   /* by heap sampling, if a profile shows it; else in ..._ALLOCATED */
	OPS_PART_TCACHE,     /* freed, but kept in thread caches (5.0 and newer) */
	OPS_PART_FRAGMENTED, /* unused space between allocations: stats.active without these */
	OPS_PART_DIRTY,	     /* free pages that are not purged yet */
	OPS_PART_MUZZY,	     /* the same, but the kernel may reclaim them */
	OPS_PART_METADATA,
	OPS_PART_UNCOUNTED, /* negative: part of these is not resident; positive: what else is */
	/* the rest: */
	OPS_PART_ANONYMOUS, /* private memory that jemalloc does not count as its own */
	OPS_PART_HEAP,	    /* brk(2) memory, of another malloc */
	OPS_PART_STACKS,
	OPS_PART_DATA,	/* of the program and its libraries, written */
	OPS_PART_FILES, /* pages as on disk: code, and data that was only read */
	OPS_PART_SHARED,
	OPS_PARTS
};
const char *ops_part_name(enum ops_part part); /* "allocated", "thread_caches", ... */

#define OPS_ADVICE_MAX 8
struct ops_explain {
	struct ops_cost cost;
	bool counted;	    /* jemalloc's own numbers are known, */
	struct err why_not; /* or why not; ERROR_NONE: not asked */
	bool sampled;	    /* sampling is on: OPS_PART_ALLOCATED includes its memory */
	uint64_t allocated, active, resident, mapped, retained; /* stats.*, bytes */
	struct memory memory;					/* as the kernel shows it */
	int64_t parts[OPS_PARTS];				/* bytes; their sum is memory.rss */
	uint64_t anonymous_max; /* upper bound of OPS_PART_ANONYMOUS; its entry is the lower one */
	bool limited;		/* a memory cgroup has a limit: */
	uint64_t limit, used;	/* bytes, of the group that will be full first */
	/* The first names the largest part; each further one, with its fix, what could be less. */
	struct err advice[OPS_ADVICE_MAX];
	size_t n_advice;
};

/*
 * Where the resident memory of a process is: jemalloc's statistics, read in one run, and what the
 * kernel shows (ops/target/memory.h). Also works without profiling, and without jemalloc: where no
 * call can be made, `why_not` says so. ERR_PERM if the process may not be inspected.
 */
int ops_explain(pid_t pid, const struct ops_options *options, struct ops_explain *out,
		struct err *err) __must_check;

/* anonymous_max if it is noticeably larger than the part itself; else 0. */
uint64_t ops_explain_up_to(const struct ops_explain *explain);

/* "Python", "the Java virtual machine"; NULL for none. */
const char *ops_runtime_name(enum memory_runtime runtime);

#define OPS_CHECKS_MAX 32
struct ops_checks {
	struct ops_cost cost;
	bool ready; /* no check failed */
	size_t n;
	struct ops_check v[OPS_CHECKS_MAX];
	bool has_memory; /* its resident memory is known, as far as the kernel shows it: */
	struct ops_explain memory;
	struct err no_memory; /* why not, if the process may be inspected */
};

/*
 * Make all checks in order; a failure is a result. Reads values in one run if all else allows it.
 */
void ops_check(pid_t pid, const struct ops_options *options, struct ops_checks *out);

/* The code of the first check that failed, ERR_NONE when all passed. */
enum err_code ops_checks_code(const struct ops_checks *checks);

enum ops_stats_format {
	OPS_STATS_JSON,
	OPS_STATS_TEXT,
	OPS_STATS_PROM,
	OPS_STATS_OPENMETRICS, /* without the final "# EOF": more may follow */
};

/* One process: its cost, or why it has no statistics. */
struct ops_stats_of {
	struct ops_cost cost; /* its pid and comm, even after a failure */
	struct err why;	      /* ERROR_NONE: its statistics are in the text */
};

struct ops_stats {
	struct ops_stats_of *v; /* in the order of the request */
	size_t n;
	char *text; /* jemalloc's own JSON or text, or Prometheus text made from its JSON */
	size_t len;
};

/*
 * malloc_stats_print() in each of `n` processes, one after the other: of one process or, as
 * Prometheus text, of several, none of them twice; pid and start time of each are used. A failure
 * in one is reported in its entry and does not affect the others. Also works where profiling is not
 * available.
 */
int ops_stats(const struct ops_match *of, size_t n, enum ops_stats_format format,
	      const struct ops_options *options, struct ops_stats *out, struct err *err)
	__must_check;
void ops_stats_fini(struct ops_stats *stats);
/* Did the first one fail? Then sets `err`: for callers that ask one process. */
bool ops_stats_failed(const struct ops_stats *stats, struct err *err);

struct ops_process {
	pid_t pid;
	uint64_t start_time; /* as in struct ops_options */
	char comm[PROC_COMM_SIZE];
	uid_t uid;
	char version[64]; /* "" if unknown */
	char prefix[64];
	enum jemalloc_linkage linkage;
	enum tristate config_prof, opt_prof, prof_active;
	struct {
		bool known;
		int64_t value;
	} opts[JEMALLOC_OPTS];	   /* its options at start, as far as its memory shows */
	char image[OPS_TEXT_SIZE]; /* path of the image that holds this jemalloc, or if there is
				    * none, the probes otel_memory; raw */
	enum tristate emits;	   /* it has such probes; known with request->emitters */
	uint64_t rss_bytes;
	/* From its control groups (ops/target/container.h); raw, "" if there is none. */
	char container[64]; /* short id or name */
	char container_id[CONTAINER_ID_LEN + 1];
	char pod_uid[POD_UID_LEN + 1];
	const char *qos_class; /* of the pod, a constant; NULL: no pod */
	char unit[256];	       /* systemd unit */
	char cgroup[OPS_TEXT_SIZE];
	/* With request->labels: */
	char service_name[256]; /* OTEL_SERVICE_NAME, or its service, or comm; raw */
	char *exe;    /* the path of the program, raw; owned by the list; NULL if unknown */
	bool limited; /* a memory cgroup has a limit: */
	uint64_t limit_bytes, used_bytes; /* of the group that will be full first */
	pid_t ppid;
	pid_t above; /* with request->tree: the nearest ancestor that is listed, or 0 */
	/* With request->command: its command line, raw, truncated; owned by the list. */
	char *command;
	struct err *recording; /* in progress, or killed; owned by the list; NULL: none */
};

/* Is it what ops_sample() requires? */
static inline enum tristate ops_may_sample(const struct ops_process *p)
{
	return p->emits == TRI_YES ? TRI_YES : jemalloc_has_hooks(p->version);
}

/* Which processes are meant: those that meet all conditions. */
struct ops_filter {
	const char *comm; /* as the kernel keeps it, at most 15 bytes; NULL: any */
	bool by_uid;
	uid_t uid;
	const char *cgroup; /* a path, name or container, see cgroup_holds(); NULL: any */
	pid_t children;	    /* this process and its descendants; 0: any */
};

struct ops_list_request {
	struct ops_filter filter;
	bool debuginfod; /* as in struct ops_options */
	int stop_fd;	 /* as there; a list that ends early fails */
	bool tree, command;
	bool emitters;	   /* also those without jemalloc that have probes otel_memory */
	bool labels;	   /* also fill service_name, exe and the limit */
	const pid_t *only; /* not NULL: these `n_only` pids, ascending, instead of all */
	size_t n_only;
};

struct ops_list {
	/* By pid; one for each jemalloc, that of the program's malloc first. */
	struct ops_process *v;
	size_t n;
	size_t unreadable; /* processes that may not be inspected */
	size_t unanswered; /* the reading child timed out or crashed */
	size_t missed;	   /* processes not inspected because of a limit of our own */
	struct err why;	   /* the last such failure */
};

/*
 * Every jemalloc of every process that matches; with request->emitters also one of LINKAGE_NONE for
 * each process that has none, but probes otel_memory. Touches nothing; processes that end meanwhile
 * are left out, and so are the calling process and its helpers.
 */
int ops_list(const struct ops_list_request *request, struct ops_list *out, struct err *err)
	__must_check;
void ops_list_fini(struct ops_list *list);

struct ops_matches {
	struct ops_match *v; /* by pid */
	size_t n;
	size_t all;    /* how many match, */
	size_t unseen; /* of these, how many could not be inspected */
};

/*
 * All matching processes except this one. ERR_USAGE when filter->cgroup is a prefix of the ids of
 * two containers. The caller ends `out` with ops_match_fini().
 */
int ops_match(const struct ops_filter *filter, struct ops_matches *out, struct err *err)
	__must_check;

/* Keep those that use jemalloc; debuginfod and stop_fd are as in struct ops_options. */
int ops_match_jemalloc(struct ops_matches *matches, bool debuginfod, int stop_fd, struct err *err)
	__must_check;
void ops_match_fini(struct ops_matches *matches);

/* The state of a recording, for display. */
struct ops_record_progress {
	const struct ops_cost *cost;	  /* which process */
	uint64_t elapsed_ms, duration_ms; /* duration_ms 0: no end is set yet */
	/* stats.allocated at the first dump (0: no statistics), and as last read (0: not yet). */
	uint64_t allocated_before_bytes, allocated_bytes;
	uint64_t rss_bytes, rss_before_bytes;
};

struct ops_record_request {
	uint64_t duration_ms; /* 0: until the condition is true, or stop_fd */
	struct until until;   /* ends it early; UNTIL_NEVER: nothing does */
	uint64_t interval_ms; /* of a series of dumps; 0: none */
	unsigned int keep;    /* how many of the series to keep, the newest; 0: all */
	const char *file;     /* of the last dump, as in struct ops_dump_request */
	bool force;	      /* replace files that exist */
	int lg_sample;	      /* sample every 2^lg bytes meanwhile; OPS_LG_KEEP: unchanged */
	bool only_off;	      /* refuse (ERR_BUSY) if profiling is already on */
	/* Called when the recording has begun, and every progress_ms. NULL: not called. */
	void (*began)(void *ctx, const struct ops_cost *cost);
	void (*progress)(void *ctx, const struct ops_record_progress *progress);
	void *ctx;
	uint64_t progress_ms; /* interval of progress */
	bool count;	      /* for it, read the allocated bytes every five seconds: a stop each */
};

struct ops_record {
	struct ops_cost cost; /* of all stops together */
	char *first, *last;   /* the files; those of the series lie between */
	uint64_t first_bytes, last_bytes;
	char **series; /* those that were kept */
	size_t n_series;
	size_t missed; /* dumps of the series that had no safe moment */
	uint64_t duration_ms;
	bool early;		  /* stop_fd ended it */
	bool reached;		  /* request->until did */
	bool adopted;		  /* profiling was already on, and was left unchanged */
	enum tristate opt_active; /* if adopted: opt.prof_active, was it on from the start? */
	bool stopped;		  /* someone else turned profiling off before the end */
	bool active, thread_active_init, rate; /* which of these were changed, and restored */
	uint64_t allocated_before_bytes, allocated_after_bytes; /* 0: no statistics */
	uint64_t rss_before_bytes, rss_after_bytes;
	struct err warning; /* as set by err_raise(); ERROR_NONE when there is none */
};

/*
 * Dump, activate, wait, dump, and restore everything. options->stop_fd ends it early. If profiling
 * is already on, nothing but dumps is done, and a different rate is refused (ERR_BUSY): setting it
 * makes jemalloc discard its samples. ERR_BUSY when another recording is in progress; ERR_OUTPUT
 * from the files, which are checked first; ERR_LOST when the target ended. After any failure the
 * target is unchanged, or the message says otherwise and ops_undo() restores it. The caller ends
 * `out` with ops_record_fini().
 */
int ops_record(pid_t pid, const struct ops_record_request *request,
	       const struct ops_options *options, struct ops_record *out, struct err *err)
	__must_check;
void ops_record_fini(struct ops_record *record);

enum ops_undo_how {
	OPS_UNDO_NOTHING, /* there was nothing to restore */
	OPS_UNDO_DONE,
	OPS_UNDO_ENDED,	  /* the process ended, or runs another program now */
	OPS_UNDO_RUNNING, /* a recording is in progress */
	OPS_UNDO_FAILED,  /* see `why` */
};

struct ops_undone {
	struct ops_cost cost;
	pid_t pid;
	char comm[PROC_COMM_SIZE]; /* raw; "" if unknown */
	enum ops_undo_how how;
	bool active, thread_active_init; /* reset from true to false */
	bool kept;    /* prof.active is no longer the recording's, or never was */
	bool rate;    /* was prof.lg_sample restored? */
	bool sampler; /* what a sampling had left was removed (ops_sample()) */
	struct err why;
};

struct ops_undo {
	struct ops_undone *v;
	size_t n;
};

/*
 * Restore what a killed recording of this process left changed, and remove what a killed sampling
 * left. ERR_BUSY while one is in progress.
 */
int ops_undo(pid_t pid, const struct ops_options *options, struct ops_undone *out, struct err *err)
	__must_check;

/* The same for all recordings of this user. The caller ends `out` with ops_undo_fini(). */
int ops_undo_all(const struct ops_options *options, struct ops_undo *out, struct err *err)
	__must_check;
void ops_undo_fini(struct ops_undo *undo);

#endif
