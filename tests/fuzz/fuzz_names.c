// SPDX-License-Identifier: Apache-2.0
/*
 * A file of names that another process may have made: its checksum is right, the rest may not be.
 */
#include "ops/stats_text.h"
#include "symbols/cache.h"

#include <lzma.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define HEADER 32
#define CRC_AT 24

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const struct symbol_cache *c)
{
	for (size_t i = 0; i < c->n; i++) {
		const struct profile_location *l = &c->symbols->locations[i];

		if ((i && c->offsets[i] <= c->offsets[i - 1]) || l->first > c->symbols->n_lines ||
		    l->n > c->symbols->n_lines - l->first)
			abort();
		for (uint32_t k = 0; k < l->n; k++)
			if (c->symbols->lines[l->first + k].function >= c->symbols->n_functions)
				abort();
	}
}

/* Statistics are read in the same kind of process. */
static void read_stats(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1), *out = NULL;
	const struct stats_of v[] = { { 1, "comm", text, size }, { 2, "other", text, size } };
	struct err ignored;
	size_t len = 0;

	if (!text)
		return;
	memcpy(text, data, size);
	text[size] = '\0';
	for (int format = OPS_STATS_JSON; format <= OPS_STATS_OPENMETRICS; format++) {
		FILE *f;

		if (stats_text_check((enum ops_stats_format)format, v, &ignored))
			continue;
		f = open_memstream(&out, &len);
		if (!f)
			break;
		(void)!stats_text_write((enum ops_stats_format)format, v, 2, f, &ignored);
		fclose(f);
		for (size_t i = 0; i < len; i++)
			if (((unsigned char)out[i] < ' ' && out[i] != '\t' && out[i] != '\n') ||
			    out[i] == 0x7f)
				abort();
		free(out);
	}
	free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int fd = memfd_create("fuzz", MFD_CLOEXEC);
	struct symbol_cache cache;
	uint32_t crc;

	read_stats(data, size);
	if (fd < 0)
		return 0;
	if (write(fd, data, size) == (ssize_t)size && size >= HEADER) {
		crc = lzma_crc32(data + HEADER, size - HEADER, 0);
		if (pwrite(fd, &crc, sizeof(crc), CRC_AT) == sizeof(crc) &&
		    symbol_cache_read(fd, &cache)) {
			check(&cache);
			symbol_cache_fini(&cache);
		}
	}
	close(fd);
	return 0;
}
