// SPDX-License-Identifier: Apache-2.0
/* The reader of heap profiles. The first byte chooses the options. */
#include "tests/fuzz/fuzz_profile.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Reads in pieces, whose size the first byte chooses. */
struct pieces {
	const uint8_t *at;
	size_t left, step;
};

static ssize_t next_bytes(void *ctx, char *buf, size_t room, struct err *err)
{
	struct pieces *s = ctx;
	size_t n = s->left < s->step ? s->left : s->step;

	(void)err;
	n = n < room ? n : room;
	memcpy(buf, s->at, n);
	s->at += n;
	s->left -= n;
	return (ssize_t)n;
}

/* Reading in pieces has the same result as reading the whole. */
static void check_pieces(const uint8_t *data, size_t size, const struct profile_options *options,
			 const struct profile *whole, const struct err *why)
{
	struct pieces s = { data + 1, size - 1, (size_t)data[0] + 1 };
	char text[2][ERR_TEXT_SIZE];
	struct profile p = { 0 };
	struct err err = ERR_INIT;

	if (profile_parse_pieces(&p, next_bytes, &s, options, &err) == 0)
		fuzz_check(&p);
	if (strcmp(err_text(&err, text[0], ERR_TEXT_SIZE), err_text(why, text[1], ERR_TEXT_SIZE)) !=
		    0 ||
	    p.n_stacks != whole->n_stacks || p.n_frames != whole->n_frames ||
	    p.n_addresses != whole->n_addresses || p.n_mappings != whole->n_mappings ||
	    !p.symbols != !whole->symbols)
		abort();
	profile_fini(&p);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct profile_options options = { 0 };
	struct profile p = { 0 };
	struct err err = ERR_INIT;

	if (!size)
		return 0;
	options.by_thread = data[0] & 1;
	options.only_thread = data[0] & 2;
	options.thread = data[0] >> 2;
	if (profile_parse(&p, (const char *)data + 1, size - 1, &options, &err) == 0)
		fuzz_check(&p);
	else if (err.code != ERR_FAILED || !err.ids[0])
		abort();
	check_pieces(data, size, &options, &p, &err);
	profile_fini(&p);
	return 0;
}
