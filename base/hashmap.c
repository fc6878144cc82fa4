// SPDX-License-Identifier: Apache-2.0
#include "base/hashmap.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#define SLOTS_MIN 256

/*
 * Set once per process and inherited by children. If getrandom(2) fails, the load address and the
 * time have to do.
 */
static uint64_t process_seed(void)
{
	static _Atomic uint64_t seed;
	uint64_t old = seed, made;

	if (old)
		return old;
	if (getrandom(&made, sizeof(made), GRND_NONBLOCK) != sizeof(made)) {
		struct timespec now = { 0 };

		clock_gettime(CLOCK_MONOTONIC, &now);
		made = (uint64_t)(uintptr_t)&seed ^ (uint64_t)now.tv_nsec << 32;
	}
	made |= 1; /* 0: not set */
	/* If another thread was first, use its seed. */
	return atomic_compare_exchange_strong(&seed, &old, made) ? made : old;
}

/* The finalizer of MurmurHash3, which is a bijection. */
static uint64_t mix(uint64_t h)
{
	h = (h ^ h >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	h = (h ^ h >> 27) * UINT64_C(0x94d049bb133111eb);
	return h ^ h >> 31;
}

uint64_t hashmap_hash_u64(uint64_t key)
{
	return mix(key ^ process_seed());
}

uint64_t hashmap_hash(const void *bytes, size_t len, uint64_t seed)
{
	const unsigned char *at = bytes;
	uint64_t h = seed ^ process_seed() ^ len, piece;

	for (; len >= sizeof(piece); at += sizeof(piece), len -= sizeof(piece)) {
		memcpy(&piece, at, sizeof(piece));
		h = (h ^ piece) * UINT64_C(0x9e3779b97f4a7c15);
		h ^= h >> 32;
	}
	piece = 0;
	memcpy(&piece, at, len);
	return mix(h ^ piece);
}

uint32_t hashmap_find(const struct hashmap *map, uint64_t hash, hashmap_equal_fn *equal,
		      const void *ctx)
{
	const struct hashmap_slot *slots = map->slots;
	size_t i = hash & (map->n_slots - 1);

	if (!map->n)
		return HASHMAP_NONE;
	while (slots[i].value != HASHMAP_NONE &&
	       (slots[i].hash != hash || (equal && !equal(ctx, slots[i].value))))
		i = (i + 1) & (map->n_slots - 1);
	return slots[i].value;
}

static void put(struct hashmap_slot *slots, size_t n_slots, struct hashmap_slot slot)
{
	size_t i = slot.hash & (n_slots - 1);

	while (slots[i].value != HASHMAP_NONE)
		i = (i + 1) & (n_slots - 1);
	slots[i] = slot;
}

static bool more_slots(struct hashmap *map)
{
	size_t n_slots = map->n_slots ? 2 * map->n_slots : SLOTS_MIN;
	struct hashmap_slot *slots = reallocarray(NULL, n_slots, sizeof(*slots));

	if (!slots)
		return false;
	memset(slots, 0xff, n_slots * sizeof(*slots));
	for (size_t i = 0; i < map->n_slots; i++) {
		if (map->slots[i].value != HASHMAP_NONE)
			put(slots, n_slots, map->slots[i]);
	}
	free(map->slots);
	map->slots = slots;
	map->n_slots = n_slots;
	return true;
}

bool hashmap_add(struct hashmap *map, uint64_t hash, uint32_t value)
{
	/*
	 * At least a quarter of the slots stays free. Searches are shorter if it is more, but
	 * touching the additional memory for the first time takes longer than they save.
	 */
	if (4 * map->n >= 3 * map->n_slots && !more_slots(map))
		return false;
	put(map->slots, map->n_slots, (struct hashmap_slot){ hash, value });
	map->n++;
	return true;
}

void hashmap_fini(struct hashmap *map)
{
	free(map->slots);
	*map = (struct hashmap){ 0 };
}
