// SPDX-License-Identifier: Apache-2.0
/* Which calls hold memory in a process that was not started for profiling: ops_sample(). */
#ifndef OPS_SAMPLE_SAMPLE_H
#define OPS_SAMPLE_SAMPLE_H

#include "bpf/heap.h"
#include "ops/ops.h"

#define OPS_IMAGE_SIZE 64

/* The expected cost and the state of a sampling, for display. */
struct ops_sample_progress {
	const struct ops_cost *cost; /* which process */
	/*
	 * The file of the block's probes otel_memory:alloc(address, size, bytes that it represents)
	 * and otel_memory:free(address), in the process's /proc/PID/map_files. The arguments are in
	 * the registers of a function's first three. Of an emitter: "".
	 */
	char image[OPS_IMAGE_SIZE];
	struct heap_probe alloc, free;
	uint64_t sample_bytes; /* 0: an emitter's own */
	bool prof;	       /* the samples are those that jemalloc takes by itself */
	uint64_t elapsed_ms, duration_ms;
	uint64_t samples;	/* so far */
	uint64_t overhead_us;	/* as in struct ops_sample, so far */
	uint64_t rate;		/* allocations per second before; 0: unknown */
	unsigned int per_mille; /* of a CPU: their expected cost */
};

struct ops_sample_request {
	/*
	 * Do not read the probes: they are there for other programs. No profile is made; `fd` is
	 * unchanged.
	 */
	bool for_others;
	uint64_t duration_ms;
	/*
	 * Per sample, 4 KiB to 1 TiB; 0: that of an emitter or of jemalloc's own samples, or
	 * 512 KiB.
	 */
	uint64_t sample_bytes;
	uint64_t min_age_ms; /* younger objects do not count as live in the profile */
	/*
	 * ERR_UNSAFE when it is expected to take, or takes, more than this part of a CPU, and of
	 * what the process uses; in percent, 0: 5.
	 */
	unsigned int max_overhead;
	int fd;		  /* an empty memory file of the caller's, for the profile */
	const char *file; /* and this file; as in struct ops_dump_request, but NULL: none */
	bool force;	  /* replace a file that exists */
	/* Sampling has begun; -1 ends it with that error. NULL: not reported. */
	int (*began)(void *ctx, const struct ops_sample_progress *progress, struct err *err);
	void (*progress)(void *ctx, const struct ops_sample_progress *progress); /* the same */
	void *ctx;
	uint64_t progress_ms; /* interval of progress */
};

struct ops_sample {
	struct ops_cost cost;
	char *file;	/* NULL: none */
	uint64_t bytes; /* of the profile */
	uint64_t duration_ms;
	uint64_t allocations; /* 0 if unknown: of an emitter, or of jemalloc's own samples */
	uint64_t samples, stacks;
	uint64_t allocated_bytes; /* estimates, in bytes: allocated meanwhile, */
	uint64_t live_bytes;	  /* the part of it that was not freed, */
	uint64_t old_bytes;	  /* and the part of that from the first half of the time */
	uint64_t live_samples, old_samples; /* numbers of samples behind these estimates */
	uint64_t overhead_us; /* CPU time that it took in the process, approximately */
	uint64_t cut;	      /* samples with an incomplete stack */
	uint64_t lost;	      /* samples that came too fast, or were too many */
	bool early;	      /* stop_fd ended it, */
	bool ended;	      /* or the process did, or ran another program */
	bool opt_prof;	      /* opt.prof is true: a recording costs less (ops_record()) */
	bool prof;	      /* the samples were jemalloc's own */
	struct err hidden;    /* limits that are unknown; ERROR_NONE: none */
	struct err left;      /* why the block is still in the process; ERROR_NONE: it is not */
};

/* The warning for callers that show one. */
static inline const struct err *ops_sample_warning(const struct ops_sample *s)
{
	return s->left.ids[0] ? &s->left : &s->hidden;
}

/*
 * For `duration_ms`, sample what each call stack of the process allocates and does not free
 * (doc/sampling.md has the method, and why it is safe).
 *
 * An emitter, a program with probes otel_memory of its own, whatever its allocator, is only
 * listened to (bpf/heap.h), unless options->image names a jemalloc.
 *
 * Else its jemalloc has to be 5.2.0 to 5.3.1, with profiling or without. Effect: some pages of code
 * are mapped in the process, which jemalloc calls at each allocation and free; one of its threads
 * is borrowed six or seven times. If it is 5.3.1 and samples by itself (prof.active), and no rate
 * is requested, jemalloc calls them for its own samples alone. When we end, in whatever way, these
 * calls end; the pages stay. ERR_PERM without the rights to load eBPF programs.
 */
int ops_sample(pid_t pid, const struct ops_sample_request *request,
	       const struct ops_options *options, struct ops_sample *out, struct err *err)
	__must_check;
void ops_sample_fini(struct ops_sample *sample);

#endif
