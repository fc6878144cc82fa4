/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The interface between the block in a target and jeprof-ctl. The image is mapped contiguously,
 * with each part at the same offset as in the file:
 *
 *	[0, SAMPLER_STATE)		the file, read and execute: code, notes, tables
 *	[SAMPLER_STATE, SAMPLER_DATA)	the file, private: struct sampler_state
 *	[SAMPLER_DATA, SAMPLER_END)	anonymous, zeroed in a child process: struct sampler_data
 */
#ifndef SAMPLER_LAYOUT_H
#define SAMPLER_LAYOUT_H

#include <stddef.h>
#include <stdint.h>

#define SAMPLER_PAGE 4096
#define SAMPLER_STATE 0x6000
#define SAMPLER_DATA (SAMPLER_STATE + SAMPLER_PAGE)
#define SAMPLER_END (SAMPLER_DATA + sizeof(struct sampler_data))

/*
 * Exponential deviates with mean 1, and x / (1 - exp(-x)) for x in steps of 1 /
 * SAMPLER_WEIGHT_STEPS, as fixed-point numbers with SAMPLER_SHIFT fractional bits. They are the
 * same in each image.
 */
#define SAMPLER_SHIFT 16
#define SAMPLER_GAPS 4096
#define SAMPLER_WEIGHTS 512
#define SAMPLER_WEIGHT_STEPS 32
struct sampler_tables {
	uint32_t gaps[SAMPLER_GAPS];
	uint32_t weights[SAMPLER_WEIGHTS + 1];
};

enum sampler_phase {
	SAMPLER_OUT,	/* not installed */
	SAMPLER_COMING, /* being installed */
	SAMPLER_IN,
	SAMPLER_LEAVING, /* being removed; permanent in a child forked meanwhile */
};

typedef int mallctl_fn(const char *, void *, size_t *, void *, size_t);

/* A child process has a copy of it. */
struct sampler_state {
	uint16_t alloc_semaphore, free_semaphore; /* readers of the probes, counted by the kernel */
	uint32_t phase;				  /* enum sampler_phase */
	uint64_t handle;			  /* jemalloc's handle of the hooks */
	uint32_t prof; /* the hooks are those of its own samples: SAMPLER_INSTALL_PROF */
	uint32_t unused;
	mallctl_fn *mallctl;
	/* tsd_cleanup(), and the location of a thread's state: see sampler_end(). */
	void (*cleanup)(void *);
	int64_t tsd_state; /* offset from the thread pointer */
	uint32_t ending;   /* number of threads in sampler_end() */
	uint32_t marking;  /* set while jemalloc marks threads: no thread may enter */
};

/*
 * State of the threads whose pointer has this hash. If two share one, some bytes are not counted.
 */
struct sampler_thread {
	int64_t left; /* bytes until the next sample */
	uint64_t random;
	uint64_t allocations;
	uint64_t unused[5];
};

#define SAMPLER_THREADS 1024
#define SAMPLER_SETS 8192
#define SAMPLER_WAYS 8 /* sampled objects in a set, one cache line */

struct sampler_data {
	uint32_t is_on;	       /* 0 in a child process */
	uint32_t realloc_type; /* hook_alloc_realloc of this jemalloc (hook.h) */
	uint64_t sample_bytes;
	uint64_t seed;
	uint64_t dropped; /* samples whose set was full */
	uint64_t unused[SAMPLER_PAGE / 8 - 4];
	struct sampler_thread threads[SAMPLER_THREADS];
	uint8_t counts[SAMPLER_SETS]; /* number of objects in each set */
	uint64_t objects[SAMPLER_SETS][SAMPLER_WAYS];
};
_Static_assert(sizeof(struct sampler_data) % SAMPLER_PAGE == 0, "it is mapped");

/* Commands of sampler_control(). */
enum sampler_what {
	SAMPLER_GUARD,
	SAMPLER_INSTALL,
	/* The same, but report jemalloc's own samples (prof:true), taken at this interval. */
	SAMPLER_INSTALL_PROF,
	SAMPLER_REMOVE,	       /* if installed with this seed; else EBUSY */
	SAMPLER_REMOVE_UNREAD, /* if the probes are not being read; else EBUSY */
};
struct sampler_order {
	uint32_t what; /* enum sampler_what */
	uint32_t realloc_type;
	uint64_t sample_bytes; /* mean sampling interval, SAMPLER_BYTES_MIN to SAMPLER_BYTES_MAX */
	uint64_t seed;
	uint64_t mallctl; /* its address */
	/* SAMPLER_GUARD: */
	uint64_t slot;	  /* where the C library keeps the address of tsd_cleanup() */
	uint64_t cleanup; /* that address */
	int64_t tsd_state;
};
#define SAMPLER_BYTES_MIN (UINT64_C(1) << 12)
#define SAMPLER_BYTES_MAX (UINT64_C(1) << 40)

#endif
