// SPDX-License-Identifier: Apache-2.0
/* The parser of maps, which contain the target's mappings and file names, and their totals. */
#include "ops/target/memory.h"
#include "process/maps.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The result can be sent, and arrives unchanged. */
static void sum_up(const struct maps *maps)
{
	static uint64_t stack[] = { 0x7ffe00001000 };
	const struct memory_stacks stacks = { .v = stack, .n = 1 };
	struct memory_use *use = calloc(maps->n + 1, sizeof(*use));
	struct err err = ERR_INIT;
	struct pack p = { .v = NULL };
	struct memory m, got;
	struct unpack u;

	for (size_t i = 0; use && i < maps->n; i++)
		use[i].present = (maps->v[i].end - maps->v[i].start) >> 16;
	if (use && !memory_sum(&m, maps, use, &stacks, &err)) {
		memory_pack(&m, &p);
		u = (struct unpack){ .at = p.v, .end = p.v + p.len };
		memory_unpack(&got, &u);
		if (!unpack_done(&u) || got.rss != m.rss || got.n_items != m.n_items)
			abort();
	}
	pack_fini(&p);
	free(use);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct err err = ERR_INIT;
	struct maps maps = { 0 };
	char *text = malloc(size + 1);

	if (!text)
		return 0;
	memcpy(text, data, size);
	text[size] = '\0';
	if (maps_parse(&maps, text, size, &err) == 0) {
		for (size_t i = 0; i < maps.n; i++) {
			if (maps.v[i].start >= maps.v[i].end || !maps_find(&maps, maps.v[i].start))
				abort();
			if (strlen(maps.v[i].path) > size)
				abort();
		}
		sum_up(&maps);
		maps_fini(&maps);
	}
	return 0;
}
