// SPDX-License-Identifier: Apache-2.0
/*
 * Private to ops/sites/: stacks that the kernel copied are walked and added up in a confined child
 * (sandbox/confined.h), which reads the files and the memory of their process, and writes the
 * profile.
 */
#ifndef OPS_SITES_COLLECTOR_H
#define OPS_SITES_COLLECTOR_H

#include "bpf/sample.h"
#include "ops/target/session.h"

#include <stdint.h>

struct collector {
	struct confined child;
};
#define COLLECTOR_INIT                 \
	{                              \
		.child = CONFINED_INIT \
	}

/* For s->proc; the profile goes to `out`, a memory file of the caller's. */
int collector_start(struct collector *c, const struct session *s, int out, struct err *err)
	__must_check;
void collector_end(struct collector *c);

/* Waits while the child has too much to do. */
int collector_add(struct collector *c, const struct sites_sample *sample, struct err *err)
	__must_check;

struct collected {
	uint64_t samples, stacks;
	uint64_t cut; /* samples whose stack was longer than its copy, or could not be walked */
};

/*
 * All that was added becomes a profile, in which so many bytes are allocated in all. Its
 * mappings are those that the process has now, or if it has ended, had when they were read last.
 */
int collector_write(struct collector *c, const struct session *s,
		    const uint64_t allocated[SITES_SIZES], struct collected *out, struct err *err)
	__must_check;

#endif
