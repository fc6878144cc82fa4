// SPDX-License-Identifier: Apache-2.0
/*
 * What users ask for, as functions that return data. Nothing here prints,
 * exits or reads a command line.
 *
 * Every function checks in one order before it changes anything: the process
 * exists and may be traced, it has a jemalloc, config.prof, opt.prof,
 * prof.thread_active_init, and then what the operation itself needs. Errors:
 * ERR_NOPROC, ERR_PERM, ERR_BUSY, ERR_NOJEMALLOC, ERR_NOPROF, ERR_UNSAFE and
 * ERR_LOST from these checks and from injector_run(); others are named below.
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

/* What is read of a target's answer at most, in bytes: a profile, statistics. */
#define OPS_PROFILE_MAX (UINT64_C(1) << 30)
#define OPS_STATS_MAX (UINT64_C(64) << 20)
#define OPS_TEXT_SIZE 512
#define OPS_COMMAND_SIZE 1024

struct ops_options {
	enum injector_mode mode;
	unsigned int timeout_ms;   /* 0: the injector's own */
	unsigned int max_pause_ms; /* 0: the injector's own */
	unsigned int wait_ms;	   /* how long to try again while the target is ERR_BUSY */
	uint64_t max_bytes; /* of what the target hands over; 0: OPS_PROFILE_MAX, OPS_STATS_MAX */
	const char
		*image;	 /* which jemalloc: a path, file name or prefix; NULL: the program's own */
	bool debuginfod; /* symbols that are found nowhere else may come from debuginfod */
	/*
	 * Of the process that is meant, as in struct proc: another one that was given its number
	 * meanwhile is ERR_NOPROC. 0: whatever process has that number.
	 */
	uint64_t start_time;
	int turn_fd; /* of turn_make(): who shares it has a target open in turn; 0: none */
	/*
	 * Readable when it is to end early: recordings and work on many threads with what there is
	 * so far, all else with ERR_FAILED before its next run of calls. Or -1.
	 */
	int stop_fd;
	void (*log)(void *ctx, const char *line); /* NULL: nothing is logged */
	/* Of work on many threads; NULL: none. */
	void (*progress)(void *ctx, size_t done, size_t total);
	void *ctx; /* of both */
};

/* How long all of an operation may take: timeout_ms, or a minute. */
static inline unsigned int ops_timeout_ms(const struct ops_options *options)
{
	return options->timeout_ms ? options->timeout_ms : 60000;
}

/* Which process it was, and what the operation cost it. */
struct ops_cost {
	pid_t pid;
	char comm[PROC_COMM_SIZE]; /* raw, see output_safe() */
	unsigned int stops;	   /* how often a thread of it was borrowed */
	pid_t tid;		   /* the thread borrowed last */
	uint64_t pause_us;	   /* how long threads were stopped, all stops together */
	unsigned int prolonged;	   /* how often a wait of a thread's began again, */
	uint64_t late_us;	   /* and by how much later these end in all, as far as known */
	uint64_t call_us;	   /* how long the calls took, all together */
	enum injector_mode mode;   /* of the last run */
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
 * Set prof.active. Idempotent; the value is read back. ops_activate() writes
 * prof.thread_active_init true first when it is false; only a recording puts
 * that back. In jemalloc 5.2.0 and 5.2.1 it makes each thread that exists sample
 * as well, by a call in each; what was sampled before is forgotten there.
 */
/* `force`: also where sampling is known to end or hang some programs; else ERR_FAILED. */
int ops_activate(pid_t pid, bool force, const struct ops_options *options, struct ops_change *out,
		 struct err *err) __must_check;
int ops_deactivate(pid_t pid, const struct ops_options *options, struct ops_change *out,
		   struct err *err) __must_check;

/*
 * Set prof.gdump: a dump by the target's own prefix at each new maximum of its memory. That can
 * hang the target (jemalloc 4.5.0 to 5.3.1): to turn it on is ERR_FAILED without `force`.
 */
int ops_gdump(pid_t pid, bool on, bool force, const struct ops_options *options,
	      struct ops_change *out, struct err *err) __must_check;

/* What jemalloc knows of one thread. */
enum ops_thread_state {
	OPS_THREAD_UNASKED, /* a signal came first, or the time was over */
	OPS_THREAD_UNREAD,  /* no safe moment was found; `reason` says more */
	OPS_THREAD_REFUSED, /* it will not be tried again; `reason` says why */
	OPS_THREAD_READ,
};
#define OPS_REASON_SIZE 256
struct ops_thread {
	pid_t tid;
	char name[PROC_COMM_SIZE]; /* raw, see output_safe() */
	enum ops_thread_state state;
	enum tristate active; /* thread.prof.active, unknown where opt.prof is false */
	bool changed;	      /* it was set to true */
	bool has_bytes;
	uint64_t allocated, deallocated;	 /* thread.*, since it began; if has_bytes */
	uint64_t read_us;			 /* when, of now_us() */
	bool is_new, has_rate;			 /* after ops_threads_rate(): */
	double allocated_rate, deallocated_rate; /* bytes per second */
	char reason[OPS_REASON_SIZE];
};

struct ops_threads_request {
	bool activate;	   /* set thread.prof.active in each of them */
	const pid_t *only; /* these threads and no others; NULL: all */
	size_t n_only;
};

struct ops_threads {
	struct ops_cost cost;
	uint64_t start_time;  /* of the process, as in struct ops_options */
	struct ops_thread *v; /* by tid; without those that ended meanwhile */
	size_t n;
	size_t missed;	    /* how many are not OPS_THREAD_READ, */
	size_t unasked;	    /* and of these, OPS_THREAD_UNASKED; `warning` says why */
	struct err warning; /* as set by err_raise(); ERROR_NONE when there is none */
};

/*
 * What jemalloc knows of each thread, by a short call in each, one after the
 * other. Without opt.prof thread.prof.active is left alone: reading it there
 * makes jemalloc 5.2.1 crash at the end of the thread. ERR_NOPROC when one of
 * `only` is no thread of the process; ERR_NOPROF to activate without opt.prof.
 * options->stop_fd ends it between two threads, with what is known so far.
 */
int ops_threads(pid_t pid, const struct ops_threads_request *request,
		const struct ops_options *options, struct ops_threads *out, struct err *err)
	__must_check;
void ops_threads_fini(struct ops_threads *threads);

/*
 * How fast each thread allocates and frees, from what it had done at an earlier look; those that
 * allocate most come first. A thread that began between (`is_new`), or was not read at either look,
 * has no rate. The cost is that of both.
 */
void ops_threads_rate(struct ops_threads *now, const struct ops_threads *before);

enum ops_via { OPS_VIA_MEMFD, OPS_VIA_TARGET };

struct ops_dump_request {
	/* Where to put it; ends in "/": in this folder; NULL: COMM.PID.UTC-TIMESTAMP.heap */
	const char *file;
	int stream_fd;		 /* when >= 0, `file` is not used: the profile is written here */
	bool force;		 /* replace a file that exists */
	const char *format;	 /* not in_target: see profile/format/format.h; NULL: as it is */
	size_t max_stacks;	 /* with `format`: see profile/bound.h; 0: all of them */
	bool no_cache;		 /* see struct ops_symbolize_options */
	err_warn_fn *on_warning; /* the same */
	void *ctx;
	bool only_active; /* nothing is dumped while prof.active is false: see below */
	bool in_target;	  /* the target writes it itself, with its rights, in its file system */
	const char *target_path; /* in_target: where; NULL: by the target's own prefix */
};

/* Is the name of a file to be made that of a folder, for the name of its own? It ends in "/". */
bool ops_names_folder(const char *file);

struct ops_dump {
	struct ops_cost cost;
	enum ops_via via;
	char *file;	    /* NULL for a stream, or when the name the target chose is not known */
	uint64_t bytes;	    /* 0 when `file` is not known */
	struct err warning; /* as set by err_raise(); ERROR_NONE when there is none */
};

/*
 * Write a heap profile. The output is checked before the target is touched
 * (ERR_OUTPUT), and a profile that cannot be written completely leaves no file. With `only_active`
 * prof.active is read in the same run, and where it is false that is ERROR_PROF_INACTIVE
 * (ERR_NOPROF), with nothing written.
 * On success the caller owns `out` and ends it with ops_dump_fini().
 */
int ops_dump(pid_t pid, const struct ops_dump_request *request, const struct ops_options *options,
	     struct ops_dump *out, struct err *err) __must_check;
void ops_dump_fini(struct ops_dump *dump);

/*
 * Write what happened within `ms`: dump, wait, dump again, and subtract. What has become less is
 * below 0. Nothing is switched: without sampling nothing happens. To request->stream_fd, in
 * request->format (NULL: pprof). In between no thread is stopped, and nothing is held.
 * ERR_FAILED when options->stop_fd ended it, ERR_LOST when the process ended, or runs another
 * program. The cost is that of both dumps. On success the caller ends `out` with ops_dump_fini().
 */
int ops_dump_between(pid_t pid, uint64_t ms, const struct ops_dump_request *request,
		     const struct ops_options *options, struct ops_dump *out, struct err *err)
	__must_check;

/*
 * The names of places in the code of a process, written to `fd` as a remote symbolization of
 * pprof's kind has them (POST .../pprof/symbol): "0xADDRESS TAB outer--inner" for each that lies
 * in an image, once, in the order they are first asked for. An address is that of an instruction,
 * and looked up as it is: who asks for a call takes 1 from its return address, as jeprof(1) and
 * pprof do. One that has no name gets that of reports, "[image+0xoffset]"; functions of the
 * allocator are all called "malloc", which both drop from the inner end of a stack.
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

/* Forget all samples (prof.reset); unless `lg_sample` is OPS_LG_KEEP, sample every 2^lg bytes. */
int ops_reset(pid_t pid, int lg_sample, const struct ops_options *options, struct ops_reset *out,
	      struct err *err) __must_check;

/* A mallctl value as it was read. */
struct ops_value {
	const char *name; /* as asked */
	const struct mallctl *ctl;
	int ret; /* 0: the value is known; else what mallctl returned, -1: it was not asked */
	union mallctl_value v;
	char text[OPS_TEXT_SIZE]; /* of a MALLCTL_STRING: raw bytes of the target's */
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
	size_t others; /* how many more jemallocs the process has */
	bool by_scan;  /* found without symbols */
	uint64_t mallctl, malloc_stats_print, prof_active; /* 0 if unknown */
	uint64_t opt[JEMALLOC_OPTS]; /* of the variables of opt.*, 0 if unknown */
	struct jemalloc_dump dump;
};

struct ops_status {
	struct ops_cost cost;
	struct ops_jemalloc jemalloc;
	struct ops_value *values; /* config.*, opt.*, prof.*; `ret` tells which are known */
	size_t n;
	struct err
		recording; /* one that is at work, or was killed; ERROR_NONE when there is none */
};

/* Reads only. Works also where profiling is not available. */
int ops_status(pid_t pid, const struct ops_options *options, struct ops_status *out,
	       struct err *err) __must_check;
void ops_status_fini(struct ops_status *status);

struct ops_check {
	const char *name; /* "process", "permission", "jemalloc", ... */
	bool made;	  /* false: an earlier check failed, without which it cannot be made */
	enum tristate ok; /* TRI_UNKNOWN: not made, or the answer is not known */
	char detail[OPS_TEXT_SIZE];
	struct err err; /* why not, when ok is TRI_NO; with TRI_YES its fixes: what would be
			 * better, though profiling works */
};

struct ops_conf_request {
	const char *text;    /* what MALLOC_CONF is to be */
	const char *version; /* of jemalloc; NULL: all of them */
	pid_t pid;	     /* not 0: as this process's jemalloc would read it */
	uint64_t start_time; /* of that, as in struct ops_options */
};

struct ops_conf {
	char version[64]; /* that was looked at, "" for all of them */
	struct conf_lint lint;
};

/*
 * What jemalloc makes of a configuration string. With a pid its images are
 * looked at; nothing is touched. ERR_USAGE for a version that is none.
 */
int ops_conf(const struct ops_conf_request *request, struct ops_conf *out, struct err *err)
	__must_check;

/* What resident memory consists of. Of jemalloc's own parts, as it counts them: */
enum ops_part {
	OPS_PART_ALLOCATED,  /* by the program, and in use */
	OPS_PART_SAMPLING,   /* for heap sampling, where a profile tells; else in the one above */
	OPS_PART_TCACHE,     /* freed, and kept by threads for themselves (5.0 and newer) */
	OPS_PART_FRAGMENTED, /* unused space between what is allocated: stats.active without it */
	OPS_PART_DIRTY,	     /* pages that are free, until they are purged */
	OPS_PART_MUZZY,	     /* the same, which the kernel may take when it needs some */
	OPS_PART_METADATA,
	OPS_PART_UNCOUNTED, /* below 0: what of these is not resident; above: what else is */
	/* of the rest: */
	OPS_PART_ANONYMOUS, /* private memory that jemalloc does not count as its own */
	OPS_PART_HEAP,	    /* of brk(2): another malloc's */
	OPS_PART_STACKS,
	OPS_PART_DATA,	/* of the program and its libraries, written */
	OPS_PART_FILES, /* as they are on disk: code, and data that was only read */
	OPS_PART_SHARED,
	OPS_PARTS
};
const char *ops_part_name(enum ops_part part); /* "allocated", "thread_caches", ... */

#define OPS_ADVICE_MAX 8
struct ops_explain {
	struct ops_cost cost;
	bool counted;	    /* jemalloc's own numbers are known, */
	struct err why_not; /* or why not; ERROR_NONE: it was not asked */
	bool sampled;	    /* sampling is on: OPS_PART_ALLOCATED has what it takes */
	uint64_t allocated, active, resident, mapped, retained; /* stats.*, bytes */
	struct memory memory;					/* as the kernel shows it */
	int64_t parts[OPS_PARTS];				/* bytes; their sum is memory.rss */
	uint64_t anonymous_max; /* OPS_PART_ANONYMOUS is from what stands there to this */
	bool limited;		/* a memory cgroup has a limit: */
	uint64_t limit, used;	/* bytes, of the group that will be full first */
	/* The first says what most of it is; each further one, with its fix, what could be less. */
	struct err advice[OPS_ADVICE_MAX];
	size_t n_advice;
};

/*
 * Where the resident memory of a process is: jemalloc's statistics, read in one run, beside what
 * the kernel shows (ops/target/memory.h). Works without profiling, and without jemalloc, too: where
 * no call can be made, `why_not` says so. ERR_PERM where the process may not be looked at.
 */
int ops_explain(pid_t pid, const struct ops_options *options, struct ops_explain *out,
		struct err *err) __must_check;

/* anonymous_max where it is noticeably more than the part says; else 0. */
uint64_t ops_explain_up_to(const struct ops_explain *explain);

/* "Python", "the Java virtual machine"; NULL for none. */
const char *ops_runtime_name(enum memory_runtime runtime);

#define OPS_CHECKS_MAX 32
struct ops_checks {
	struct ops_cost cost;
	bool ready; /* no check failed */
	size_t n;
	struct ops_check v[OPS_CHECKS_MAX];
	bool has_memory; /* where its resident memory is, as far as the kernel shows it: */
	struct ops_explain memory;
	struct err no_memory; /* why not, where it may be looked at */
};

/* All checks in order; what fails is a check. Reads values in one run if all else allows. */
void ops_check(pid_t pid, const struct ops_options *options, struct ops_checks *out);

/* The code of the first check that failed, ERR_NONE when all passed. */
enum err_code ops_checks_code(const struct ops_checks *checks);

enum ops_stats_format {
	OPS_STATS_JSON,
	OPS_STATS_TEXT,
	OPS_STATS_PROM,
	OPS_STATS_OPENMETRICS, /* without its end, "# EOF": more may follow */
};

/* Of one process: what it cost, or why it has none. */
struct ops_stats_of {
	struct ops_cost cost; /* its pid and comm, whatever became of it */
	struct err why;	      /* ERROR_NONE: its statistics are in the text */
};

struct ops_stats {
	struct ops_stats_of *v; /* as they were asked for */
	size_t n;
	char *text; /* jemalloc's own JSON or text, or what Prometheus reads, made from its JSON */
	size_t len;
};

/*
 * malloc_stats_print() in each of `n` processes, one after the other: of one, or, as Prometheus
 * text, of several, no process twice; pid and start time of each are used. What fails in one is
 * told there, and fails no other. Works also where profiling is not available.
 */
int ops_stats(const struct ops_match *of, size_t n, enum ops_stats_format format,
	      const struct ops_options *options, struct ops_stats *out, struct err *err)
	__must_check;
void ops_stats_fini(struct ops_stats *stats);
/* Did the first one fail? Then with `err`: for those who ask one process. */
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
	} opts[JEMALLOC_OPTS];	   /* what it was started with, as far as its memory tells */
	char image[OPS_TEXT_SIZE]; /* the path of what holds this jemalloc, raw */
	uint64_t rss_bytes;
	/* Of its control groups (ops/target/container.h); raw, "" if there is none. */
	char container[64]; /* short id or name */
	char container_id[CONTAINER_ID_LEN + 1];
	char pod_uid[POD_UID_LEN + 1];
	const char *qos_class; /* of the pod, a constant; NULL: no pod */
	char unit[256];	       /* of systemd */
	char cgroup[OPS_TEXT_SIZE];
	/* With request->labels: */
	char service_name[256];		  /* OTEL_SERVICE_NAME, or its service, or comm; raw */
	char exe[OPS_TEXT_SIZE];	  /* the path of the program, raw; "" if unknown */
	bool limited;			  /* a memory cgroup has a limit: */
	uint64_t limit_bytes, used_bytes; /* of the group that will be full first */
	pid_t ppid;
	pid_t above; /* with filter->tree: the next ancestor that is listed, or 0 */
	char command[OPS_COMMAND_SIZE]; /* with filter->command: its command line, raw, cut */
	struct err
		recording; /* one that is at work, or was killed; ERROR_NONE when there is none */
};

/* Which processes are meant: those to whom all of it applies. */
struct ops_filter {
	const char *comm; /* as the kernel keeps it, of 15 bytes at most; NULL: any */
	bool by_uid;
	uid_t uid;
	const char *cgroup; /* a path, name or container, see cgroup_holds(); NULL: any */
	pid_t children;	    /* this process and its descendants; 0: any */
};

struct ops_list_request {
	struct ops_filter filter;
	bool debuginfod; /* as in struct ops_options */
	int stop_fd;	 /* the same; a list that ends early is none */
	bool tree, command;
	bool labels;	   /* by which others tell it apart, and the limit of its group */
	const pid_t *only; /* not NULL: these `n_only`, ascending, instead of all */
	size_t n_only;
};

struct ops_list {
	struct ops_process
		*v; /* by pid; one for each jemalloc, that of the program's malloc first */
	size_t n;
	size_t unreadable; /* processes that may not be looked at */
	size_t unanswered; /* processes whose memory or files did not answer in time, or did harm */
	size_t missed;	   /* processes that a limit of ours kept us from looking at */
	struct err why;	   /* the last time that was so */
};

/*
 * Every jemalloc of every process that matches. Touches nothing; processes that end meanwhile are
 * left out.
 */
int ops_list(const struct ops_list_request *request, struct ops_list *out, struct err *err)
	__must_check;
void ops_list_fini(struct ops_list *list);

struct ops_matches {
	struct ops_match *v; /* by pid */
	size_t n;
	size_t all;    /* how many match, */
	size_t unseen; /* and of these, how many could not be looked at */
};

/*
 * All processes that match, but for this one. ERR_USAGE when filter->cgroup is how the ids of two
 * containers begin. The caller ends `out` with ops_match_fini().
 */
int ops_match(const struct ops_filter *filter, struct ops_matches *out, struct err *err)
	__must_check;

/* Keep those that use jemalloc; debuginfod and stop_fd are as in struct ops_options. */
int ops_match_jemalloc(struct ops_matches *matches, bool debuginfod, int stop_fd, struct err *err)
	__must_check;
void ops_match_fini(struct ops_matches *matches);

/* Where a recording stands, for who shows it. */
struct ops_record_progress {
	const struct ops_cost *cost;	  /* which process */
	uint64_t elapsed_ms, duration_ms; /* the latter 0: it has no end yet */
	/*
	 * stats.allocated, at the first dump (0: it has no statistics), and as it was counted last
	 * (0: not yet).
	 */
	uint64_t allocated_before_bytes, allocated_bytes;
	uint64_t rss_bytes, rss_before_bytes;
};

struct ops_record_request {
	uint64_t duration_ms; /* 0: until the condition is true, or stop_fd */
	struct until until;   /* ends it early; UNTIL_NEVER: nothing does */
	uint64_t interval_ms; /* of a series of dumps; 0: none */
	unsigned int keep;    /* how many of the series are kept, the newest; 0: all */
	const char *file;     /* of the last dump, as in struct ops_dump_request */
	bool force;	      /* replace files that exist */
	int lg_sample;	      /* sample every 2^lg bytes meanwhile; OPS_LG_KEEP: as it is set */
	bool only_off;	      /* refused (ERR_BUSY) where profiling is on already */
	void (*began)(void *ctx, const struct ops_cost *cost); /* it is recorded now; NULL: none */
	void (*progress)(void *ctx, const struct ops_record_progress *progress); /* NULL: none */
	void *ctx;
	uint64_t progress_ms; /* how often */
	bool count; /* for it, ask every five seconds how much is allocated: a stop each time */
};

struct ops_record {
	struct ops_cost cost; /* of all stops together */
	char *first, *last;   /* the files; those of the series lie between */
	uint64_t first_bytes, last_bytes;
	char **series; /* those that were kept */
	size_t n_series;
	size_t missed; /* dumps of the series for which there was no safe moment */
	uint64_t duration_ms;
	bool early;		  /* stop_fd ended it */
	bool reached;		  /* request->until did */
	bool adopted;		  /* profiling was on already: it was left as it was */
	enum tristate opt_active; /* then: opt.prof_active, was it on from the start? */
	bool stopped;		  /* profiling was turned off before the end by someone else */
	bool active, thread_active_init, rate; /* which of these were changed, and put back */
	uint64_t allocated_before_bytes, allocated_after_bytes; /* 0: it has no statistics */
	uint64_t rss_before_bytes, rss_after_bytes;
	struct err warning; /* as set by err_raise(); ERROR_NONE when there is none */
};

/*
 * Dump, activate, wait, dump, put everything back. options->stop_fd
 * ends it early. Where profiling is on already, nothing is changed but for the dumps, and another
 * rate is refused (ERR_BUSY): to set it makes jemalloc forget what was sampled.
 * ERR_BUSY when another recording is at work; ERR_OUTPUT from the files, which
 * are checked first; ERR_LOST when the target ended. Whatever fails, the target
 * is as it was found, or the message says otherwise, and ops_undo() puts it back. The caller ends
 * `out` with ops_record_fini().
 */
int ops_record(pid_t pid, const struct ops_record_request *request,
	       const struct ops_options *options, struct ops_record *out, struct err *err)
	__must_check;
void ops_record_fini(struct ops_record *record);

enum ops_undo_how {
	OPS_UNDO_NOTHING, /* nothing had been left to put back */
	OPS_UNDO_DONE,
	OPS_UNDO_ENDED,	  /* the process ended, or runs another program now */
	OPS_UNDO_RUNNING, /* it is being recorded */
	OPS_UNDO_FAILED,  /* `why` says so */
};

struct ops_undone {
	struct ops_cost cost;
	pid_t pid;
	char comm[PROC_COMM_SIZE]; /* raw; "" if unknown */
	enum ops_undo_how how;
	bool active, thread_active_init; /* what was true and is false again */
	bool kept;    /* prof.active is not the recording's any more, or never was */
	bool rate;    /* was prof.lg_sample put back? */
	bool sampler; /* what a sampling had left was taken away (ops_sample()) */
	struct err why;
};

struct ops_undo {
	struct ops_undone *v;
	size_t n;
};

/*
 * Put back what a recording of this process left that was killed, and take away what a sampling
 * did. ERR_BUSY while one is at work.
 */
int ops_undo(pid_t pid, const struct ops_options *options, struct ops_undone *out, struct err *err)
	__must_check;

/* The same for all recordings of this user. The caller ends `out` with ops_undo_fini(). */
int ops_undo_all(const struct ops_options *options, struct ops_undo *out, struct err *err)
	__must_check;
void ops_undo_fini(struct ops_undo *undo);

#endif
