// SPDX-License-Identifier: Apache-2.0
/* Who allocates how much in a process, without a call into it: ops_sites(). */
#ifndef OPS_SITES_SITES_H
#define OPS_SITES_SITES_H

#include "ops/ops.h"

/* Where it stands, for who shows it. */
struct ops_sites_progress {
	const struct ops_cost *cost; /* which process */
	uint64_t elapsed_ms, duration_ms;
	uint64_t allocated_bytes; /* until now */
};

struct ops_sites_request {
	uint64_t duration_ms;
	/* A sample every so many bytes on average, 64 KiB to 2 GiB; 0: 512 KiB. */
	uint64_t sample_bytes;
	/*
	 * ERR_UNSAFE when it takes more than this part of a CPU, and of what the process uses;
	 * in percent, 0: 5.
	 */
	unsigned int max_overhead;
	int fd;		  /* an empty memory file of the caller's, for the profile */
	const char *file; /* and this file; as in struct ops_dump_request, but NULL: none */
	bool force;	  /* replace a file that exists */
	/* It is probed from now on; NULL: nothing is told. */
	void (*began)(void *ctx, const struct ops_cost *cost);
	void (*progress)(void *ctx, const struct ops_sites_progress *progress); /* the same */
	void *ctx;
	uint64_t progress_ms; /* how often */
};

struct ops_sites {
	struct ops_cost cost; /* no thread was stopped */
	char *file;	      /* NULL for none */
	uint64_t bytes;	      /* of the profile */
	uint64_t duration_ms;
	uint64_t allocated_bytes; /* by threads that allocated as much as a threshold */
	uint64_t events, samples, stacks;
	uint64_t overhead_us; /* CPU time that the probe took in the process, about */
	uint64_t cut;	      /* samples with a part of their stack alone */
	uint64_t lost;	      /* samples that came too fast */
	bool early;	      /* stop_fd ended it, */
	bool ended;	      /* or the process did, or ran another program */
};

/*
 * For `duration_ms`, what each stack of calls of the process allocates (bpf/sites.h; doc/sites.md
 * has the method). jemalloc 5.3.0 and 5.3.1, with profiling or without. ERR_FAILED where that event
 * is not known, nothing was allocated or nothing of it sampled, ERR_PERM without the rights to load
 * eBPF programs.
 */
int ops_sites(pid_t pid, const struct ops_sites_request *request, const struct ops_options *options,
	      struct ops_sites *out, struct err *err) __must_check;
void ops_sites_fini(struct ops_sites *sites);

#endif
