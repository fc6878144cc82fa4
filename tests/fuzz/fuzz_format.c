// SPDX-License-Identifier: Apache-2.0
/*
 * A heap profile in every format. The first byte chooses options. Symbolised files may contain
 * names of any bytes. The size of the output must stay in proportion.
 */
#include "profile/bound.h"
#include "profile/format/format.h"
#include "profile/symbols.h"

#include <stdlib.h>
#include <string.h>

/* The scripts and styles; per byte, at most a frame with a truncated name in each type. */
#define ALWAYS (1 << 20)
#define PER_BYTE 20000

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_xml(const char *text)
{
	const char *script = strstr(text, "<script");

	/* There is one script, and no character that XML does not allow. */
	if (!script || strstr(script + 1, "<script"))
		abort();
	for (; *text; text++)
		if ((unsigned char)*text < ' ' && *text != '\n' && *text != '\t')
			abort();
}

static void write_one(const struct profile *p, enum profile_format format,
		      const struct profile_format_options *options, size_t most)
{
	struct err err = ERR_INIT;
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return;
	if (profile_write(p, format, options, out, &err) && err.code != ERR_FAILED)
		abort();
	fclose(out);
	if (size > most)
		abort();
	if (format == PROFILE_FORMAT_SVG)
		check_xml(text);
	if (!profile_format_info(format)->binary && memchr(text, '\0', size))
		abort();
	free(text);
}

static void write_symbols(const struct profile *p)
{
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return;
	profile_write_symbols(p, out);
	fclose(out);
	for (const char *line = text; *line; line = strchr(line, '\n') + 1)
		if (strncmp(line, "0x", 2) != 0 || line[18] != '\t')
			abort();
	free(text);
}

/* Write it again, with few stacks. */
static void write_bounded(struct profile *p, const struct profile_format_options *options,
			  size_t max, size_t most)
{
	struct err err = ERR_INIT;

	if (profile_bound(p, max, options->type, &err))
		return;
	if (p->n_addresses != p->symbols->n_locations)
		abort();
	write_one(p, PROFILE_FORMAT_PPROF, options, most);
	write_one(p, PROFILE_FORMAT_FOLDED, options, most);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct profile_format_options options = { 0 };
	struct profile_options parsing = { 0 };
	struct profile p = { 0 };
	struct err err = ERR_INIT;

	if (!size)
		return 0;
	parsing.by_thread = data[0] & 1;
	options.keep_allocator = data[0] & 2;
	options.type = (enum profile_type)(data[0] >> 2 & 3);
	options.node_count = data[0] >> 4;
	if (profile_parse(&p, (const char *)data + 1, size - 1, &parsing, &err) == 0 &&
	    (p.symbols || profile_symbols_none(&p, &err) == 0)) {
		for (size_t i = 0; i < PROFILE_FORMATS; i++)
			write_one(&p, (enum profile_format)i, &options, ALWAYS + size * PER_BYTE);
		write_symbols(&p);
		write_bounded(&p, &options, 1 + options.node_count, ALWAYS + size * PER_BYTE);
	}
	profile_fini(&p);
	return 0;
}
