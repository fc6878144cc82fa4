// SPDX-License-Identifier: Apache-2.0
#include "profile/index.h"

#include <stdlib.h>
#include <string.h>

#define SLOTS_MIN 1024

/*
 * A hostile file chooses the keys, and with a hash it can foresee it could make each search walk
 * through all of them. Where this process lies in memory is random, and it cannot know that.
 */
static size_t hash_of(uint64_t key)
{
	static const char anchor;

	key ^= (uint64_t)(uintptr_t)&anchor;
	key = (key ^ key >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	key = (key ^ key >> 27) * UINT64_C(0x94d049bb133111eb);
	return key ^ key >> 31;
}

static struct index_slot *find(struct index_slot *slots, size_t n_slots, uint64_t key)
{
	size_t i = hash_of(key) & (n_slots - 1);

	while (slots[i].value != INDEX_NONE && slots[i].key != key)
		i = (i + 1) & (n_slots - 1);
	return &slots[i];
}

uint32_t index_find(const struct index *ix, uint64_t key)
{
	return ix->n ? find(ix->slots, ix->n_slots, key)->value : INDEX_NONE;
}

static bool more_slots(struct index *ix)
{
	size_t n_slots = ix->n_slots ? 2 * ix->n_slots : SLOTS_MIN;
	struct index_slot *slots = reallocarray(NULL, n_slots, sizeof(*slots));

	if (!slots)
		return false;
	memset(slots, 0xff, n_slots * sizeof(*slots));
	for (size_t i = 0; i < ix->n_slots; i++) {
		if (ix->slots[i].value != INDEX_NONE)
			*find(slots, n_slots, ix->slots[i].key) = ix->slots[i];
	}
	free(ix->slots);
	ix->slots = slots;
	ix->n_slots = n_slots;
	return true;
}

bool index_add(struct index *ix, uint64_t key, uint32_t value)
{
	/* Half of them stay free, which keeps the searches short. */
	if (2 * ix->n >= ix->n_slots && !more_slots(ix))
		return false;
	*find(ix->slots, ix->n_slots, key) = (struct index_slot){ key, value };
	ix->n++;
	return true;
}

void index_fini(struct index *ix)
{
	free(ix->slots);
	*ix = (struct index){ 0 };
}
