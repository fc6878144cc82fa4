// SPDX-License-Identifier: Apache-2.0

#include "profile/regroup.h"

#include "base/cleanup.h"
#include "base/hashmap.h"
#include "base/intern.h"
#include "base/vec.h"
#include "profile/symbols.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define NAME_SIZE 16384

/* The same lines, with each function replaced by that of its group. */
static void regroup_address(struct symbols_build *b, const struct profile *p, size_t address,
			    enum profile_grain grain)
{
	const struct profile_symbols *s = p->symbols;
	const struct profile_location *at = &s->locations[address];
	struct profile_line lines[SYMBOLS_INLINED_MAX];
	uint32_t n = at->n < SYMBOLS_INLINED_MAX ? at->n : SYMBOLS_INLINED_MAX;

	for (uint32_t i = 0; i < n; i++) {
		const struct profile_line *line = &s->lines[at->first + i];
		const struct profile_function *f = &s->functions[line->function];
		char name[NAME_SIZE], place[4200], hex[32];
		struct profile_function g = { .name = name, .allocator = f->allocator };

		/* Not cleared completely, as this runs for every call at every address. */
		*place = *hex = '\0';
		g.known = f->known && grain == PROFILE_BY_FUNCTION;
		if (f->file && line->line)
			snprintf(place, sizeof(place), " %s:%u", f->file, line->line);
		else if (f->file)
			snprintf(place, sizeof(place), " %s", f->file);
		if (grain == PROFILE_BY_ADDRESS)
			snprintf(hex, sizeof(hex), "0x%" PRIx64 " ", p->addresses[address].pc - 1);
		if (grain == PROFILE_BY_FILE)
			snprintf(name, NAME_SIZE, "%s", f->file ? f->file : f->name);
		else
			snprintf(name, NAME_SIZE, "%s%.8192s%s", hex, f->name,
				 grain == PROFILE_BY_FUNCTION ? "" : place);
		lines[i] = (struct profile_line){ .function = symbols_build_function(b, &g) };
	}
	symbols_build_location(b, address, lines, n);
}

int profile_regroup(struct profile *profile, enum profile_grain grain, struct err *err)
{
	_cleanup_(symbols_build_close) struct symbols_build *b =
		symbols_build_new(profile->n_addresses);

	if (!b)
		return err_no_memory(err);
	for (size_t i = 0; i < profile->n_addresses; i++)
		regroup_address(b, profile, i, grain);
	return symbols_build_finish(b, profile, err);
}

/* --- jeprof's names --- */

/* Names as in jeprof(1) of jemalloc 5.3.0, whose subroutines are named below. */

#define JEPROF_NAME_SIZE 8192
#define SHOWN_SIZE (JEPROF_NAME_SIZE + 64)

/* Drop "(...)" and a following " const", or "<...>", innermost first, until none is left. */
static void drop_pairs(char *s, char open, char close)
{
	for (;;) {
		char *to, *from = strchr(s, close);

		/* The first closing bracket and the last opening one before it are a pair. */
		while (from && !(to = memrchr(s, open, (size_t)(from - s))))
			from = strchr(from + 1, close);
		if (!from)
			return;
		from++;
		if (open == '(') {
			size_t blanks = strspn(from, " \t");

			if (!strncmp(from + blanks, "const", 5))
				from += blanks + 5;
		}
		memmove(to, from, strlen(from) + 1);
	}
}

/* ShortFunctionName(). */
static void shorten(const char *name, char out[JEPROF_NAME_SIZE])
{
	size_t len;

	snprintf(out, JEPROF_NAME_SIZE, "%s", name);
	drop_pairs(out, '(', ')');
	drop_pairs(out, '<', '>');
	/* Drop the type before the last "name::" that follows a blank. */
	len = strlen(out);
	for (size_t i = len; i-- > 0;) {
		size_t end = i + 1;

		while (out[i] == ' ' && (isalnum((unsigned char)out[end]) || out[end] == '_'))
			end++;
		if (end > i + 1 && out[end] == ':' && out[end + 1] == ':') {
			memmove(out, out + i + 1, len - i);
			return;
		}
	}
}

/*
 * The name of a function's symbol as shown by nm -C: compilers append ".part.0" and the like to the
 * names of parts of functions.
 */
static void symbol_name(const struct profile_function *f, char out[JEPROF_NAME_SIZE])
{
	const char *dot = strchr(f->linkage, '.');

	if (f->linkage == f->name || strncmp(f->linkage, "_Z", 2) != 0)
		snprintf(out, JEPROF_NAME_SIZE, "%s", f->linkage);
	else if (dot && !strstr(f->name, "[clone"))
		snprintf(out, JEPROF_NAME_SIZE, "%s [clone %s]", f->name, dot);
	else
		snprintf(out, JEPROF_NAME_SIZE, "%s", f->name);
}

/* A function as jeprof sees it: MapToSymbols(). */
struct view {
	char short_name[JEPROF_NAME_SIZE];
	bool has_start; /* nm's symbol name replaced that of addr2line */
};

/* For names that are not mangled, jeprof omits the scope. */
static const char *name_as_found(const struct profile_function *f)
{
	return symbols_is_mangled(f->linkage) ? f->name : f->linkage;
}

/* The source of addr2line(1)'s name. */
enum source {
	FROM_SYMBOL,
	FROM_DWARF, /* does not distinguish parts of a function */
	FROM_DWARF_BARE,
};

static void view(const struct profile_function *f, enum source source, const char *symbol,
		 uint64_t start, struct view *v)
{
	char *clone, *bare;

	shorten(name_as_found(f), v->short_name);
	clone = source != FROM_SYMBOL ? strstr(v->short_name, " [clone ") : NULL;
	if (clone)
		*clone = '\0';
	/* The DWARF name of a function without a linkage name has no scope. */
	bare = v->short_name + (source == FROM_DWARF_BARE ? strlen(v->short_name) : 0);
	while (bare > v->short_name + 1 && strncmp(bare - 2, "::", 2) != 0)
		bare--;
	if (bare > v->short_name + 1)
		memmove(v->short_name, bare, strlen(bare) + 1);
	v->has_start = start && !strncmp(symbol, v->short_name, strlen(v->short_name));
	if (v->has_start)
		shorten(symbol, v->short_name);
}

static enum source source_of(const struct profile_function *f, bool bare)
{
	if (bare)
		return FROM_DWARF_BARE;
	return f->file && !f->bare ? FROM_DWARF : FROM_SYMBOL;
}

/* --- names that two functions share: FillFullnameToShortnameMap() --- */

struct shared {
	struct intern *text;
	struct shared_name {
		const char *full; /* the first function that had it: symbol and start */
		bool twice;
	} * names;
	size_t n_names, names_room;
	struct hashmap by_name; /* of names; the key is the interned short name */
	struct hashmap asked;	/* inlined calls, see is_misnamed() */
	struct hashmap direct;	/* functions, see is_bare() */
	bool no_memory;
};

static void note(struct shared *sh, const struct view *v, const char *symbol, uint64_t start)
{
	char full[SHOWN_SIZE];
	const char *name, *kept;
	uint32_t at;

	snprintf(full, sizeof(full), "%s<%" PRIx64, symbol, start);
	name = intern_add(sh->text, v->short_name, strlen(v->short_name));
	kept = intern_add(sh->text, full, strlen(full));
	if (!name || !kept) {
		sh->no_memory = true;
		return;
	}
	at = hashmap_get(&sh->by_name, (uintptr_t)name);
	if (at != HASHMAP_NONE) {
		sh->names[at].twice |= sh->names[at].full != kept;
		return;
	}
	if (!vec_grow(sh->names, sh->names_room, sh->n_names) ||
	    !hashmap_put(&sh->by_name, (uintptr_t)name, (uint32_t)sh->n_names)) {
		sh->no_memory = true;
		return;
	}
	sh->names[sh->n_names++] = (struct shared_name){ .full = kept };
}

static const struct profile_function *outermost(const struct profile *p, size_t address)
{
	const struct profile_location *at = &p->symbols->locations[address];

	return &p->symbols->functions[p->symbols->lines[at->first + at->n - 1].function];
}

static void close_shared(struct shared *sh)
{
	intern_free(sh->text);
	free(sh->names);
	hashmap_fini(&sh->by_name);
	hashmap_fini(&sh->asked);
	hashmap_fini(&sh->direct);
}

static int find_shared(struct shared *sh, const struct profile *p, struct err *err)
{
	sh->text = intern_new();
	sh->no_memory = !sh->text;
	for (size_t i = 0; !sh->no_memory && i < p->n_addresses; i++) {
		const struct profile_function *f = outermost(p, i);
		uint64_t start = p->symbols->locations[i].start;
		char symbol[JEPROF_NAME_SIZE];
		struct view v;

		symbol_name(f, symbol);
		view(f, source_of(f, false), symbol, start, &v);
		if (v.has_start)
			note(sh, &v, symbol, start);
	}
	return sh->no_memory ? err_no_memory(err) : 0;
}

/* --- the new names --- */

/*
 * For the first address within an inlined call, addr2line(1) names the symbol instead of the
 * function that was inlined, if that has no linkage name (binutils 2.40,
 * _bfd_dwarf2_find_nearest_line()). The same calls around it identify the same place.
 */
static bool is_misnamed(struct shared *sh, const struct profile_symbols *s,
			const struct profile_location *at)
{
	const struct profile_line *lines = s->lines + at->first;
	const struct profile_function *f = &s->functions[lines[0].function];
	/* The lines may be in several files: only the name identifies the function. */
	uint64_t key = at->start ^ (uintptr_t)f->linkage;

	if (at->n < 2 || !at->start || !f->bare)
		return false;
	for (uint32_t i = 1; i < at->n; i++) {
		key = (key ^ lines[i].function) * UINT64_C(0x9e3779b97f4a7c15);
		key = (key ^ key >> 32 ^ lines[i].line) * UINT64_C(0x9e3779b97f4a7c15);
	}
	if (hashmap_get(&sh->asked, key) != HASHMAP_NONE)
		return false;
	sh->no_memory |= !hashmap_put(&sh->asked, key, 0);
	return true;
}

/*
 * If a function has no linkage name in DWARF, addr2line(1) uses the symbol's name once it has been
 * asked for an address without inlined calls; until then, only the bare name.
 */
static bool is_bare(struct shared *sh, const struct profile_symbols *s,
		    const struct profile_location *at)
{
	const struct profile_function *f = &s->functions[s->lines[at->first + at->n - 1].function];
	bool direct = hashmap_get(&sh->direct, at->start) != HASHMAP_NONE;

	if (!f->bare || direct)
		return false;
	if (at->n == 1)
		sh->no_memory |= !hashmap_put(&sh->direct, at->start, 0);
	return at->n > 1;
}

/* Filters see `name`; `linkage` is shown. */
static void name_address(struct symbols_build *b, struct shared *sh, const struct profile *p,
			 size_t address)
{
	const struct profile_symbols *s = p->symbols;
	const struct profile_location *at = &s->locations[address];
	uint32_t n = at->n < SYMBOLS_INLINED_MAX ? at->n : SYMBOLS_INLINED_MAX;
	struct profile_line lines[SYMBOLS_INLINED_MAX];
	char symbol[JEPROF_NAME_SIZE], shown[SHOWN_SIZE];
	bool allocator = false, misnamed = is_misnamed(sh, s, at), bare = is_bare(sh, s, at);
	struct view v;

	symbol_name(outermost(p, address), symbol);
	for (uint32_t i = n; i-- > 0;) {
		const struct profile_line *line = &s->lines[at->first + i];
		struct profile_function f = s->functions[line->function];
		const char *name;
		uint32_t same;

		if (i == 0 && misnamed)
			view(outermost(p, address), FROM_SYMBOL, symbol, at->start, &v);
		else
			view(&f, source_of(&f, bare && i == n - 1), symbol, at->start, &v);
		/* jeprof names jemalloc code that has no name, and shows it. */
		if (i == n - 1)
			allocator =
				f.known ? symbols_is_jeprof_allocator(v.short_name) : f.allocator;
		snprintf(shown, sizeof(shown), "%s", v.short_name);
		name = intern_add(sh->text, v.short_name, strlen(v.short_name));
		same = name && v.has_start ? hashmap_get(&sh->by_name, (uintptr_t)name)
					   : HASHMAP_NONE;
		if (same != HASHMAP_NONE && sh->names[same].twice)
			snprintf(shown, sizeof(shown), "%s@%" PRIx64, v.short_name, at->start);
		f.name = v.short_name;
		f.linkage = shown;
		f.known = false;
		f.allocator = allocator;
		lines[i].line = line->line;
		lines[i].function = symbols_build_function(b, &f);
	}
	symbols_build_location(b, address, lines, n);
}

/* The order in which jeprof asks. */
static int by_pc(const void *a, const void *b, void *addresses)
{
	const struct profile_address *all = addresses;
	uint64_t x = all[*(const uint32_t *)a].pc, y = all[*(const uint32_t *)b].pc;

	return x < y ? -1 : x > y;
}

int profile_names_jeprof(struct profile *profile, struct err *err)
{
	_cleanup_(cleanup_free) uint32_t *order = NULL;
	_cleanup_(symbols_build_close) struct symbols_build *b =
		symbols_build_new(profile->n_addresses);
	_cleanup_(close_shared) struct shared sh = { 0 };

	if (!b)
		return err_no_memory(err);
	order = calloc(profile->n_addresses + 1, sizeof(*order));
	if (!order || find_shared(&sh, profile, err))
		return err_no_memory(err);
	for (size_t i = 0; i < profile->n_addresses; i++)
		order[i] = (uint32_t)i;
	vec_sort_with(order, profile->n_addresses, by_pc, profile->addresses);
	for (size_t i = 0; i < profile->n_addresses; i++)
		name_address(b, &sh, profile, order[i]);
	if (sh.no_memory)
		return err_no_memory(err);
	return symbols_build_finish(b, profile, err);
}

/* TranslateStack(). */
static void shown_name(const struct profile *p, size_t address, uint32_t i,
		       enum profile_grain grain, char out[2 * SHOWN_SIZE])
{
	const struct profile_location *at = &p->symbols->locations[address];
	const struct profile_line *line = &p->symbols->lines[at->first + i];
	const struct profile_function *f = &p->symbols->functions[line->function];
	const char *inlined = i + 1 < at->n ? " (inline)" : "";
	char place[4200];

	/* "file:line" as in addr2line(1). */
	if (f->file && line->line)
		snprintf(place, sizeof(place), "%s:%u", f->file, line->line);
	else
		snprintf(place, sizeof(place), "%s:?",
			 f->file	 ? f->file
			 : f->table_file ? f->table_file
					 : "??");
	if (grain == PROFILE_BY_ADDRESS)
		snprintf(out, 2 * SHOWN_SIZE, "%016" PRIx64 " %s%s %s",
			 p->addresses[address].pc - 1, f->linkage, inlined, place);
	else if (grain == PROFILE_BY_LINE)
		snprintf(out, 2 * SHOWN_SIZE, "%s%s %s", f->linkage, inlined, place);
	else if (grain == PROFILE_BY_FILE)
		snprintf(out, 2 * SHOWN_SIZE, "%s", f->file && line->line ? f->file : place);
	else
		snprintf(out, 2 * SHOWN_SIZE, "%s%s", f->linkage, inlined);
}

int profile_regroup_jeprof(struct profile *profile, enum profile_grain grain, struct err *err)
{
	_cleanup_(symbols_build_close) struct symbols_build *b =
		symbols_build_new(profile->n_addresses);

	if (!b)
		return err_no_memory(err);
	for (size_t i = 0; i < profile->n_addresses; i++) {
		const struct profile_location *at = &profile->symbols->locations[i];
		struct profile_line lines[SYMBOLS_INLINED_MAX];
		uint32_t n = at->n < SYMBOLS_INLINED_MAX ? at->n : SYMBOLS_INLINED_MAX;

		for (uint32_t j = 0; j < n; j++) {
			const struct profile_line *line = &profile->symbols->lines[at->first + j];
			char name[2 * SHOWN_SIZE];
			struct profile_function g = { .name = name };

			g.allocator = profile->symbols->functions[line->function].allocator;
			shown_name(profile, i, j, grain, name);
			lines[j] =
				(struct profile_line){ .function = symbols_build_function(b, &g) };
		}
		symbols_build_location(b, i, lines, n);
	}
	return symbols_build_finish(b, profile, err);
}
