// SPDX-License-Identifier: Apache-2.0

#include "symbols/symbolize_image.h"

#include "base/cleanup.h"
#include "elf/image_debug.h"
#include "elf/image_head.h"
#include "elf/unwind.h"
#include "io/errand.h"
#include "io/memory_file.h"
#include "profile/symbols.h"
#include "symbols/cache.h"
#include "symbols/lookup.h"

#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define CACHED_PLACES_MAX (1u << 20)

void symbolize_id_of(const char *hex, struct symbolize_id *id)
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

/*
 * Without a build ID, is the open file the mapped one? Device numbers are of no use: they change
 * with a reboot, and on btrfs and overlayfs those in maps differ from stat(2). overlayfs (xino) may
 * have put a layer number into the highest bits of the inode.
 */
#define INODE_BITS 56
static enum symbolize_result judge(struct symbolize_image *image, const struct image *img)
{
	const struct profile_mapping *m = image->mapping;
	int64_t changed_ns;
	struct stat st;

	if (image->id.len || image->trusted || !image_stat(img, &st))
		return SYMBOLIZE_FOUND;
	image->inode = st.st_ino;
	image->changed_s = st.st_ctim.tv_sec;
	if (m->inode && (m->inode ^ st.st_ino) << (64 - INODE_BITS))
		return SYMBOLIZE_REPLACED;
	changed_ns = st.st_ctim.tv_sec * INT64_C(1000000000) + st.st_ctim.tv_nsec;
	return image->written_ns && changed_ns > image->written_ns ? SYMBOLIZE_CHANGED
								   : SYMBOLIZE_FOUND;
}

static int try_root(struct symbolize_image *image, const char *root, struct images *past,
		    struct err *err)
{
	const struct image_past was = {
		.path = image->mapping->path,
		.unbiased = image->keeper,
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
		image->result = judge(image, got.v);
	else if (found == IMAGE_PAST_OTHER)
		image->result = SYMBOLIZE_OTHER;
	images_fini(past);
	if (found == IMAGE_PAST_FOUND && image->result != SYMBOLIZE_FOUND)
		images_fini(&got);
	*past = got;
	return 0;
}

/* In the root of the process, in the directory given by the user, and in "/". */
static int find_past(struct symbolize_image *image, struct images *past, struct err *err)
{
	const char *roots[3] = { NULL, image->root, image->root ? NULL : "/" };
	bool unproven = !image->id.len && !image->trusted;
	char link[64];

	/* The name of a deleted file may refer to its successor. */
	if (unproven && (image->mapping->deleted || image->mapping->other_inode)) {
		image->result = image->mapping->deleted ? SYMBOLIZE_DELETED : SYMBOLIZE_MIXED;
		return 0;
	}
	snprintf(link, sizeof(link), "/proc/%d/root", image->pid);
	if (image->pid)
		roots[0] = link;
	image->result = SYMBOLIZE_ABSENT;
	for (size_t i = 0; i < 3 && image->result != SYMBOLIZE_FOUND; i++) {
		if (roots[i] && try_root(image, roots[i], past, err))
			return -1;
	}
	return 0;
}

/* --- reading it --- */

struct reading {
	struct symbols_lookup *lookup;
	struct symbolize_image *image;
	struct image *img;
	bool in_debug;	/* symbols are from the debug file, not the image itself */
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
	symbols_lookup_symbol(r->lookup, name, sym->addr, sym->size, rank, sym->file);
	return 0;
}

/* Where to store why debuginfod failed; NULL if it is not to be asked. */
static struct err *server_of(struct reading *r)
{
	return r->image->debuginfod ? &r->image->server : NULL;
}

/* strip(1) leaves the name of the shared debug file in place, but nothing that needs it. */
static void read_dwarf(void *ctx, struct Elf *elf)
{
	struct reading *r = ctx;
	struct symbolize_image *image = r->image;
	struct Elf *common;

	if (!symbols_has_dwarf(elf))
		return;
	common =
		image_common(r->img, r->in_debug, server_of(r), image->lacks, sizeof(image->lacks));
	r->has_debug = symbols_lookup_dwarf(r->lookup, elf, common, r->img->bias);
	image->split = symbols_lookup_is_split(r->lookup);
	if (common)
		*image->lacks = '\0';
}

static void read_debug(struct reading *r, bool in_debug)
{
	r->in_debug = in_debug;
	image_with_debug(r->img, in_debug, read_dwarf, r);
}

/* --- starts of functions without names, from unwind tables --- */

struct frames {
	struct reading *reading;
	struct image_head head;
	const char *bytes; /* of the file */
	size_t size;
	const uint64_t *places;
	size_t n;
};

static bool read_word(void *ctx, uint64_t addr, uint64_t *word)
{
	const struct frames *f = ctx;
	uint64_t at = addr - f->reading->img->bias;

	for (size_t i = 0; i < f->head.n_loads; i++) {
		const struct segment *s = &f->head.loads[i];
		uint64_t in = at - s->vaddr;

		if (at < s->vaddr || s->filesz < sizeof(*word) || in > s->filesz - sizeof(*word))
			continue;
		if (s->offset > f->size || f->size - s->offset < sizeof(*word) ||
		    in > f->size - s->offset - sizeof(*word))
			return false;
		memcpy(word, f->bytes + s->offset + in, sizeof(*word));
		return true;
	}
	return false;
}

static bool find_table(void *ctx, uint64_t ip, struct unwind_table_place *place)
{
	const struct frames *f = ctx;

	(void)ip;
	return unwind_table_of(f->reading->img, read_word, ctx, place);
}

static void read_frames(void *ctx, struct Elf *elf)
{
	struct frames *f = ctx;
	struct unwind_source source = { .read = read_word, .table = find_table, .ctx = f };
	uint64_t start, end;

	f->bytes = elf_rawfile(elf, &f->size);
	if (!f->bytes || !image_head_read(&f->head, elf))
		return;
	for (size_t i = 0; i < f->n; i++) {
		if (!symbols_lookup_knows(f->reading->lookup, i) &&
		    unwind_function(&source, f->places[i], &start, &end))
			symbols_lookup_begin(f->reading->lookup, i, start);
	}
}

/* --- cached names --- */

/* The places of one image, and the names known so far. */
struct answer {
	struct symbolize_image *image;
	const uint64_t *places;
	size_t n;
	struct symbols_build *build;
	bool *known;
	uint64_t *missing; /* the places without names */
	size_t n_missing;
	struct symbol_cache cache;
};

static void answer_fini(struct answer *a)
{
	symbols_build_free(a->build);
	symbol_cache_fini(&a->cache);
	free(a->known);
	free(a->missing);
}

/* Independent of the mapped address, and of whether the file still exists. */
static uint64_t offset_of(const struct symbolize_image *image, uint64_t place)
{
	return place - image->mapping->start + image->mapping->offset;
}

static void list_missing(struct answer *a)
{
	a->n_missing = 0;
	for (size_t i = 0; i < a->n; i++) {
		if (!a->known[i])
			a->missing[a->n_missing++] = a->places[i];
	}
}

static uint32_t *no_functions(const struct profile_symbols *s)
{
	uint32_t *functions = malloc((s->n_functions + 1) * sizeof(*functions));

	if (functions)
		memset(functions, 0xff, (s->n_functions + 1) * sizeof(*functions));
	return functions;
}

/* Use a file of the cache. */
static void take_file(struct answer *a, int fd)
{
	_cleanup_(cleanup_free) uint32_t *functions = NULL;
	size_t at = 0;

	if (fd < 0 || !symbol_cache_read(fd, &a->cache))
		return;
	functions = no_functions(a->cache.symbols);
	for (size_t i = 0; functions && i < a->n; i++) {
		uint64_t offset = offset_of(a->image, a->places[i]);

		while (at < a->cache.n && a->cache.offsets[at] < offset)
			at++;
		if (a->known[i] || at == a->cache.n || a->cache.offsets[at] != offset)
			continue;
		symbols_build_copy(a->build, i, a->cache.symbols, at, functions, NULL);
		a->known[i] = true;
	}
	list_missing(a);
}

/* Have another process look up what is not cached; it may cache the result. */
static void ask_keeper(struct answer *a, const unsigned char *id, size_t len)
{
	const struct profile_mapping *m = a->image->mapping;
	_cleanup_(cleanup_free) uint64_t *offsets = calloc(a->n_missing, sizeof(*offsets));
	const struct errand_places places = {
		.path = m->path,
		.build_id = id,
		.build_id_len = len,
		.offsets = offsets,
		.n = a->n_missing,
	};
	struct errand_found found;

	if (!offsets || a->n_missing > ERRAND_PLACES_MAX || a->image->root)
		return;
	for (size_t i = 0; i < a->n_missing; i++) {
		offsets[i] = offset_of(a->image, a->missing[i]);
		if (i && offsets[i] <= offsets[i - 1])
			return;
	}
	errand_look_up(&places, &found);
	if (found.fd < 0)
		return;
	symbol_cache_fini(&a->cache);
	take_file(a, found.fd);
	a->image->split = found.split;
	memcpy(a->image->lacks, found.lacks, sizeof(found.lacks));
	close(found.fd);
}

static void take_cached(struct answer *a, const unsigned char *id, size_t len)
{
	_cleanup_(cleanup_close) int fd = -1;

	if (!a->image->use_cache || !len)
		return;
	fd = confined_inside() ? errand_names(id, len) : symbol_cache_open(id, len);
	take_file(a, fd);
	if (a->n_missing && !a->image->keeper && confined_inside())
		ask_keeper(a, id, len);
}

/* Merge new and known names. */
static struct profile_symbols *merge(const struct answer *a, const struct profile_symbols *found,
				     uint64_t *offsets, size_t n)
{
	_cleanup_(symbols_build_close) struct symbols_build *b = symbols_build_new(n);
	_cleanup_(cleanup_free) uint32_t *old = NULL, *new = no_functions(found);
	size_t cached = 0, fresh = 0;

	if (a->cache.n)
		old = no_functions(a->cache.symbols);
	if (!b || !new || (a->cache.n && !old))
		return NULL;
	for (size_t i = 0; i < n; i++) {
		uint64_t next =
			fresh < a->n_missing ? offset_of(a->image, a->missing[fresh]) : UINT64_MAX;

		if (cached < a->cache.n && a->cache.offsets[cached] < next) {
			offsets[i] = a->cache.offsets[cached];
			symbols_build_copy(b, i, a->cache.symbols, cached++, old, NULL);
		} else {
			offsets[i] = next;
			symbols_build_copy(b, i, found, fresh++, new, NULL);
		}
	}
	return symbols_build_take(b);
}

/* Cached names are used for every file with that build ID. */
static void keep(const struct answer *a, const struct profile_symbols *found)
{
	_cleanup_(cleanup_close) int fd = -1;
	struct err ignored;
	uint64_t bytes;

	struct symbol_cache cache = { .n = a->cache.n + a->n_missing };

	if (cache.n > CACHED_PLACES_MAX)
		return;
	cache.offsets = calloc(cache.n + 1, sizeof(*cache.offsets));
	if (cache.offsets)
		cache.symbols = merge(a, found, cache.offsets, cache.n);
	if (cache.symbols && !memory_file_make(&fd, &ignored) &&
	    symbol_cache_write(fd, &cache, &bytes))
		a->image->kept = take_fd(fd);
	symbol_cache_fini(&cache);
}

/* --- one image --- */

static int read_names(struct reading *r, const uint64_t *addrs, size_t n,
		      struct profile_symbols **found, struct err *err)
{
	_cleanup_(symbols_lookup_close) struct symbols_lookup *lookup =
		symbols_lookup_new(addrs, n);
	struct frames frames = { .reading = r, .places = addrs, .n = n };
	struct err *server = server_of(r);
	bool has_table, any = r->image->result == SYMBOLIZE_FOUND;

	if (!lookup)
		return err_no_memory(err);
	r->lookup = lookup;
	/* Its own tables and debug data, and what is missing from other sources. */
	has_table = !image_is_stripped(r->img);
	image_each_symbol(r->img, add_symbol, r);
	read_debug(r, false);
	while (!(has_table && r->has_debug) &&
	       (r->img == r->image->live
			? image_debug_next(r->img, server)
			: image_past_debug(r->img, r->image->mapping->start, server))) {
		any = has_table = true;
		image_each_symbol(r->img, add_symbol, r);
		if (!r->has_debug)
			read_debug(r, true);
	}
	r->image->bare = !has_table && !r->has_debug;
	if (!any)
		return 0;
	r->image->result = SYMBOLIZE_FOUND;
	image_with_elf(r->img, false, read_frames, &frames);
	*found = symbols_lookup_take(lookup, r->img->bias);
	return *found ? 0 : err_no_memory(err);
}

/* Look up the places missing in the cache in the files. */
static int look_up(struct answer *a, struct image *img, struct err *err)
{
	_cleanup_(cleanup_free) uint32_t *functions = NULL;
	struct reading r = { .image = a->image, .img = img };
	struct profile_symbols *found = NULL;
	size_t at = 0;

	if (read_names(&r, a->missing, a->n_missing, &found, err))
		return -1;
	if (found)
		functions = no_functions(found);
	for (size_t i = 0; functions && i < a->n; i++) {
		if (!a->known[i])
			symbols_build_copy(a->build, i, found, at++, functions, NULL);
	}
	profile_symbols_free(found);
	return 0;
}

/* The same on behalf of the cache. */
static int look_up_to_keep(struct answer *a, struct image *img, struct err *err)
{
	_cleanup_(cleanup_free) uint64_t *addrs = calloc(a->n_missing, sizeof(*addrs));
	struct reading r = { .image = a->image, .img = img };
	struct profile_symbols *found = NULL;
	size_t n = 0;

	if (!addrs)
		return err_no_memory(err);
	/*
	 * Reduce `missing` to offsets of code in the file. None if their addresses are not in the
	 * order of the offsets, which no linker produces.
	 */
	if (!image_code_addresses(img, a->missing, a->n_missing, addrs))
		a->n_missing = 0;
	for (size_t i = 0; i < a->n_missing; i++) {
		if (!addrs[i])
			continue;
		a->missing[n] = a->missing[i];
		addrs[n++] = addrs[i];
	}
	a->n_missing = n;
	for (size_t i = 1; i < n; i++)
		if (addrs[i] <= addrs[i - 1])
			a->n_missing = 0;
	if (!a->n_missing)
		return 0;
	if (read_names(&r, addrs, a->n_missing, &found, err))
		return -1;
	/* Without debug data, reading it again is fast, and by then debug data may be available. */
	if (found && r.has_debug)
		keep(a, found);
	profile_symbols_free(found);
	return 0;
}

static int answer_all(struct answer *a, struct err *err)
{
	_cleanup_(images_fini) struct images past = { 0 };
	struct symbolize_image *image = a->image;
	struct image *img = image->live;

	list_missing(a);
	image->result = SYMBOLIZE_FOUND;
	if (image->id.len)
		take_cached(a, image->id.bytes, image->id.len);
	if (!a->n_missing)
		return 0;
	if (!img && find_past(image, &past, err))
		return -1;
	if (!img && past.n)
		img = past.v;
	if (img && !image->id.len && image->result == SYMBOLIZE_FOUND) {
		memcpy(image->file_id.bytes, img->build_id, img->build_id_len);
		image->file_id.len = img->build_id_len;
		take_cached(a, img->build_id, img->build_id_len);
	}
	if (!img || !a->n_missing)
		return 0;
	if (image->keeper)
		return image->result == SYMBOLIZE_FOUND ? look_up_to_keep(a, img, err) : 0;
	return look_up(a, img, err);
}

int symbolize_image(struct symbolize_image *image, const uint64_t *places, size_t n,
		    struct profile_symbols **found, struct err *err)
{
	_cleanup_(answer_fini) struct answer a = { .image = image, .places = places, .n = n };

	a.build = symbols_build_new(n);
	a.known = calloc(n + 1, sizeof(*a.known));
	a.missing = calloc(n + 1, sizeof(*a.missing));
	if (!a.build || !a.known || !a.missing)
		return err_no_memory(err);
	if (answer_all(&a, err))
		return -1;
	*found = symbols_build_take(a.build);
	return *found ? 0 : err_no_memory(err);
}
