// SPDX-License-Identifier: Apache-2.0
#include "profile/fold.h"

#include "base/cleanup.h"
#include "profile/filter.h"
#include "profile/fit.h"
#include "profile/names.h"
#include "profile/symbols.h"

#include <stdio.h>
#include <stdlib.h>

/*
 * Names by profile_name_bare(). The functions of jemalloc itself and operator new are not here, but
 * in profile/symbols.c: no report shows them. jeprof-ctl(8) has this list as well.
 */
static const char shipped[] =
	"^(?:"
	/* C, with any prefix: zmalloc, xcalloc, g_realloc, my_malloc, uv__malloc */
	"\\w*(?:malloc|calloc|realloc|zalloc|memalign|reallocarray)"
	"|_*\\w{0,8}(?:strdup|strndup|memdup)"
	/* GLib */
	"|g_(?:try_|aligned_)?(?:malloc|realloc|alloc)0?(?:_n)?|g_slice_(?:alloc0?|copy)|g_memdup2"
	/* GNU's xalloc */
	"|x(?:imalloc|icalloc|nmalloc|nrealloc|charalloc|2realloc|2nrealloc|palloc)"
	/* redis, valkey, and their strings */
	"|(?:z|ztry|valkey_|s_|s_try)(?:malloc|calloc|realloc)(?:_num|_usable|_internal|_no_tcache"
	"|_cache_aligned)+"
	"|_?sds(?:try)?newlen|sds(?:new|empty|dup)"
	/* Python */
	"|_?Py(?:Mem|Object)_(?:Raw|Debug|Debug_?Raw)?(?:Malloc|Calloc|Realloc)|_PyMem_\\w*Alloc"
	"|pymalloc_alloc|allocate_from_new_pool|new_arena|_PyObject_ArenaMalloc"
	"|_?PyObject_(?:GC_)?New(?:Var)?|_PyObject_GC_(?:Malloc|Calloc|Alloc|Resize)|gc_alloc"
	"|_?PyType_(?:GenericAlloc|AllocNoTrack)"
	/* Ruby, PHP, Perl, Lua */
	"|(?:rb|ruby|objspace)_x(?:malloc|calloc|realloc)\\w*"
	"|_?_?(?:safe_|zend_)?e?(?:malloc|calloc|realloc)_?\\d*"
	"|(?:Perl_)?safesys(?:malloc|calloc|realloc)"
	"|l_alloc|luaM_(?:malloc_?|realloc_|growaux_|saferealloc_|toobig)"
	/* Apache, nginx, PostgreSQL, SQLite, BIND */
	"|apr_(?:palloc|pcalloc|pmemdup|pstr\\w*dup)(?:_debug)?|(?:apr_)?allocator_alloc"
	"|ngx_(?:alloc|palloc|pnalloc|pcalloc|pmemalign)(?:_small|_block|_large)?|ngx_palloc_\\w+"
	"|palloc0?|palloc_(?:extended|aligned)|repalloc0?|pstrdup|MemoryContextAlloc\\w*"
	"|AllocSet(?:Alloc|Realloc)\\w*"
	"|sqlite3(?:Db)?(?:Malloc|Realloc|StrN?Dup)\\w*|sqlite3_(?:malloc|realloc)64"
	"|dbMallocRawFinish|sqlite3MemMalloc"
	"|isc__?mem_(?:get|reget|allocate|reallocate|strn?dup)|mem_(?:get|realloc)"
	/* C++ */
	"|(?:std|__gnu_cxx)::(?:\\w+::)*(?:allocate|allocate_at_least|do_allocate|_M_allocate\\w*"
	"|_M_get_node|_M_create_node|_M_create|__libcpp_allocate|__allocate_at_least"
	"|__allocate_guarded)"
	"|folly::(?:checked|smart)(?:Malloc|Calloc|Realloc)"
	")$"
	/* Rust, whose names are not just words */
	"|^<?alloc::raw_vec::";

/* Does a function only allocate for its caller? Determined when first asked. */
enum kind { UNKNOWN, ALLOCATES, OTHER };

struct folding {
	struct profile *p;
	struct regex *shipped, **also;
	size_t n_also;
	enum kind *kinds; /* of each function */
	uint32_t *cut;	  /* of each location: number of inner lines that are folded */
	bool *taken;	  /* of each function: it was folded */
};

static void close_folding(struct folding *f)
{
	regex_close(&f->shipped);
	for (size_t i = 0; i < f->n_also; i++)
		regex_close(&f->also[i]);
	free(f->also);
	free(f->kinds);
	free(f->cut);
	free(f->taken);
}

static enum kind kind_of(const struct folding *f, const struct profile_function *function)
{
	char bare[PROFILE_NAME_MAX];
	bool matches;

	if (function->allocator)
		return ALLOCATES;
	if (!function->known)
		return OTHER;
	profile_name_bare(function->name, bare, sizeof(bare));
	matches = regex_matches(f->shipped, bare);
	for (size_t i = 0; i < f->n_also && !matches; i++)
		matches = regex_matches(f->also[i], function->name) ||
			  regex_matches(f->also[i], bare);
	return matches ? ALLOCATES : OTHER;
}

static bool is_folded(struct folding *f, uint32_t location, uint32_t line, bool *allocates)
{
	const struct profile_symbols *s = f->p->symbols;
	uint32_t i = s->lines[s->locations[location].first + line].function;

	if (f->kinds[i] == UNKNOWN)
		f->kinds[i] = kind_of(f, &s->functions[i]);
	*allocates = f->kinds[i] == ALLOCATES;
	return *allocates || !s->functions[i].known;
}

static void note(struct folding *f, uint32_t location, uint32_t lines)
{
	const struct profile_symbols *s = f->p->symbols;

	for (uint32_t j = 0; j < lines; j++) {
		uint32_t function = s->lines[s->locations[location].first + j].function;

		f->taken[function] |=
			f->kinds[function] == ALLOCATES && !s->functions[function].allocator;
	}
}

static void fold_stack(struct folding *f, struct profile_stack *stack)
{
	const struct profile_location *at = f->p->symbols->locations;
	const uint32_t *frame = f->p->frames + stack->first;
	/* To be dropped: whole frames, and inner lines of the next one. */
	uint32_t frames = 0, lines = 0;
	bool more = true;

	for (uint32_t i = 0; i < stack->depth && more; i++) {
		bool allocates;

		more = at[frame[i]].n;
		for (uint32_t j = 0; more && j < at[frame[i]].n; j++) {
			more = is_folded(f, frame[i], j, &allocates);
			if (allocates) {
				frames = j + 1 == at[frame[i]].n ? i + 1 : i;
				lines = j + 1 == at[frame[i]].n ? 0 : j + 1;
			}
		}
	}
	if (frames == stack->depth)
		return;
	for (uint32_t i = 0; i < frames; i++)
		note(f, frame[i], at[frame[i]].n);
	note(f, frame[frames], lines);
	f->cut[frame[frames]] = lines;
	stack->first += frames;
	stack->depth -= frames;
}

int profile_fold(struct profile *profile, const struct profile_fold *how, size_t *n_folded,
		 struct err *err)
{
	_cleanup_(close_folding) struct folding f = { .p = profile };
	struct profile_symbols *s = profile->symbols;

	*n_folded = 0;
	f.kinds = calloc(s->n_functions + 1, sizeof(*f.kinds));
	f.taken = calloc(s->n_functions + 1, sizeof(*f.taken));
	f.cut = calloc(s->n_locations + 1, sizeof(*f.cut));
	f.also = calloc(how->n_also + 1, sizeof(struct regex *));
	if (!f.kinds || !f.taken || !f.cut || !f.also)
		return err_no_memory(err);
	if (regex_new("allocator", shipped, &f.shipped, err))
		return -1;
	for (; f.n_also < how->n_also; f.n_also++)
		if (regex_new("allocator", how->also[f.n_also], &f.also[f.n_also], err))
			return -1;
	for (size_t i = 0; i < profile->n_stacks; i++)
		fold_stack(&f, &profile->stacks[i]);
	for (size_t i = 0; i < f.n_also; i++)
		if (regex_check(f.also[i], err))
			return -1;
	if (regex_check(f.shipped, err))
		return -1;
	/* For all stacks: what was inlined is the same wherever the location is innermost. */
	for (size_t i = 0; i < s->n_locations; i++) {
		s->locations[i].first += f.cut[i];
		s->locations[i].n -= f.cut[i];
	}
	for (size_t i = 0; i < s->n_functions; i++)
		*n_folded += f.taken[i];
	return 0;
}

const char *profile_fold_text(size_t n, const char *how, char *buf, size_t size)
{
	snprintf(buf, size, "%zu allocator function%s folded into %s callers; %s", n,
		 n == 1 ? "" : "s", n == 1 ? "its" : "their", how);
	return buf;
}
