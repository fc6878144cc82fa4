// SPDX-License-Identifier: Apache-2.0
/* Private to ops/sites/: adds up its samples (ops/stacks/collector.h). */
#ifndef OPS_SITES_COLLECT_H
#define OPS_SITES_COLLECT_H

#include "bpf/sample.h"
#include "ops/stacks/collector.h"
#include "ops/stacks/tally.h"

/* Its state is a struct stack_tally, { 0 } at first. Samples are struct sites_sample. */
extern const struct collector_kind sites_collector_kind;

struct collected {
	uint64_t samples, stacks;
	uint64_t cut; /* samples whose stack was longer than its copy, or could not be walked */
};

/* collector_write() for a process that allocated these numbers of bytes in all. */
int sites_collected(struct collector *c, const struct session *s,
		    const uint64_t allocated[SITES_SIZES], struct collected *out, struct err *err)
	__must_check;

#endif
