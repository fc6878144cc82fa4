// SPDX-License-Identifier: Apache-2.0
#include "sampler/sampler.h"

#include "sampler/offsets.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Symbols of the embedded file, see the Makefile. */
extern const unsigned char image_start[] __asm__("_binary_target_so_start");
extern const unsigned char image_end[] __asm__("_binary_target_so_end");

const struct sampler_offsets sampler_offsets = {
	.end = OFFSET_OF_sampler_end,
	.control = OFFSET_OF_sampler_control,
	.alloc_probe = OFFSET_OF_sampler_alloc_probe,
	.free_probe = OFFSET_OF_sampler_free_probe,
	.alloc_hold = OFFSET_OF_sampler_alloc_hold,
	.free_hold = OFFSET_OF_sampler_free_hold,
	.alloc_semaphore = SAMPLER_STATE + offsetof(struct sampler_state, alloc_semaphore),
	.free_semaphore = SAMPLER_STATE + offsetof(struct sampler_state, free_semaphore),
};
_Static_assert(OFFSET_OF_sampler_state == SAMPLER_STATE && OFFSET_OF_sampler_data == SAMPLER_DATA,
	       "the linker script says the same");

static uint32_t fixed(double x)
{
	return (uint32_t)lround(x * (1 << SAMPLER_SHIFT));
}

static void fill(struct sampler_tables *t)
{
	for (int i = 0; i < SAMPLER_GAPS; i++)
		t->gaps[i] = fixed(-log((i + 0.5) / SAMPLER_GAPS));
	t->weights[0] = fixed(1);
	for (int i = 1; i <= SAMPLER_WEIGHTS; i++) {
		double x = (double)i / SAMPLER_WEIGHT_STEPS;

		t->weights[i] = fixed(x / -expm1(-x));
	}
}

int sampler_image(unsigned char **image, size_t *len, struct err *err)
{
	struct sampler_tables tables;

	*len = (uintptr_t)image_end - (uintptr_t)image_start;
	*image = malloc(*len);
	if (!*image)
		return err_no_memory(err);
	fill(&tables);
	memcpy(*image, image_start, *len);
	memcpy(*image + OFFSET_OF_sampler_tables, &tables, sizeof(tables));
	return 0;
}
