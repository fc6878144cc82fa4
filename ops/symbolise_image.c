// SPDX-License-Identifier: Apache-2.0
#include "ops/symbolise_image.h"

#include "base/cleanup.h"
#include "profile/symbols_lookup.h"
#include "target/image_debug.h"

#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

void symbolise_id_of(const char *hex, struct symbolise_id *id)
{
	static const char digits[] = "0123456789abcdef";

	id->len = 0;
	for (size_t n = 0; hex && hex[2 * n]; n++) {
		const char *high = strchr(digits, hex[2 * n]);
		const char *low = hex[2 * n + 1] ? strchr(digits, hex[2 * n + 1]) : NULL;

		if (!high || !low || n == sizeof(id->bytes)) {
			id->len = 0;
			return;
		}
		id->bytes[n] = (unsigned char)((high - digits) << 4 | (low - digits));
		id->len = n + 1;
	}
}

/* --- where the file is --- */

static int try_root(struct symbolise_image *image, const char *root, struct images *past,
		    struct err *err)
{
	const struct image_past was = {
		.path = image->mapping->path,
		.start = image->mapping->start,
		.offset = image->mapping->offset,
		.build_id = image->id.bytes,
		.build_id_len = image->id.len,
		.root = root,
	};
	struct images got = { 0 };
	enum image_past_found found;

	if (images_open_past(&got, &was, &found, err))
		return -1;
	if (found == IMAGE_PAST_FOUND)
		image->result = SYMBOLISE_FOUND;
	else if (found == IMAGE_PAST_OTHER)
		image->result = SYMBOLISE_OTHER;
	images_fini(past);
	*past = got;
	return 0;
}

/* In the root of the process, in the folder the user named, and here. */
static int find_past(struct symbolise_image *image, struct images *past, struct err *err)
{
	const char *roots[3] = { NULL, image->root, image->root ? NULL : "/" };
	char link[64];

	snprintf(link, sizeof(link), "/proc/%d/root", image->pid);
	if (image->pid)
		roots[0] = link;
	image->result = SYMBOLISE_ABSENT;
	for (size_t i = 0; i < 3 && image->result != SYMBOLISE_FOUND; i++) {
		/* A deleted file's name may lead to its successor: only a build id can tell. */
		if (!roots[i] || (image->mapping->deleted && !image->id.len))
			continue;
		if (try_root(image, roots[i], past, err))
			return -1;
	}
	return 0;
}

/* --- reading it --- */

struct reading {
	struct symbols_lookup *lookup;
	struct image *img;
	bool has_debug; /* DWARF was read */
};

static int add_symbol(void *ctx, const char *name, const struct symbol *sym)
{
	struct reading *r = ctx;
	enum symbols_rank rank = SYMBOLS_RANK_OTHER;

	if (sym->type == STT_FUNC)
		rank = sym->weak ? SYMBOLS_RANK_WEAK : SYMBOLS_RANK_PLAIN;
	else if (sym->type != STT_GNU_IFUNC && sym->type != STT_NOTYPE)
		return 0;
	symbols_lookup_symbol(r->lookup, name, sym->addr, sym->size, rank);
	return 0;
}

static void read_debug(void *ctx, struct Elf *elf)
{
	struct reading *r = ctx;

	r->has_debug = symbols_lookup_dwarf(r->lookup, elf, r->img->bias);
}

static bool next_debug(struct reading *r, const struct symbolise_image *image)
{
	struct err why, *server = image->debuginfod ? &why : NULL;

	return r->img == image->live ? image_debug_next(r->img, server)
				     : image_past_debug(r->img, image->mapping->start, server);
}

/* Its own tables and debug data, and what it lacks of both from elsewhere. */
static bool read_all(struct reading *r, const struct symbolise_image *image)
{
	bool has_table = !image_is_stripped(r->img), any = image->result == SYMBOLISE_FOUND;

	image_each_symbol(r->img, add_symbol, r);
	image_with_elf(r->img, false, read_debug, r);
	while (!(has_table && r->has_debug) && next_debug(r, image)) {
		any = has_table = true;
		image_each_symbol(r->img, add_symbol, r);
		if (!r->has_debug)
			image_with_elf(r->img, true, read_debug, r);
	}
	return any;
}

int symbolise_image(struct symbolise_image *image, const uint64_t *places, size_t n,
		    struct profile_symbols **found, struct err *err)
{
	_cleanup_(images_fini) struct images past = { 0 };
	_cleanup_(symbols_lookup_close) struct symbols_lookup *lookup =
		symbols_lookup_new(places, n);
	struct reading r = { .lookup = lookup, .img = image->live };

	if (!lookup)
		return err_sys(err, ERR_FAILED, ENOMEM, "cannot keep the names of an image");
	image->result = SYMBOLISE_FOUND;
	if (!image->live) {
		if (find_past(image, &past, err))
			return -1;
		r.img = past.n ? past.v : NULL;
	}
	if (!r.img || !read_all(&r, image))
		return 0;
	image->result = SYMBOLISE_FOUND;
	*found = symbols_lookup_take(lookup, r.img->bias);
	return *found ? 0 : err_sys(err, ERR_FAILED, ENOMEM, "cannot keep the names of an image");
}
