// SPDX-License-Identifier: Apache-2.0
#include "base/intern.h"

#include "base/hashmap.h"
#include "base/vec.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define CHUNK 65536

struct chunk {
	struct chunk *next;
	size_t used, size;
	char bytes[];
};

struct intern {
	struct chunk *chunks; /* the one being filled is first */
	const char **strings;
	size_t n, room;
	struct hashmap by_text; /* of strings */
};

struct intern *intern_new(void)
{
	return calloc(1, sizeof(struct intern));
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
	free(in->strings);
	hashmap_fini(&in->by_text);
	free(in);
}

struct text {
	const struct intern *in;
	const char *s;
	size_t len;
};

static bool is_text(const void *ctx, uint32_t i)
{
	const struct text *t = ctx;
	const char *kept = t->in->strings[i];

	return strncmp(kept, t->s, t->len) == 0 && kept[t->len] == '\0';
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
	const struct text text = { in, s, len };
	uint64_t hash = hashmap_hash(s, len, 0);
	uint32_t at = hashmap_find(&in->by_text, hash, is_text, &text);
	char *kept;

	if (at != HASHMAP_NONE)
		return in->strings[at];
	if (in->n == HASHMAP_NONE || !vec_grow(in->strings, in->room, in->n))
		return NULL;
	kept = room(in, len + 1);
	if (!kept || !hashmap_add(&in->by_text, hash, (uint32_t)in->n))
		return NULL;
	memcpy(kept, s, len);
	kept[len] = '\0';
	in->strings[in->n++] = kept;
	return kept;
}
