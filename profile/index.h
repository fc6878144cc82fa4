// SPDX-License-Identifier: Apache-2.0
/* Private to profile/: which element of an array has a number, such as an address, as its key. */
#ifndef PROFILE_INDEX_H
#define PROFILE_INDEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct index_slot {
	uint64_t key;
	uint32_t value; /* INDEX_NONE: the slot is free */
};
#define INDEX_NONE UINT32_MAX

struct index {
	struct index_slot *slots;
	size_t n, n_slots; /* n_slots: 0 or a power of two */
};

/* What was added under `key`, or INDEX_NONE. */
uint32_t index_find(const struct index *ix, uint64_t key);

/* Add a key that is not there; `value` is not INDEX_NONE. False without memory. */
bool index_add(struct index *ix, uint64_t key, uint32_t value);

/* For _cleanup_() as well. */
void index_fini(struct index *ix);

#endif
