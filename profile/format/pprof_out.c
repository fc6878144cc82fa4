// SPDX-License-Identifier: Apache-2.0
#include "profile/format/pprof_out.h"

#include "base/text.h"

#include <stdlib.h>
#include <string.h>

/* With a header and a checksum of gzip(1) around it. */
#define GZIP_WINDOW (15 + 16)

static void compress_plain(struct pprof_out *o, int flush)
{
	o->z.next_in = o->plain;
	o->z.avail_in = (uInt)o->n_plain;
	do {
		o->z.next_out = o->packed;
		o->z.avail_out = sizeof(o->packed);
		deflate(&o->z, flush);
		fwrite(o->packed, 1, sizeof(o->packed) - o->z.avail_out, o->file);
	} while (o->z.avail_out == 0);
	o->n_plain = 0;
}

static void append(ProtobufCBuffer *buffer, size_t len, const uint8_t *data)
{
	struct pprof_out *o = (struct pprof_out *)buffer;

	while (len) {
		size_t n = sizeof(o->plain) - o->n_plain;

		n = n < len ? n : len;
		memcpy(o->plain + o->n_plain, data, n);
		o->n_plain += n;
		data += n;
		len -= n;
		if (o->n_plain == sizeof(o->plain))
			compress_plain(o, Z_NO_FLUSH);
	}
}

int pprof_out_init(struct pprof_out *o, FILE *file, struct err *err)
{
	char nothing[] = "", *first = nothing;
	Pprof__Profile part = PPROF__PROFILE__INIT;

	o->base.append = append;
	o->file = file;
	if (deflateInit2(&o->z, Z_BEST_SPEED, Z_DEFLATED, GZIP_WINDOW, 8, Z_DEFAULT_STRATEGY) !=
	    Z_OK)
		return err_set(err, ERR_FAILED, "no memory to compress");
	o->deflating = true;
	part.n_string_table = 1;
	part.string_table = &first;
	pprof_out_part(o, &part);
	o->n_strings = 1;
	return 0;
}

void pprof_out_fini(struct pprof_out *o)
{
	if (o->deflating)
		deflateEnd(&o->z);
	o->deflating = false;
	index_fini(&o->strings);
	free(o->safe);
	o->safe = NULL;
}

void pprof_out_part(struct pprof_out *o, const Pprof__Profile *part)
{
	pprof__profile__pack_to_buffer(part, &o->base);
}

/* `raw` in o->safe; false without memory. */
static bool make_safe(struct pprof_out *o, const char *raw)
{
	size_t size = strlen(raw) * 4 + 1;

	if (size > o->safe_size) {
		char *bigger = realloc(o->safe, size);

		if (!bigger)
			return false;
		o->safe = bigger;
		o->safe_size = size;
	}
	output_safe(raw, o->safe, size);
	return true;
}

int64_t pprof_out_copy(struct pprof_out *o, const char *raw)
{
	Pprof__Profile part = PPROF__PROFILE__INIT;

	if (!*raw)
		return 0;
	if (!make_safe(o, raw)) {
		o->failed = true;
		return 0;
	}
	part.n_string_table = 1;
	part.string_table = &o->safe;
	pprof_out_part(o, &part);
	return o->n_strings++;
}

int64_t pprof_out_text(struct pprof_out *o, const char *raw)
{
	uint32_t known;

	if (!raw)
		return 0;
	known = index_find(&o->strings, (uintptr_t)raw);
	if (known != INDEX_NONE)
		return known;
	if (o->n_strings >= INDEX_NONE ||
	    !index_add(&o->strings, (uintptr_t)raw, (uint32_t)(*raw ? o->n_strings : 0))) {
		o->failed = true;
		return 0;
	}
	return pprof_out_copy(o, raw);
}

int pprof_out_finish(struct pprof_out *o, struct err *err)
{
	compress_plain(o, Z_FINISH);
	return o->failed ? err_set(err, ERR_FAILED, "no memory for the names") : 0;
}
