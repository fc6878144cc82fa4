/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only OR BSD-2-Clause */
/* What the eBPF program of `sites` reports, and user space reads. */
#ifndef BPF_SAMPLE_H
#define BPF_SAMPLE_H

#include "bpf/stack.h"

#include <linux/types.h>

/* What is larger than a threshold never misses it, so its events are counted apart. */
enum sites_size { SITES_SMALL, SITES_LARGE, SITES_SIZES };

struct sites_sample {
	__u64 size;  /* enum sites_size */
	__u64 bytes; /* that it stands for */
	struct stack_copy stack;
};

/* Of all events, sampled or not. */
struct sites_counts {
	__u64 hits; /* of the probe: events, those of frees, and what is none */
	__u64 ns;   /* that the program took for them, less what a probe takes itself */
	__u64 events[SITES_SIZES];
	__u64 allocated[SITES_SIZES]; /* bytes, */
	__u64 before;		      /* and of the small ones those reckoned before large ones */
	__u64 senseless;	      /* events that are none, as far as what they say goes */
	__u64 lost;		      /* samples for which the ring buffer had no room */
};

/*
 * Of the bytes of an event that was due after `wait`, those that belong to an object larger than
 * that; 0 where there is none. doc/sites.md says why.
 */
static inline __u64 sites_large(__u64 elapsed, __u64 wait)
{
	return elapsed < wait + wait / 2 ? 0 : elapsed - wait / 2;
}

#endif
