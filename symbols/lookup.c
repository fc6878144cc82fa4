// SPDX-License-Identifier: Apache-2.0
#include "symbols/lookup.h"

#include "base/intern.h"
#include "base/vec.h"
#include "profile/profile.h"
#include "symbols/dwarf.h"

#include <inttypes.h>
#include <libiberty/demangle.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- demangling --- */

/* The options used by binutils; the demangler's recursion limit applies. */
#define OPTIONS (DMGL_ANSI | DMGL_PARAMS)

struct out {
	char *buf;
	size_t len;
	jmp_buf too_long;
};

static void add(const char *text, size_t len, void *arg)
{
	struct out *out = arg;

	/* The demanglers allocate only on the stack: there is nothing to free. */
	if (len >= SYMBOLS_NAME_MAX - out->len)
		longjmp(out->too_long, 1);
	memcpy(out->buf + out->len, text, len);
	out->len += len;
}

/* With callbacks: libiberty's other functions do not limit the length of the result. */
static bool demangle(const char *linkage, struct out *out)
{
	out->len = 0;
	if (rust_demangle_callback(linkage, OPTIONS, add, out) && out->len)
		return true;
	out->len = 0;
	return !strncmp(linkage, "_Z", 2) &&
	       cplus_demangle_v3_callback(linkage, OPTIONS, add, out) && out->len;
}

bool symbols_demangle(const char *linkage, char buf[SYMBOLS_NAME_MAX])
{
	struct out out = { .buf = buf };

	if (*linkage != '_' || strnlen(linkage, SYMBOLS_NAME_MAX) == SYMBOLS_NAME_MAX)
		return false;
	if (setjmp(out.too_long) || !demangle(linkage, &out))
		return false;
	buf[out.len] = '\0';
	return memchr(buf, '\0', out.len) == NULL;
}

/* --- lookup --- */

/*
 * Limit on how often symbols may cover places: ten million symbols that all cover everything are
 * bogus.
 */
#define WORK_PER_PLACE 4096

struct symbols_lookup *symbols_lookup_new(const uint64_t *places, size_t n)
{
	struct symbols_lookup *l = calloc(1, sizeof(*l));

	if (!l)
		return NULL;
	l->n = n;
	l->work = (n + 16) * (uint64_t)WORK_PER_PLACE;
	l->places = calloc(n + 1, sizeof(*l->places));
	l->text = intern_new();
	l->build = symbols_build_new(n);
	if (!l->places || !l->text || !l->build) {
		symbols_lookup_free(l);
		return NULL;
	}
	for (size_t i = 0; i < n; i++)
		l->places[i].address = places[i];
	return l;
}

void symbols_lookup_free(struct symbols_lookup *l)
{
	if (!l)
		return;
	symbols_build_free(l->build);
	intern_free(l->text);
	free(l->places);
	free(l->demangled);
	hashmap_fini(&l->names);
	free(l);
}

void symbols_lookup_close(struct symbols_lookup **l)
{
	symbols_lookup_free(*l);
}

size_t symbols_lookup_find(const struct symbols_lookup *l, uint64_t address)
{
	size_t low = 0, high = l->n;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (l->places[mid].address < address)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

/* --- symbols --- */

/*
 * Consistent with jeprof(1): of symbols with the same start it uses the last by name, of weak ones
 * the first.
 */
static bool is_better(const struct place *p, const char *name, uint64_t start,
		      enum symbols_rank rank)
{
	if (!p->linkage || start != p->start)
		return !p->linkage || start > p->start;
	if (rank != p->rank)
		return rank > p->rank;
	return rank == SYMBOLS_RANK_PLAIN ? strcmp(name, p->linkage) > 0
					  : strcmp(name, p->linkage) < 0;
}

void symbols_lookup_symbol(struct symbols_lookup *l, const char *name, uint64_t start,
			   uint64_t size, enum symbols_rank rank, const char *file)
{
	size_t len = strnlen(name, SYMBOLS_NAME_MAX);
	const char *kept = NULL, *kept_file = NULL;

	if (!len || len == SYMBOLS_NAME_MAX)
		return;
	for (size_t i = symbols_lookup_find(l, start);
	     i < l->n && l->places[i].address - start < size && l->work; i++, l->work--) {
		struct place *p = &l->places[i];

		if (!is_better(p, name, start, rank))
			continue;
		kept = kept ? kept : intern_add(l->text, name, len);
		if (file && !kept_file)
			kept_file = intern_add(l->text, file, strnlen(file, SYMBOLS_NAME_MAX - 1));
		if (!kept)
			return;
		p->linkage = kept;
		p->file = kept_file;
		p->start = start;
		p->rank = rank;
	}
}

/* --- functions --- */

/* The demangled form of the interned `linkage`; cached, because demangling takes long. */
static const char *name_of(struct symbols_lookup *l, const char *linkage)
{
	uint64_t key = (uintptr_t)linkage;
	uint32_t known = hashmap_get(&l->names, key);
	char buf[SYMBOLS_NAME_MAX];
	const char *name = linkage;

	if (known != HASHMAP_NONE)
		return l->demangled[known];
	if (symbols_demangle(linkage, buf))
		name = intern_add(l->text, buf, strlen(buf));
	if (!name || !vec_grow(l->demangled, l->demangled_room, l->n_demangled) ||
	    !hashmap_put(&l->names, key, (uint32_t)l->n_demangled))
		return linkage;
	l->demangled[l->n_demangled++] = name;
	return name;
}

uint32_t symbols_lookup_function(struct symbols_lookup *l, struct profile_function f)
{
	f.linkage = intern_add(l->text, f.linkage, strlen(f.linkage));
	if (!f.linkage)
		return PROFILE_NONE;
	f.name = f.name ? f.name : name_of(l, f.linkage);
	f.known = true;
	return symbols_build_function(l->build, &f);
}

/* --- result --- */

bool symbols_lookup_knows(const struct symbols_lookup *l, size_t i)
{
	return l->places[i].linkage || l->places[i].named;
}

void symbols_lookup_begin(struct symbols_lookup *l, size_t i, uint64_t start)
{
	symbols_build_into(l->build, i, l->places[i].address - start);
}

bool symbols_lookup_is_split(const struct symbols_lookup *l)
{
	return l->split;
}

struct profile_symbols *symbols_lookup_take(struct symbols_lookup *l, uint64_t bias)
{
	for (size_t i = 0; i < l->n; i++) {
		const struct place *p = &l->places[i];
		struct profile_function f = { .linkage = p->linkage, .table_file = p->file };
		struct profile_line line = { 0 };

		if (!p->linkage)
			continue;
		symbols_build_start(l->build, i, p->start - bias);
		if (p->named)
			continue;
		/* Known only by its symbol. A mangled name that is not local identifies it. */
		if (p->file || !symbols_is_mangled(p->linkage)) {
			f.origin = "";
			f.origin_at = p->start - bias;
			f.from_image = true;
		}
		line.function = symbols_lookup_function(l, f);
		if (line.function == PROFILE_NONE)
			return NULL;
		symbols_build_location(l->build, i, &line, 1);
	}
	return symbols_build_take(l->build);
}
