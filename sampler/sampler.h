// SPDX-License-Identifier: Apache-2.0
/*
 * The block that is mapped into a target to sample its allocations (target.c, layout.h): its image,
 * and offsets in it. doc/sampling.md says why it is safe.
 */
#ifndef SAMPLER_SAMPLER_H
#define SAMPLER_SAMPLER_H

#include "base/err.h"
#include "sampler/layout.h"

#include <stddef.h>
#include <stdint.h>

/* The name of its memory file, after the common prefix of our memory files. */
#define SAMPLER_NAME "sampler"

/* The whole file, freed by the caller; identical in each call. ERR_FAILED if out of memory. */
int sampler_image(unsigned char **image, size_t *len, struct err *err) __must_check;

/* Offsets from the start of the image, in memory and in the file. */
struct sampler_offsets {
	uint64_t end;	  /* of the function that exiting threads call, see SAMPLER_GUARD */
	uint64_t control; /* of sampler_control() */
	uint64_t alloc_probe, free_probe;	  /* addresses to probe */
	uint64_t alloc_hold, free_hold;		  /* and such that are never executed */
	uint64_t alloc_semaphore, free_semaphore; /* and their reference counts */
};
extern const struct sampler_offsets sampler_offsets;

#endif
