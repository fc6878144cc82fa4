// SPDX-License-Identifier: Apache-2.0
/* The parser of maps text, which the target's mappings and file names make up. */
#include "process/maps.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

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
		maps_fini(&maps);
	}
	return 0;
}
