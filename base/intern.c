// SPDX-License-Identifier: Apache-2.0
#include "base/intern.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define CHUNK 65536
#define SLOTS_MIN 256 /* a power of two */

struct chunk {
	struct chunk *next;
	size_t used, size;
	char bytes[];
};

struct slot {
	const char *s; /* NULL: free */
	uint32_t hash;
};

struct intern {
	struct chunk *chunks; /* the one being filled first */
	struct slot *slots;
	size_t n, n_slots;
};

struct intern *intern_new(void)
{
	struct intern *in = calloc(1, sizeof(*in));

	if (!in)
		return NULL;
	in->n_slots = SLOTS_MIN;
	in->slots = calloc(in->n_slots, sizeof(*in->slots));
	if (in->slots)
		return in;
	free(in);
	return NULL;
}

void intern_free(struct intern *in)
{
	if (!in)
		return;
	while (in->chunks) {
		struct chunk *next = in->chunks->next;

		free(in->chunks);
		in->chunks = next;
	}
	free(in->slots);
	free(in);
}

static uint64_t mix(uint64_t h)
{
	h *= UINT64_C(0x9e3779b97f4a7c15);
	return h ^ h >> 32;
}

/*
 * Names are long: eight bytes at a time. Who writes a file full of names that are to collide
 * does not know where this process lies in memory.
 */
static uint32_t hash_of(const char *s, size_t len)
{
	static const char anchor;
	uint64_t h = (uint64_t)(uintptr_t)&anchor ^ len, piece;

	for (; len >= sizeof(piece); s += sizeof(piece), len -= sizeof(piece)) {
		memcpy(&piece, s, sizeof(piece));
		h = mix(h ^ piece);
	}
	piece = 0;
	memcpy(&piece, s, len);
	return (uint32_t)mix(h ^ piece);
}

/* The slot that holds the string, or the free one where it belongs. */
static struct slot *find(struct slot *slots, size_t n_slots, uint32_t hash, const char *s,
			 size_t len)
{
	size_t i = hash & (n_slots - 1);

	while (slots[i].s && (slots[i].hash != hash || strncmp(slots[i].s, s, len) != 0 ||
			      slots[i].s[len] != '\0'))
		i = (i + 1) & (n_slots - 1);
	return &slots[i];
}

static bool more_slots(struct intern *in)
{
	size_t n_slots = 2 * in->n_slots;
	struct slot *slots = calloc(n_slots, sizeof(*slots));

	if (!slots)
		return false;
	for (size_t i = 0; i < in->n_slots; i++) {
		const struct slot *old = &in->slots[i];

		if (old->s)
			*find(slots, n_slots, old->hash, old->s, strlen(old->s)) = *old;
	}
	free(in->slots);
	in->slots = slots;
	in->n_slots = n_slots;
	return true;
}

static char *room(struct intern *in, size_t len)
{
	struct chunk *c = in->chunks;

	if (!c || c->size - c->used < len) {
		size_t size = len > CHUNK ? len : CHUNK;

		c = malloc(sizeof(*c) + size);
		if (!c)
			return NULL;
		*c = (struct chunk){ .next = in->chunks, .size = size };
		in->chunks = c;
	}
	c->used += len;
	return c->bytes + c->used - len;
}

const char *intern_add(struct intern *in, const char *s, size_t len)
{
	uint32_t hash = hash_of(s, len);
	struct slot *slot;
	char *kept;

	/* Half of them stay free, which keeps the searches short. */
	if (2 * in->n >= in->n_slots && !more_slots(in))
		return NULL;
	slot = find(in->slots, in->n_slots, hash, s, len);
	if (slot->s)
		return slot->s;
	kept = room(in, len + 1);
	if (!kept)
		return NULL;
	memcpy(kept, s, len);
	kept[len] = '\0';
	*slot = (struct slot){ .s = kept, .hash = hash };
	in->n++;
	return kept;
}
