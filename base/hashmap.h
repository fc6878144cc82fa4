// SPDX-License-Identifier: Apache-2.0
/*
 * A hash map from keys of the caller's to indices of the caller's array. It keeps hashes, not keys:
 * the caller says which element has the key that it looks for.
 *
 * Keys often come from a file that an attacker wrote. Hashes are keyed with random bytes of this
 * process (getrandom(2)), so that no file can be made whose keys all collide.
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

/* { 0 } is an empty one. */
struct hashmap {
	struct hashmap_slot *slots;
	size_t n, n_slots; /* n_slots: 0 or a power of two */
};

/* Has the element at `value` the key that `ctx` holds? */
typedef bool hashmap_equal_fn(const void *ctx, uint32_t value);

/* The hash of a number. Two numbers never have the same one. */
uint64_t hashmap_hash_u64(uint64_t key);

/* The hash of bytes; `seed` is 0, or the hash of what goes before them. */
uint64_t hashmap_hash(const void *bytes, size_t len, uint64_t seed);

/*
 * What was added under `hash` and equals `ctx`; HASHMAP_NONE if nothing was. `equal` is NULL for
 * keys whose hash is enough, which are those of hashmap_hash_u64().
 */
uint32_t hashmap_find(const struct hashmap *map, uint64_t hash, hashmap_equal_fn *equal,
		      const void *ctx);

/* Add a key that is not there; `value` is not HASHMAP_NONE. False without memory. */
bool hashmap_add(struct hashmap *map, uint64_t hash, uint32_t value);

/* The same two for keys that are numbers. */
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
