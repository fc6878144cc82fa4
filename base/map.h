// SPDX-License-Identifier: Apache-2.0
/*
 * A hash map from keys of the caller's to indices of the caller's array. It keeps hashes, not keys:
 * the caller says which element has the key that it looks for.
 *
 * Keys often come from a file that an attacker wrote. Hashes are keyed with random bytes of this
 * process (getrandom(2)), so that no file can be made whose keys all collide.
 */
#ifndef BASE_MAP_H
#define BASE_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MAP_NONE UINT32_MAX

struct map_slot {
	uint64_t hash;
	uint32_t value; /* MAP_NONE: the slot is free */
};

/* { 0 } is an empty one. */
struct map {
	struct map_slot *slots;
	size_t n, n_slots; /* n_slots: 0 or a power of two */
};

/* Has the element at `value` the key that `ctx` holds? */
typedef bool map_equal_fn(const void *ctx, uint32_t value);

/* The hash of a number. Two numbers never have the same one. */
uint64_t map_hash_u64(uint64_t key);

/* The hash of bytes; `seed` is 0, or the hash of what goes before them. */
uint64_t map_hash(const void *bytes, size_t len, uint64_t seed);

/*
 * What was added under `hash` and equals `ctx`; MAP_NONE if nothing was. `equal` is NULL for keys
 * whose hash is enough, which are those of map_hash_u64().
 */
uint32_t map_find(const struct map *map, uint64_t hash, map_equal_fn *equal, const void *ctx);

/* Add a key that is not there; `value` is not MAP_NONE. False without memory. */
bool map_add(struct map *map, uint64_t hash, uint32_t value);

/* The same two for keys that are numbers. */
static inline uint32_t map_get(const struct map *map, uint64_t key)
{
	return map_find(map, map_hash_u64(key), NULL, NULL);
}

static inline bool map_put(struct map *map, uint64_t key, uint32_t value)
{
	return map_add(map, map_hash_u64(key), value);
}

/* For _cleanup_() as well. */
void map_fini(struct map *map);

#endif
