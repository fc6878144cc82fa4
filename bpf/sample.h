/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only OR BSD-2-Clause */
/* Records of the eBPF program of `sites`. */
#ifndef BPF_SAMPLE_H
#define BPF_SAMPLE_H

#include "bpf/stack.h"

#include <linux/types.h>

/* An object larger than the threshold always triggers an event, so these are counted separately. */
enum sites_size { SITES_SMALL, SITES_LARGE, SITES_SIZES };

struct sites_sample {
	__u64 size;  /* enum sites_size */
	__u64 bytes; /* number that it represents */
	struct stack_copy stack;
};

/* Totals of all events, sampled or not. */
struct sites_counts {
	__u64 hits; /* of the probe: events, those of frees, and invalid ones */
	__u64 ns;   /* run time of the program, without the cost of the probe */
	__u64 events[SITES_SIZES];
	__u64 allocated[SITES_SIZES]; /* bytes */
	__u64 before;		      /* of the small ones, those attributed to before a large
				       * one */
	__u64 senseless;	      /* events with implausible values */
	__u64 lost;		      /* samples dropped because the ring buffer was full */
};

/*
 * Of the bytes of an event that was due after `wait` bytes, the part attributed to an object larger
 * than that; 0 if there is none. Explained in doc/sites.md.
 */
static inline __u64 sites_large(__u64 elapsed, __u64 wait)
{
	return elapsed < wait + wait / 2 ? 0 : elapsed - wait / 2;
}

#endif
