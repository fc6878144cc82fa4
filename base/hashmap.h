// SPDX-License-Identifier: Apache-2.0
/*
 * A hash map from keys to indices of the caller's array. It stores hashes, not keys: the caller
 * compares elements with the key.
 *
 * Keys often come from untrusted files. Hashes are keyed with random bytes of this process
 * (getrandom(2)), so that a file with colliding keys cannot be constructed.
 */
#ifndef BASE_HASHMAP_H
#define BASE_HASHMAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HASHMAP_NONE UINT32_MAX

struct hashmap_slot {
	uint64_t hash;
	uint32_t value; /* HASHMAP_NONE: the slot is free */
};

/* { 0 } is an empty map. */
struct hashmap {
	struct hashmap_slot *slots;
	size_t n, n_slots; /* n_slots: 0 or a power of two */
};

/* Does the element at `value` have the key in `ctx`? */
typedef bool hashmap_equal_fn(const void *ctx, uint32_t value);

/* The hash of a number; without collisions. */
uint64_t hashmap_hash_u64(uint64_t key);

/* The hash of bytes; `seed` is 0, or the hash of preceding bytes. */
uint64_t hashmap_hash(const void *bytes, size_t len, uint64_t seed);

/*
 * The value that was added under `hash` and is equal to `ctx`; HASHMAP_NONE if there is none.
 * `equal` is NULL if the hash suffices, as for hashmap_hash_u64().
 */
uint32_t hashmap_find(const struct hashmap *map, uint64_t hash, hashmap_equal_fn *equal,
		      const void *ctx);

/* Add a new key; `value` is not HASHMAP_NONE. False if out of memory. */
bool hashmap_add(struct hashmap *map, uint64_t hash, uint32_t value);

/* The same two for numeric keys. */
static inline uint32_t hashmap_get(const struct hashmap *map, uint64_t key)
{
	return hashmap_find(map, hashmap_hash_u64(key), NULL, NULL);
}

static inline bool hashmap_put(struct hashmap *map, uint64_t key, uint32_t value)
{
	return hashmap_add(map, hashmap_hash_u64(key), value);
}

/* For _cleanup_() as well. */
void hashmap_fini(struct hashmap *map);

#endif
