// SPDX-License-Identifier: Apache-2.0
/* Which calls allocate how much in a process, without a call into it: ops_sites(). */
#ifndef OPS_SITES_SITES_H
#define OPS_SITES_SITES_H

#include "ops/ops.h"

/* The state of a run, for display. */
struct ops_sites_progress {
	const struct ops_cost *cost; /* which process */
	uint64_t elapsed_ms, duration_ms;
	uint64_t allocated_bytes; /* so far */
};

struct ops_sites_request {
	uint64_t duration_ms;
	/* Mean bytes per sample, 64 KiB to 2 GiB; 0: 512 KiB. */
	uint64_t sample_bytes;
	/*
	 * ERR_UNSAFE when it takes more than this part of a CPU, and of what the process uses;
	 * in percent, 0: 5.
	 */
	unsigned int max_overhead;
	int fd;		  /* an empty memory file of the caller's, for the profile */
	const char *file; /* and this file; as in struct ops_dump_request, but NULL: none */
	bool force;	  /* replace a file that exists */
	/* Probing has begun; NULL: not reported. */
	void (*began)(void *ctx, const struct ops_cost *cost);
	void (*progress)(void *ctx, const struct ops_sites_progress *progress); /* the same */
	void *ctx;
	uint64_t progress_ms; /* interval of progress */
};

struct ops_sites {
	struct ops_cost cost; /* no thread was stopped */
	char *file;	      /* NULL: none */
	uint64_t bytes;	      /* of the profile */
	uint64_t duration_ms;
	uint64_t allocated_bytes; /* by threads that allocated at least a threshold */
	uint64_t events, samples, stacks;
	uint64_t overhead_us; /* CPU time that the probe took in the process, approximately */
	uint64_t cut;	      /* samples with an incomplete stack */
	uint64_t lost;	      /* samples that came too fast */
	bool early;	      /* stop_fd ended it, */
	bool ended;	      /* or the process did, or ran another program */
};

/*
 * For `duration_ms`, measure what each call stack of the process allocates (bpf/sites.h;
 * doc/sites.md has the method). jemalloc 5.3.0 and 5.3.1, with profiling or without. ERR_FAILED if
 * the event cannot be located, nothing was allocated or nothing of it sampled, ERR_PERM without the
 * rights to load eBPF programs.
 */
int ops_sites(pid_t pid, const struct ops_sites_request *request, const struct ops_options *options,
	      struct ops_sites *out, struct err *err) __must_check;
void ops_sites_fini(struct ops_sites *sites);

#endif
