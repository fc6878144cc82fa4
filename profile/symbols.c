// SPDX-License-Identifier: Apache-2.0
#include "profile/symbols.h"

#include "base/cleanup.h"
#include "base/hashmap.h"
#include "base/intern.h"
#include "base/text.h"
#include "base/vec.h"
#include "profile/profile.h"

#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool symbols_is_mangled(const char *linkage)
{
	return *linkage == '_' && (linkage[1] == 'Z' || linkage[1] == 'R');
}

/* --- allocators --- */

#define NAME_MAX_LEN 63

/* Sorted. From jeprof(1), RemoveUninterestingFrames(). */
static const char *const names[] = {
	"::do_malloc",
	"::do_malloc_or_cpp_alloc",
	"DoSampledAllocation",
	"__builtin_delete",
	"__builtin_new",
	"__builtin_vec_delete",
	"__builtin_vec_new",
	"__malloc_alloc_template::allocate",
	"__start_google_malloc",
	"__start_malloc_hook",
	"__stop_google_malloc",
	"__stop_malloc_hook",
	"aligned_alloc",
	"calloc",
	"cfree",
	"dallocx",
	"do_malloc",
	"free",
	"malloc",
	"malloc_zone_calloc",
	"malloc_zone_free",
	"malloc_zone_malloc",
	"malloc_zone_memalign",
	"malloc_zone_realloc",
	"malloc_zone_valloc",
	"mallocx",
	"memalign",
	"newImpl",
	"operator new",
	"operator new[]",
	"posix_memalign",
	"pvalloc",
	"rallocx",
	"realloc",
	"sdallocx",
	"sdallocx_noflags",
	"simple_alloc::allocate",
	"tc_calloc",
	"tc_cfree",
	"tc_delete",
	"tc_deletearray",
	"tc_free",
	"tc_malloc",
	"tc_memalign",
	"tc_new",
	"tc_new_nothrow",
	"tc_newarray",
	"tc_newarray_nothrow",
	"tc_posix_memalign",
	"tc_pvalloc",
	"tc_realloc",
	"tc_valloc",
	"valloc",
	"xallocx",
};

#define N_NAMES (sizeof(names) / sizeof(*names))

/* Rust's functions that call its allocator, whichever that is. */
static const char *const rust_names[] = {
	"__rdl_alloc",	"__rdl_alloc_zeroed",  "__rdl_realloc",
	"__rg_alloc",	"__rg_alloc_zeroed",   "__rg_realloc",
	"__rust_alloc", "__rust_alloc_zeroed", "__rust_realloc",
};
#define N_RUST_NAMES (sizeof(rust_names) / sizeof(*rust_names))

/*
 * Between these and the program's calls, newer compilers have a crate, and the library has the
 * module alloc::alloc. The caller that allocates is further out.
 */
static bool is_rust(const char *name)
{
	static const char *const starts[] = { "__rustc::__r",
					      "alloc::alloc::", "<alloc::alloc::Global" };

	for (size_t i = 0; i < sizeof(starts) / sizeof(*starts); i++) {
		if (!strncmp(name, starts[i], strlen(starts[i])))
			return true;
	}
	return *name == '<' && strstr(name, " as core::alloc::global::GlobalAlloc>::");
}

/*
 * Continuations of names after jemalloc's prefix: its public functions, and internal ones that can
 * be the innermost after tail calls or inlining removed the others.
 */
static const char *const inside[] = {
	"aligned_alloc", "arena_", "calloc",	     "ialloc", "imalloc", "iralloc",
	"large_",	 "malloc", "memalign",	     "prof_",  "pvalloc", "rallocx",
	"realloc",	 "tcache", "posix_memalign", "valloc", "xallocx",
};

static int compare(const void *key, const void *entry)
{
	return strcmp(key, *(const char *const *)entry);
}

static bool is_in(const char *const *list, size_t n, const char *name)
{
	return vec_find(name, list, n, compare);
}

/* Prefixes that jemalloc is built with: je_, jet_, _rjem_, _rjem_je_, duckdb_je_ and the like. */
static const char *after_prefix(const char *name)
{
	static const char *const ends[] = { "je_", "jet_", "rjem_" };

	for (size_t i = 0; i < sizeof(ends) / sizeof(*ends); i++) {
		const char *at = strstr(name, ends[i]);

		if (at && (at == name || at[-1] == '_'))
			return at + strlen(ends[i]);
	}
	return NULL;
}

bool symbols_is_jeprof_allocator(const char *name)
{
	return strstr(name, "TCMalloc") || !strncmp(name, "tcmalloc::", 10) ||
	       is_in(names, N_NAMES, name) || (*name == '_' && is_in(names, N_NAMES, name + 1));
}

bool symbols_is_allocator(const char *name)
{
	char bare[NAME_MAX_LEN + 1];
	const char *rest;
	size_t len;

	if (!strncmp(name, "void* newImpl", 13))
		name += 6;
	/* Without arguments and, as in jeprof, without template arguments. */
	len = strcspn(name, "(<");
	if (len > NAME_MAX_LEN)
		len = NAME_MAX_LEN;
	memcpy(bare, name, len);
	bare[len] = '\0';
	if (symbols_is_jeprof_allocator(bare) || is_in(rust_names, N_RUST_NAMES, bare) ||
	    is_rust(name))
		return true;
	rest = after_prefix(bare);
	for (size_t i = 0; rest && i < sizeof(inside) / sizeof(*inside); i++) {
		if (!strncmp(rest, inside[i], strlen(inside[i])))
			return true;
	}
	return false;
}

bool symbols_is_allocator_image(const char *path)
{
	return !strncmp(text_file_name(path), "libjemalloc", 11);
}

#define IMAGE_NAME_MAX 255

/* --- building --- */

struct symbols_build {
	struct profile_symbols *symbols;
	size_t functions_room, lines_room;
	struct hashmap by_name; /* of the functions */
	bool no_memory;
};

struct symbols_build *symbols_build_new(size_t n_addresses)
{
	struct symbols_build *b = calloc(1, sizeof(*b));
	struct profile_symbols *s = calloc(1, sizeof(*s));

	if (b && s) {
		b->symbols = s;
		s->text = intern_new();
		s->n_locations = n_addresses;
		s->locations = calloc(n_addresses + 1, sizeof(*s->locations));
		if (s->text && s->locations)
			return b;
		symbols_build_free(b);
		return NULL;
	}
	free(b);
	free(s);
	return NULL;
}

void symbols_build_free(struct symbols_build *b)
{
	if (!b)
		return;
	profile_symbols_free(b->symbols);
	hashmap_fini(&b->by_name);
	free(b);
}

void symbols_build_close(struct symbols_build **b)
{
	symbols_build_free(*b);
}

void profile_symbols_free(struct profile_symbols *symbols)
{
	if (!symbols)
		return;
	intern_free(symbols->text);
	free(symbols->functions);
	free(symbols->lines);
	free(symbols->locations);
	free(symbols);
}

/* --- functions --- */

struct function_key {
	const struct profile_function *all, *f;
};

/* Names are interned: equal ones are one pointer. */
static bool is_function(const void *ctx, uint32_t i)
{
	const struct function_key *k = ctx;
	const struct profile_function *f = k->f, *g = &k->all[i];

	return g->linkage == f->linkage && g->file == f->file && g->name == f->name &&
	       g->table_file == f->table_file && g->origin == f->origin &&
	       g->origin_at == f->origin_at && g->from_image == f->from_image &&
	       g->known == f->known && g->bare == f->bare && g->allocator == f->allocator;
}

/* False without memory. */
static bool intern(struct symbols_build *b, const struct profile_function *f,
		   struct profile_function *out)
{
	struct intern *text = b->symbols->text;

	*out = *f;
	out->name = intern_add(text, f->name, strlen(f->name));
	out->linkage = f->linkage ? intern_add(text, f->linkage, strlen(f->linkage)) : out->name;
	out->file = f->file ? intern_add(text, f->file, strlen(f->file)) : NULL;
	out->table_file =
		f->table_file ? intern_add(text, f->table_file, strlen(f->table_file)) : NULL;
	out->origin = f->origin ? intern_add(text, f->origin, strlen(f->origin)) : NULL;
	return out->name && out->linkage && (out->file || !f->file) &&
	       (out->origin || !f->origin) && (out->table_file || !f->table_file);
}

uint32_t symbols_build_function(struct symbols_build *b, const struct profile_function *f)
{
	struct profile_symbols *s = b->symbols;
	struct profile_function kept;
	const struct function_key k = { s->functions, &kept };
	uint64_t hash;
	uint32_t at;

	if (!intern(b, f, &kept)) {
		b->no_memory = true;
		return PROFILE_NONE;
	}
	kept.allocator |= kept.known && symbols_is_allocator(kept.name);
	hash = hashmap_hash_u64((uintptr_t)kept.linkage ^ (uint64_t)(uintptr_t)kept.file << 1);
	at = hashmap_find(&b->by_name, hash, is_function, &k);
	if (at != HASHMAP_NONE)
		return at;
	if (s->n_functions >= PROFILE_NONE - 1 ||
	    !vec_grow(s->functions, b->functions_room, s->n_functions) ||
	    !hashmap_add(&b->by_name, hash, (uint32_t)s->n_functions)) {
		b->no_memory = true;
		return PROFILE_NONE;
	}
	s->functions[s->n_functions] = kept;
	return (uint32_t)s->n_functions++;
}

/* --- locations --- */

void symbols_build_location(struct symbols_build *b, size_t address,
			    const struct profile_line *lines, size_t n)
{
	struct profile_symbols *s = b->symbols;
	struct profile_location *location = &s->locations[address];
	size_t first = s->n_lines;

	if (location->n || b->no_memory)
		return;
	for (size_t i = 0; i < n; i++) {
		if (s->n_lines >= PROFILE_NONE - 1 ||
		    !vec_grow(s->lines, b->lines_room, s->n_lines)) {
			b->no_memory = true;
			return;
		}
		s->lines[s->n_lines++] = lines[i];
	}
	location->first = (uint32_t)first;
	location->n = (uint32_t)n;
}

void symbols_build_start(struct symbols_build *b, size_t address, uint64_t start)
{
	b->symbols->locations[address].start = start;
}

void symbols_build_into(struct symbols_build *b, size_t address, uint64_t into)
{
	b->symbols->locations[address].into = into;
}

void symbols_build_copy(struct symbols_build *b, size_t address,
			const struct profile_symbols *other, size_t location, uint32_t *functions,
			const char *image)
{
	const struct profile_location *l = &other->locations[location];
	struct profile_line lines[SYMBOLS_INLINED_MAX];
	uint32_t n = l->n < SYMBOLS_INLINED_MAX ? l->n : SYMBOLS_INLINED_MAX;

	for (uint32_t i = 0; i < n; i++) {
		const struct profile_line *line = &other->lines[l->first + i];
		uint32_t *function = &functions[line->function];

		if (*function == PROFILE_NONE) {
			struct profile_function f = other->functions[line->function];

			if (image && f.from_image)
				f.origin = text_file_name(image);
			f.allocator |= image && symbols_is_allocator_image(image);
			*function = symbols_build_function(b, &f);
		}
		lines[i] = (struct profile_line){ *function, line->line };
	}
	symbols_build_location(b, address, lines, n);
	symbols_build_start(b, address, l->start);
	symbols_build_into(b, address, l->into);
}

struct profile_symbols *symbols_build_take(struct symbols_build *b)
{
	return b->no_memory ? NULL : take_ptr(b->symbols);
}

/* --- functions of one name --- */

#define IDENTITY_MAX 4300

/* Ways to identify a function by its origin, shortest first. */
enum detail { BY_FILE, BY_FILE_AND_LINE, BY_PATH_AND_LINE, DETAILS };

static void identify(const struct profile_function *f, enum detail detail, char out[IDENTITY_MAX])
{
	const char *file = detail == BY_PATH_AND_LINE ? f->origin : text_file_name(f->origin);

	if (detail == BY_FILE)
		snprintf(out, IDENTITY_MAX, "%s", file);
	else
		snprintf(out, IDENTITY_MAX, f->from_image ? "%s:0x%" PRIx64 : "%s:%" PRIu64, file,
			 f->origin_at);
}

static int compare_addresses(const void *a, const void *b)
{
	return ((uintptr_t)a > (uintptr_t)b) - ((uintptr_t)a < (uintptr_t)b);
}

/* Equal texts are one pointer. */
static int compare_origins(const struct profile_function *f, const struct profile_function *g)
{
	if (f->origin != g->origin)
		return compare_addresses(f->origin, g->origin);
	return (f->origin_at > g->origin_at) - (f->origin_at < g->origin_at);
}

static int by_name_and_origin(const void *a, const void *b, void *ctx)
{
	const struct profile_symbols *s = ctx;
	const struct profile_function *f = &s->functions[*(const uint32_t *)a];
	const struct profile_function *g = &s->functions[*(const uint32_t *)b];

	return f->name != g->name ? compare_addresses(f->name, g->name) : compare_origins(f, g);
}

static int by_address(const void *a, const void *b)
{
	return compare_addresses(*(const char *const *)a, *(const char *const *)b);
}

/*
 * Do `n` functions of one name, sorted by origin, differ in this detail? *several: there are at
 * least two. `short_forms` has room for n. Also false without memory, in which case the next
 * intern_add() fails, too.
 */
static bool differ(const struct profile_symbols *s, const uint32_t *same, size_t n,
		   enum detail detail, const char **short_forms, bool *several)
{
	const struct profile_function *last = NULL;
	size_t found = 0;
	bool nameless = false;

	for (size_t i = 0; i < n; i++) {
		const struct profile_function *f = &s->functions[same[i]];
		char buf[IDENTITY_MAX];

		nameless |= !f->origin;
		if (!f->origin || (last && !compare_origins(f, last)))
			continue;
		last = f;
		identify(f, detail, buf);
		short_forms[found++] = intern_add(s->text, buf, strlen(buf));
	}
	*several = found + nameless > 1;
	vec_sort(short_forms, found, by_address);
	for (size_t i = 1; i < found; i++)
		if (short_forms[i] == short_forms[i - 1])
			return false;
	return true;
}

/* False without memory. */
static bool tell_apart(struct profile_symbols *s, const uint32_t *same, size_t n,
		       const char **short_forms)
{
	const struct profile_function *f = &s->functions[*same];
	char identity[IDENTITY_MAX], name[IDENTITY_MAX + 16384];
	enum detail detail = BY_FILE;
	bool several;

	if (n == 1 || !f->known || f->allocator)
		return true;
	while (!differ(s, same, n, detail, short_forms, &several) && detail + 1 < DETAILS)
		detail++;
	for (size_t i = 0; several && i < n; i++) {
		struct profile_function *g = &s->functions[same[i]];
		const char *kept;

		if (!g->origin)
			continue;
		identify(g, detail, identity);
		snprintf(name, sizeof(name), "%s (%s)", g->name, identity);
		kept = intern_add(s->text, name, strlen(name));
		if (!kept)
			return false;
		g->name = kept;
	}
	return true;
}

int profile_symbols_tell_apart(struct profile_symbols *s, struct err *err)
{
	_cleanup_(cleanup_free) uint32_t *order = calloc(s->n_functions + 1, sizeof(*order));
	_cleanup_(cleanup_free) const char **short_forms =
		calloc(s->n_functions + 1, sizeof(*short_forms));
	size_t next;

	if (!order || !short_forms)
		return err_no_memory(err);
	for (size_t i = 0; i < s->n_functions; i++)
		order[i] = (uint32_t)i;
	vec_sort_with(order, s->n_functions, by_name_and_origin, s);
	for (size_t i = 0; i < s->n_functions; i = next) {
		const char *name = s->functions[order[i]].name;

		for (next = i + 1; next < s->n_functions && s->functions[order[next]].name == name;
		     next++)
			;
		if (!tell_apart(s, order + i, next - i, short_forms))
			return err_no_memory(err);
	}
	return 0;
}

/* --- made-up names --- */

static void name_unknown(struct symbols_build *b, const struct profile *p, size_t address)
{
	const struct profile_address *a = &p->addresses[address];
	struct profile_line line = { 0 };
	char name[IMAGE_NAME_MAX + 32];
	struct profile_function f = { .name = name };

	if (a->mapping == PROFILE_NONE) {
		snprintf(name, sizeof(name), "[0x%" PRIx64 "]", a->pc);
	} else {
		const struct profile_mapping *m = &p->mappings[a->mapping];
		const char *image = text_file_name(m->path);
		size_t len = strlen(image);
		uint64_t into = b->symbols->locations[address].into;
		uint64_t offset = a->pc - m->start + m->offset;

		/* "[vdso]" already has brackets. */
		if (len > 2 && *image == '[' && image[len - 1] == ']') {
			image++;
			len -= 2;
		}
		/* The offset of its function, or of the return address if that is not known. */
		if (into && into < offset)
			offset -= 1 + into;
		snprintf(name, sizeof(name), "[%.*s+0x%" PRIx64 "]",
			 (int)(len < IMAGE_NAME_MAX ? len : IMAGE_NAME_MAX), image, offset);
		f.allocator = symbols_is_allocator_image(m->path);
	}
	line.function = symbols_build_function(b, &f);
	symbols_build_location(b, address, &line, 1);
}

int symbols_build_finish(struct symbols_build *b, struct profile *p, struct err *err)
{
	for (size_t i = 0; i < p->n_addresses && !b->no_memory; i++) {
		if (!b->symbols->locations[i].n)
			name_unknown(b, p, i);
	}
	if (b->no_memory)
		return err_no_memory(err);
	profile_symbols_free(p->symbols);
	p->symbols = take_ptr(b->symbols);
	return 0;
}

int profile_symbols_none(struct profile *p, struct err *err)
{
	_cleanup_(symbols_build_close) struct symbols_build *b = symbols_build_new(p->n_addresses);

	if (!b)
		return err_no_memory(err);
	return symbols_build_finish(b, p, err);
}
