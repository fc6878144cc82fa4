// SPDX-License-Identifier: Apache-2.0
/*
 * A heap profile of jemalloc as data. Pure functions over bytes: nothing here
 * looks at a process, and nothing opens a file.
 *
 * Counts are doubles: a sampled profile is an estimate, and jeprof(1) computes
 * in doubles too. A difference of two profiles has negative counts.
 */
#ifndef PROFILE_PROFILE_H
#define PROFILE_PROFILE_H

#include "base/err.h"
#include "profile/symbols.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* What a profile counts. alloc_*: since the start, only with opt.prof_accum. */
enum profile_type {
	PROFILE_INUSE_OBJECTS,
	PROFILE_INUSE_SPACE, /* bytes; the default */
	PROFILE_ALLOC_OBJECTS,
	PROFILE_ALLOC_SPACE, /* bytes */
	PROFILE_TYPES
};

/* One line of MAPPED_LIBRARIES that can hold code. */
struct profile_mapping {
	uint64_t start, end;  /* [start, end), addresses in the process */
	uint64_t offset;      /* of `start` in the file */
	const char *path;     /* as the kernel named it, " (deleted)" taken off; raw text */
	const char *build_id; /* lower-case hex digits; NULL: not all profiles say */
	uint64_t inode;	      /* of the file; 0: not known */
	uint64_t other_inode; /* of another file of that path, in a profile added to this; else 0 */
	bool deleted;
};

/*
 * A place in the code, once for the whole profile. `pc` is what the file says:
 * a return address, but for nothing jemalloc writes.
 */
struct profile_address {
	uint64_t pc;
	uint32_t mapping; /* index of mappings, PROFILE_NONE when it lies in none */
};
#define PROFILE_NONE UINT32_MAX

/* Objects and bytes that were allocated through one stack of calls. */
struct profile_stack {
	uint64_t first;		       /* index of `frames`, the innermost call first */
	uint32_t depth;		       /* how many */
	uint32_t thread;	       /* index of `threads`; PROFILE_NONE: all threads together */
	double value[PROFILE_TYPES];   /* the estimate: scaled as jeprof(1) does */
	double sampled[PROFILE_TYPES]; /* as the file says */
	/*
	 * Of `value`, by sampling: its standard error is the square root (doc/heap-format.md).
	 * The variance of a sum or a difference of values is the sum of theirs.
	 */
	double variance[PROFILE_TYPES];
};

struct profile_thread {
	uint64_t id;	  /* N of "tN" */
	const char *name; /* raw text; "" when it has none */
};

/* What jeprof-ctl wrote beside the counts (doc/heap-format.md); 0 and NULL where it did not. */
struct profile_facts {
	int64_t pid;
	const char *comm, *host, *version; /* of the process, the machine, jemalloc; raw text */
	int64_t time_ns;		   /* when it was dumped, since 1970 */
	int64_t duration_ns;		   /* of a recording */
	int64_t allocated;		   /* bytes, all that jemalloc counted when it was dumped */
	const char *opt_active; /* opt.prof_active, "true" or "false": sampled from the start? */
	const char *explain;	/* where its memory was, as a bundle says beside it; raw text */
	bool only_alloc_space;	/* "counts alloc_space": of all types it knows that one alone */
	int64_t sample_bytes;	/* of such a one: bytes that a sample stands for at least */
};

struct profile {
	struct profile_facts facts;
	int64_t written_ns; /* the first of those that were added up, since 1970; 0: not known */
	uint64_t period;    /* bytes per sample on average: 1 << lg_prof_sample, or sample_bytes */
	bool rates_differ;  /* among those that were added up: period is the first's */
	bool has_alloc;	    /* some alloc_* count is not 0 */
	bool difference;    /* another one was subtracted: counts may be negative */
	struct profile_mapping *mappings; /* by start */
	size_t n_mappings;
	struct profile_address *addresses;
	size_t n_addresses;
	uint32_t *frames; /* of all stacks: indices of `addresses` */
	size_t n_frames;
	struct profile_stack *stacks;
	size_t n_stacks;
	struct profile_thread *threads; /* by id */
	size_t n_threads;
	struct profile_symbols *symbols; /* profile/symbols.h; NULL: not looked up */
	struct intern *text;		 /* private: the bytes of all names */
};

struct profile_options {
	bool by_thread;	  /* each stack in parts, one for each thread; they add up to it */
	bool only_thread; /* nothing but the stacks of `thread` */
	uint64_t thread;
	const char *thread_name; /* of all threads of this name instead; NULL: of that number */
};

/*
 * Read a profile: heap_v2 of jemalloc 4.0 and newer, of 3.x, or a symbolized
 * file of jeprof(1) or jeprof-ctl, whose names go to `symbols`. The bytes need
 * not stay. ERR_FAILED: it is none, or it is cut short; the message says where
 * (line and byte). The caller ends it with profile_fini().
 */
int profile_parse(struct profile *out, const char *bytes, size_t len,
		  const struct profile_options *options, struct err *err) __must_check;
void profile_fini(struct profile *profile);

/*
 * The same of a file that comes in pieces, of which no more is kept than its longest line and its
 * symbols. `more` puts up to `room` bytes, the next ones, in `buf`, and returns how many: 0 at the
 * end, -1 with `err` set, which is the error then. ERR_FAILED also for a line above 64 MB.
 */
typedef ssize_t profile_more_fn(void *ctx, char *buf, size_t room, struct err *err);
int profile_parse_pieces(struct profile *out, profile_more_fn *more, void *ctx,
			 const struct profile_options *options, struct err *err) __must_check;

/*
 * Read a heap profile in pprof's format, not packed: of Go, Rust, Parca or ours. Its values are
 * what they are there said to be; what was sampled is reckoned back from the period. ERR_FAILED: it
 * is none, or its numbers do not fit together. The caller ends it with profile_fini().
 */
int profile_parse_pprof(struct profile *out, const void *bytes, size_t len,
			const struct profile_options *options, struct err *err) __must_check;

/*
 * Does it count this? A profile of what is allocated during some time (facts.only_alloc_space)
 * knows neither objects nor what is in use: all that it has of these is 0.
 */
bool profile_knows(const struct profile *profile, enum profile_type type);

/* The type that is shown by default: bytes in use, or bytes allocated. */
enum profile_type profile_default_type(const struct profile *profile);

/* The sum of one type over all stacks. */
double profile_total(const struct profile *profile, enum profile_type type);

/*
 * Private to profile/: when stacks and facts have been read. Where the facts say that it counts
 * allocated bytes alone, what was sampled is what there is, and the variances follow.
 */
void profile_apply_facts(struct profile *profile);

/* Private to profile/: its table of threads. */

/* Put the threads in the order of their ids. ERR_FAILED without memory. */
int threads_sort(struct profile *p, struct err *err) __must_check;

/* The calls of a stack by name: what every report and every format starts from. */

/* No stack that profile_parse() lets through is deeper in addresses; deeper in lines it is cut. */
#define PROFILE_DEPTH_MAX 8192

/*
 * The calls of one stack, the innermost first, inlined ones each on its own.
 * Without `keep_allocator` the outermost function of the allocator is left out
 * with all that it called. Writes at most `max` (PROFILE_DEPTH_MAX always
 * does) and returns how many. Needs profile->symbols.
 */
size_t profile_stack_lines(const struct profile *profile, const struct profile_stack *stack,
			   bool keep_allocator, struct profile_line *lines, size_t max);

/*
 * Where those calls begin: *frame of the stack's addresses are left out (all
 * of them: == depth), and so are the first *line lines of the next one.
 */
void profile_stack_start(const struct profile *profile, const struct profile_stack *stack,
			 bool keep_allocator, uint32_t *frame, uint32_t *line);

#endif
