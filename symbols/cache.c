// SPDX-License-Identifier: Apache-2.0
#include "symbols/cache.h"

#include "base/cleanup.h"
#include "base/private.h"
#include "base/vec.h"
#include "base/write.h"
#include "elf/image.h"
#include "io/output.h"
#include "profile/symbols.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <lzma.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* --- a file --- */

/*
 * A header, followed by offsets, lines, functions and text, in the byte order of the machine, since
 * the file is for local use.
 */

#define MAGIC "jcsyms8\n" /* tests/fuzz/seeds has such a file as well */
#define NO_TEXT UINT32_MAX

struct header {
	char magic[8];
	uint32_t n_places, n_lines, n_functions, text_len;
	uint32_t crc; /* of everything that follows */
	uint32_t unused;
};

struct file_place {
	uint64_t offset, start, into;
	uint32_t first, n;
};

struct file_function {
	uint32_t name, linkage, file, table_file, origin; /* offsets in the text; NO_TEXT: none */
	uint32_t flags;
	uint64_t origin_at;
};
#define KNOWN 1u
#define BARE 2u
#define FROM_IMAGE 4u

struct view {
	const struct header *header;
	const struct file_place *places;
	const struct profile_line *lines;
	const struct file_function *functions;
	const char *text;
};

_Static_assert(sizeof(struct header) % 8 == 0, "places are aligned");
_Static_assert(sizeof(struct profile_line) == 8, "functions are aligned");

/* --- reading --- */

/* Find the parts; false if their sizes or the checksum do not match. */
static bool view_of(const char *bytes, size_t len, struct view *v)
{
	const struct header *h = (const void *)bytes;
	uint64_t want;

	if (len < sizeof(*h) || memcmp(h->magic, MAGIC, sizeof(h->magic)) != 0)
		return false;
	want = sizeof(*h) + (uint64_t)h->n_places * sizeof(*v->places) +
	       (uint64_t)h->n_lines * sizeof(*v->lines) +
	       (uint64_t)h->n_functions * sizeof(*v->functions) + h->text_len;
	if (want != len || lzma_crc32((const uint8_t *)(h + 1), len - sizeof(*h), 0) != h->crc)
		return false;
	v->header = h;
	v->places = (const void *)(h + 1);
	v->lines = (const void *)(v->places + h->n_places);
	v->functions = (const void *)(v->lines + h->n_lines);
	v->text = (const char *)(v->functions + h->n_functions);
	return !h->text_len || !v->text[h->text_len - 1];
}

static bool is_sane(const struct view *v)
{
	uint32_t len = v->header->text_len;

	for (uint32_t i = 0; i < v->header->n_functions; i++) {
		const struct file_function *f = &v->functions[i];

		if (f->name >= len || f->linkage >= len || (f->file >= len && f->file != NO_TEXT) ||
		    (f->table_file >= len && f->table_file != NO_TEXT) ||
		    (f->origin >= len && f->origin != NO_TEXT))
			return false;
	}
	for (uint32_t i = 0; i < v->header->n_lines; i++) {
		if (v->lines[i].function >= v->header->n_functions)
			return false;
	}
	for (uint32_t i = 0; i < v->header->n_places; i++) {
		const struct file_place *p = &v->places[i];

		if ((i && p->offset <= p[-1].offset) || p->first > v->header->n_lines ||
		    p->n > v->header->n_lines - p->first)
			return false;
	}
	return true;
}

static struct profile_symbols *build(const struct view *v)
{
	_cleanup_(symbols_build_close) struct symbols_build *b =
		symbols_build_new(v->header->n_places);
	_cleanup_(cleanup_free) uint32_t *functions =
		calloc((size_t)v->header->n_functions + 1, sizeof(*functions));

	if (!b || !functions)
		return NULL;
	for (uint32_t i = 0; i < v->header->n_functions; i++) {
		const struct file_function *f = &v->functions[i];
		const struct profile_function function = {
			.name = v->text + f->name,
			.linkage = v->text + f->linkage,
			.file = f->file == NO_TEXT ? NULL : v->text + f->file,
			.table_file = f->table_file == NO_TEXT ? NULL : v->text + f->table_file,
			.origin = f->origin == NO_TEXT ? NULL : v->text + f->origin,
			.origin_at = f->origin_at,
			.from_image = f->flags & FROM_IMAGE,
			.known = f->flags & KNOWN,
			.bare = f->flags & BARE,
		};

		functions[i] = symbols_build_function(b, &function);
	}
	for (uint32_t i = 0; i < v->header->n_places; i++) {
		const struct file_place *p = &v->places[i];
		struct profile_line lines[SYMBOLS_INLINED_MAX];
		uint32_t n = p->n < SYMBOLS_INLINED_MAX ? p->n : SYMBOLS_INLINED_MAX;

		for (uint32_t k = 0; k < n; k++) {
			lines[k] = v->lines[p->first + k];
			lines[k].function = functions[lines[k].function];
		}
		symbols_build_location(b, i, lines, n);
		symbols_build_start(b, i, p->start);
		symbols_build_into(b, i, p->into);
	}
	return symbols_build_take(b);
}

bool symbol_cache_read(int fd, struct symbol_cache *out)
{
	_cleanup_(cleanup_free) char *bytes = NULL;
	struct symbol_cache got = { 0 };
	struct stat st;
	struct view v;
	size_t len;

	if (fstat(fd, &st) || st.st_size <= 0 || st.st_size > SYMBOL_CACHE_FILE_MAX)
		return false;
	len = (size_t)st.st_size;
	bytes = malloc(len);
	if (!bytes || pread(fd, bytes, len, 0) != (ssize_t)len || !view_of(bytes, len, &v) ||
	    !is_sane(&v))
		return false;
	got.n = v.header->n_places;
	got.offsets = calloc(got.n + 1, sizeof(*got.offsets));
	for (size_t i = 0; got.offsets && i < got.n; i++)
		got.offsets[i] = v.places[i].offset;
	got.symbols = build(&v);
	if (!got.offsets || !got.symbols) {
		symbol_cache_fini(&got);
		return false;
	}
	*out = got;
	return true;
}

/* --- writing --- */

static bool put_text(FILE *text, const char *s, uint32_t *at)
{
	long where = ftell(text);

	if (where < 0 || where > SYMBOL_CACHE_FILE_MAX)
		return false;
	*at = (uint32_t)where;
	return fwrite(s, strlen(s) + 1, 1, text) == 1;
}

struct last {
	const char *s;
	uint32_t at;
};

/* Equal names are the same pointer: most files are that of the previous function. */
static bool put_file(FILE *text, const char *s, struct last *last, uint32_t *at)
{
	*at = NO_TEXT;
	if (!s)
		return true;
	if (s != last->s && !put_text(text, s, &last->at))
		return false;
	last->s = s;
	*at = last->at;
	return true;
}

static bool put_functions(FILE *f, FILE *text, const struct profile_symbols *s)
{
	struct last file = { 0 }, table_file = { 0 }, origin = { 0 };

	for (size_t i = 0; i < s->n_functions; i++) {
		const struct profile_function *from = &s->functions[i];
		struct file_function to = {
			.flags = (from->known ? KNOWN : 0) | (from->bare ? BARE : 0) |
				 (from->from_image ? FROM_IMAGE : 0),
			.origin_at = from->origin_at,
		};

		if (!put_text(text, from->name, &to.name))
			return false;
		to.linkage = to.name;
		if (from->linkage != from->name && !put_text(text, from->linkage, &to.linkage))
			return false;
		if (!put_file(text, from->file, &file, &to.file) ||
		    !put_file(text, from->table_file, &table_file, &to.table_file) ||
		    !put_file(text, from->origin, &origin, &to.origin))
			return false;
		if (fwrite(&to, sizeof(to), 1, f) != 1)
			return false;
	}
	return true;
}

static bool put_places(FILE *f, const struct symbol_cache *cache)
{
	for (size_t i = 0; i < cache->n; i++) {
		const struct profile_location *l = &cache->symbols->locations[i];
		const struct file_place p = { cache->offsets[i], l->start, l->into, l->first,
					      l->n };

		if (fwrite(&p, sizeof(p), 1, f) != 1)
			return false;
	}
	return !cache->symbols->n_lines ||
	       fwrite(cache->symbols->lines, sizeof(struct profile_line), cache->symbols->n_lines,
		      f) == cache->symbols->n_lines;
}

bool symbol_cache_write(int fd, const struct symbol_cache *cache, uint64_t *bytes)
{
	_cleanup_(cleanup_free) char *body = NULL, *text = NULL;
	struct header h = { .magic = MAGIC };
	size_t len = 0, text_len = 0;
	/* The text, which comes last, is collected in parallel. */
	FILE *f = open_memstream(&body, &len), *t = open_memstream(&text, &text_len);
	bool ok = f && t && put_places(f, cache) && put_functions(f, t, cache->symbols);

	if (t)
		ok = !fclose(t) && ok;
	ok = ok && (!text_len || fwrite(text, text_len, 1, f) == 1);
	if (f)
		ok = !fclose(f) && ok;
	if (!ok || len > SYMBOL_CACHE_FILE_MAX - sizeof(h))
		return false;
	h.n_places = (uint32_t)cache->n;
	h.n_lines = (uint32_t)cache->symbols->n_lines;
	h.n_functions = (uint32_t)cache->symbols->n_functions;
	h.text_len = (uint32_t)text_len;
	h.crc = lzma_crc32((const uint8_t *)body, len, 0);
	*bytes = sizeof(h) + len;
	return write_all(fd, &h, sizeof(h)) && write_all(fd, body, len);
}

void symbol_cache_fini(struct symbol_cache *cache)
{
	free(cache->offsets);
	profile_symbols_free(cache->symbols);
	*cache = (struct symbol_cache){ 0 };
}

/* --- the directory --- */

#define SUFFIX ".symbols"
#define FILES_MAX 65536

static bool folder_path(char path[PATH_MAX])
{
	const char *xdg = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
	int len;

	if (geteuid() == 0)
		len = snprintf(path, PATH_MAX, "/var/cache/jeprof-ctl");
	else if (xdg && *xdg == '/')
		len = snprintf(path, PATH_MAX, "%s/jeprof-ctl", xdg);
	else if (home && *home == '/')
		len = snprintf(path, PATH_MAX, "%s/.cache/jeprof-ctl", home);
	else
		return false;
	return len < PATH_MAX - NAME_MAX;
}

/* No other user may write there, or read the function names of this user's programs. */
static bool is_ours(int fd, mode_t type)
{
	struct stat st;

	return !fstat(fd, &st) && (st.st_mode & S_IFMT) == type && st.st_uid == geteuid() &&
	       !(st.st_mode & 077);
}

static int open_folder(const char *path)
{
	_cleanup_(cleanup_close) int dir =
		open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	return dir >= 0 && is_ours(dir, S_IFDIR) ? take_fd(dir) : -1;
}

/* False for an invalid build ID. */
static bool file_name(const unsigned char *build_id, size_t len, char name[NAME_MAX])
{
	if (len < 2 || len > IMAGE_BUILD_ID_MAX)
		return false;
	for (size_t i = 0; i < len; i++)
		snprintf(name + 2 * i, 3, "%02x", build_id[i]);
	strcpy(name + 2 * len, SUFFIX);
	return true;
}

/* --- its size --- */

struct kept {
	char name[NAME_MAX + 1];
	uint64_t bytes;
	struct timespec used;
};

static int by_use(const void *a, const void *b)
{
	const struct kept *x = a, *y = b;

	if (x->used.tv_sec != y->used.tv_sec)
		return x->used.tv_sec < y->used.tv_sec ? -1 : 1;
	return (x->used.tv_nsec > y->used.tv_nsec) - (x->used.tv_nsec < y->used.tv_nsec);
}

static void bound_size(int folder)
{
	_cleanup_(cleanup_free) struct kept *all = calloc(FILES_MAX, sizeof(*all));
	_cleanup_(cleanup_close) int fd = dup(folder);
	_cleanup_(cleanup_closedir) DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *entry;
	uint64_t total = 0;
	size_t n = 0;

	if (dir)
		fd = -1;
	while (all && dir && n < FILES_MAX && (entry = readdir(dir))) {
		size_t len = strlen(entry->d_name), tail = strlen(SUFFIX);
		struct stat st;

		if (len <= tail || strcmp(entry->d_name + len - tail, SUFFIX) != 0 ||
		    fstatat(folder, entry->d_name, &st, AT_SYMLINK_NOFOLLOW))
			continue;
		strcpy(all[n].name, entry->d_name);
		all[n].bytes = (uint64_t)st.st_size;
		all[n++].used = st.st_mtim;
		total += (uint64_t)st.st_size;
	}
	if (total <= SYMBOL_CACHE_BYTES_MAX)
		return;
	/* Remove the least recently used files until the total is below the limit. */
	vec_sort(all, n, by_use);
	for (size_t i = 0; i + 1 < n && total > SYMBOL_CACHE_BYTES_MAX; i++) {
		unlinkat(folder, all[i].name, 0);
		total -= all[i].bytes;
	}
}

/* --- one file --- */

int symbol_cache_open(const unsigned char *build_id, size_t len)
{
	static const struct timespec now[2] = { { 0, UTIME_NOW }, { 0, UTIME_NOW } };
	char path[PATH_MAX], name[NAME_MAX];
	_cleanup_(cleanup_close) int dir = -1;
	_cleanup_(cleanup_close) int fd = -1;

	if (!file_name(build_id, len, name) || !folder_path(path))
		return -1;
	dir = open_folder(path);
	if (dir < 0)
		return -1;
	fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0 || !is_ours(fd, S_IFREG))
		return -1;
	futimens(fd, now);
	return take_fd(fd);
}

void symbol_cache_store(const unsigned char *build_id, size_t len, int fd, uint64_t bytes)
{
	_cleanup_(output_close) struct output output = OUTPUT_INIT;
	char path[PATH_MAX], name[NAME_MAX];
	_cleanup_(cleanup_close) int dir = -1;
	struct err ignored;

	if (!file_name(build_id, len, name) || !folder_path(path) || !private_make(path))
		return;
	dir = open_folder(path);
	if (dir < 0)
		return;
	strcat(strcat(path, "/"), name);
	if (!output_open(&output, path, true, &ignored) &&
	    !output_commit(&output, fd, bytes, 0, &ignored))
		bound_size(dir);
}
