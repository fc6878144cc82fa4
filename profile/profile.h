// SPDX-License-Identifier: Apache-2.0
/*
 * A jemalloc heap profile as data. Only pure functions over bytes: nothing here accesses a process
 * or opens a file.
 *
 * Counts are doubles: a sampled profile is an estimate, and jeprof(1) computes in doubles, too. A
 * difference of two profiles can have negative counts.
 */
#ifndef PROFILE_PROFILE_H
#define PROFILE_PROFILE_H

#include "base/err.h"
#include "profile/symbols.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Types of counts. alloc_*: since the start, only with opt.prof_accum. */
enum profile_type {
	PROFILE_INUSE_OBJECTS,
	PROFILE_INUSE_SPACE, /* bytes; the default */
	PROFILE_ALLOC_OBJECTS,
	PROFILE_ALLOC_SPACE, /* bytes */
	PROFILE_TYPES
};

/* A line of MAPPED_LIBRARIES for memory that can hold code. */
struct profile_mapping {
	uint64_t start, end;  /* [start, end), addresses in the process */
	uint64_t offset;      /* of `start` in the file */
	const char *path;     /* as the kernel reports it, without " (deleted)"; raw text */
	const char *build_id; /* lower-case hex digits; NULL: not in the profile */
	uint64_t inode;	      /* of the file; 0: not known */
	uint64_t other_inode; /* of another file of that path, in a profile added to this; else 0 */
	bool deleted;
};

/*
 * A code address, unique in the profile. `pc` is the value in the file: a return address, except in
 * what jemalloc does not write.
 */
struct profile_address {
	uint64_t pc;
	uint32_t mapping; /* index of mappings; PROFILE_NONE: in none */
};
#define PROFILE_NONE UINT32_MAX

/* Objects and bytes allocated through one call stack. */
struct profile_stack {
	uint64_t first;		       /* index of `frames`; innermost call first */
	uint32_t depth;		       /* number of frames */
	uint32_t thread;	       /* index of `threads`; PROFILE_NONE: all threads together */
	double value[PROFILE_TYPES];   /* the estimate, scaled as in jeprof(1) */
	double sampled[PROFILE_TYPES]; /* as in the file */
	/*
	 * Sampling variance of `value`: the standard error is its square root (doc/heap-format.md).
	 * The variance of a sum or difference of values is the sum of their variances.
	 */
	double variance[PROFILE_TYPES];
};

struct profile_thread {
	uint64_t id;	  /* N of "tN" */
	const char *name; /* raw text; "": none */
};

/* Metadata that jeprof-ctl wrote (doc/heap-format.md); 0 or NULL: missing. */
struct profile_facts {
	int64_t pid;
	const char *comm, *host, *version; /* of the process, the machine, jemalloc; raw text */
	int64_t time_ns;		   /* time of the dump, since 1970 */
	int64_t duration_ns;		   /* of a recording */
	int64_t allocated;		   /* bytes, jemalloc's total at the dump */
	const char *opt_active; /* opt.prof_active, "true" or "false": sampled from the start? */
	const char *explain;	/* where its memory was, from a bundle; raw text */
	bool only_alloc_space;	/* "counts alloc_space": it has only this type */
	int64_t sample_bytes;	/* of such a profile: minimum bytes per sample */
};

struct profile {
	struct profile_facts facts;
	int64_t written_ns; /* of the first profile added up, since 1970; 0: not known */
	uint64_t period;    /* bytes per sample on average: 1 << lg_prof_sample, or sample_bytes */
	bool rates_differ;  /* among the profiles added up; period is the first's */
	bool has_alloc;	    /* some alloc_* count is not 0 */
	bool difference;    /* a profile was subtracted: counts may be negative */
	struct profile_mapping *mappings; /* by start */
	size_t n_mappings;
	struct profile_address *addresses;
	size_t n_addresses;
	uint32_t *frames; /* of all stacks; indices of `addresses` */
	size_t n_frames;
	struct profile_stack *stacks;
	size_t n_stacks;
	struct profile_thread *threads; /* by id */
	size_t n_threads;
	struct profile_symbols *symbols; /* profile/symbols.h; NULL: not looked up */
	struct intern *text;		 /* private: the bytes of all names */
};

struct profile_options {
	bool by_thread;	  /* split each stack into parts, one per thread */
	bool only_thread; /* only the stacks of `thread` */
	uint64_t thread;
	const char *thread_name; /* all threads of this name instead; NULL: by number */
};

/*
 * Read a profile: heap_v2 of jemalloc 4.0 and later, the format of 3.x, or a symbolized file of
 * jeprof(1) or jeprof-ctl, whose names go to `symbols`. The bytes are not needed afterwards.
 * ERR_FAILED: invalid or truncated; the message says where (line and byte). The caller ends it
 * with profile_fini().
 */
int profile_parse(struct profile *out, const char *bytes, size_t len,
		  const struct profile_options *options, struct err *err) __must_check;
void profile_fini(struct profile *profile);

/*
 * The same for a file that is read in pieces: only its longest line and its symbols are kept.
 * `more` puts up to `room` bytes in `buf`, and returns how many; 0: end; -1: `err` is set, and
 * passed on. Also ERR_FAILED for a line above 64 MB.
 */
typedef ssize_t profile_more_fn(void *ctx, char *buf, size_t room, struct err *err);
int profile_parse_pieces(struct profile *out, profile_more_fn *more, void *ctx,
			 const struct profile_options *options, struct err *err) __must_check;

/*
 * Read a heap profile in pprof's format, not compressed: from Go, Rust, Parca or us. Values have
 * the types it declares; sampled counts are computed back from the period. ERR_FAILED: not such a
 * profile, or inconsistent. The caller ends it with profile_fini().
 */
int profile_parse_pprof(struct profile *out, const void *bytes, size_t len,
			const struct profile_options *options, struct err *err) __must_check;

/*
 * Does the profile have this type? A profile of allocations during some time
 * (facts.only_alloc_space) has neither objects nor memory in use: these are all 0.
 */
bool profile_knows(const struct profile *profile, enum profile_type type);

/* The type shown by default: bytes in use, or bytes allocated. */
enum profile_type profile_default_type(const struct profile *profile);

/* The sum of one type over all stacks. */
double profile_total(const struct profile *profile, enum profile_type type);

/*
 * Private to profile/: called when stacks and facts have been read. If the facts say that only
 * allocated bytes are counted, the sampled values are the final ones; sets the variances.
 */
void profile_apply_facts(struct profile *profile);

/* Private to profile/: its table of threads. */

/* Sort the threads by id. ERR_FAILED without memory. */
int threads_sort(struct profile *p, struct err *err) __must_check;

/* The calls of a stack by name: the basis of every report and format. */

/* profile_parse() accepts no stack with more addresses; more lines than these are cut off. */
#define PROFILE_DEPTH_MAX 8192

/*
 * The calls of one stack, innermost first, with each inlined call separately. Without
 * `keep_allocator`, the outermost allocator function and all that it called are left out. Writes
 * at most `max` (PROFILE_DEPTH_MAX always suffices) and returns how many. Needs profile->symbols.
 */
size_t profile_stack_lines(const struct profile *profile, const struct profile_stack *stack,
			   bool keep_allocator, struct profile_line *lines, size_t max);

/*
 * Where those calls begin: the first *frame addresses of the stack are left out (all of them:
 * == depth), and so are the first *line lines of the next address.
 */
void profile_stack_start(const struct profile *profile, const struct profile_stack *stack,
			 bool keep_allocator, uint32_t *frame, uint32_t *line);

#endif
