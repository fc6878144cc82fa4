// SPDX-License-Identifier: Apache-2.0
/*
 * The block that is mapped into a target to sample what it allocates (target.c, layout.h): its
 * image, and where things are in it. doc/sampling.md says why it is safe.
 */
#ifndef SAMPLER_SAMPLER_H
#define SAMPLER_SAMPLER_H

#include "base/err.h"
#include "sampler/layout.h"

#include <stddef.h>
#include <stdint.h>

/* What a memory file with it is called, behind the name that all memory files of ours have. */
#define SAMPLER_NAME "sampler"

/* The whole file, the caller's to free; the same at each call. ERR_FAILED without memory. */
int sampler_image(unsigned char **image, size_t *len, struct err *err) __must_check;

/* From the beginning of the image, in memory and in the file. */
struct sampler_offsets {
	uint64_t end;	  /* of what threads call when they end, see SAMPLER_GUARD */
	uint64_t control; /* of sampler_control() */
	uint64_t alloc_probe, free_probe;	  /* what is to be probed, */
	uint64_t alloc_semaphore, free_semaphore; /* and what counts those who do */
};
extern const struct sampler_offsets sampler_offsets;

#endif
