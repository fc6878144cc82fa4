// SPDX-License-Identifier: Apache-2.0
/* Private to ops/sample/: sampled objects, and the profile made of them. */
#ifndef OPS_SAMPLE_COLLECT_H
#define OPS_SAMPLE_COLLECT_H

#include "bpf/object.h"
#include "ops/stacks/collector.h"

#include <stddef.h>
#include <stdint.h>

/* Samples are struct heap_object. */
extern const struct collector_kind sample_collector_kind;

/*
 * The block is at `base`: its frames are not those of a caller, and objects have sizes of jemalloc.
 * If this is not called, the samples are those of an emitter.
 */
int sample_began(struct collector *c, const struct session *s, uint64_t base, struct err *err)
	__must_check;

/*
 * How often the block was called to count an allocation, how many samples it could not keep, and
 * whether it still samples.
 */
struct block_counts {
	uint64_t allocations, dropped;
	bool is_on;
};
int sample_counts(struct collector *c, const struct session *s, struct block_counts *out,
		  struct err *err) __must_check;

/* Marks these objects as live. */
int sample_live(struct collector *c, const struct session *s, const uint64_t *ids, size_t n,
		struct err *err) __must_check;

struct sampled {
	uint64_t samples, stacks;
	uint64_t cut;
	uint64_t allocated_bytes; /* estimates, in bytes: everything, */
	uint64_t live_bytes;	  /* what is live, */
	uint64_t old_bytes;	  /* and the part of it that has lived for at least `old_ns` */
	uint64_t live_samples, old_samples;
};

struct sample_write {
	uint64_t sample_bytes; /* 0: as the samples show, see sample_began() */
	uint64_t end_ns;       /* CLOCK_MONOTONIC */
	uint64_t old_ns;       /* see above */
	uint64_t min_age_ns;   /* objects younger than this do not count as live in the profile */
};
int sample_write(struct collector *c, const struct session *s, const struct sample_write *how,
		 struct sampled *out, struct err *err) __must_check;

/* Private to ops/sample/collect.c: what jemalloc uses for `size` bytes (sz_s2u(), sz.h). */
uint64_t sample_usable_size(uint64_t size);

#endif
