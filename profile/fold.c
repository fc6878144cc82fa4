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

struct folding {
	struct profile *p;
	bool *allocates; /* of each function */
	bool *may_begin; /* of each location: its innermost function allocates, or has no name */
	uint32_t *cut;	 /* of each location: number of inner lines that are folded */
	bool *taken;	 /* of each function: it was folded */
};

static void close_folding(struct folding *f)
{
	free(f->allocates);
	free(f->may_begin);
	free(f->cut);
	free(f->taken);
}

static int match(struct folding *f, const char *pattern, bool bare, struct err *err)
{
	_cleanup_(regex_close) struct regex *re = NULL;
	const struct profile_symbols *s = f->p->symbols;

	if (regex_new("allocator", pattern, &re, err))
		return -1;
	for (size_t i = 0; i < s->n_functions; i++) {
		const struct profile_function *function = &s->functions[i];
		char name[PROFILE_NAME_MAX];

		if (!function->known || f->allocates[i])
			continue;
		f->allocates[i] = !bare && regex_matches(re, function->name);
		profile_name_bare(function->name, name, sizeof(name));
		f->allocates[i] |= regex_matches(re, name);
	}
	return regex_check(re, err);
}

static bool is_folded(const struct folding *f, uint32_t location, uint32_t line, bool *allocates)
{
	const struct profile_symbols *s = f->p->symbols;
	uint32_t function = s->lines[s->locations[location].first + line].function;

	*allocates = f->allocates[function] || s->functions[function].allocator;
	return *allocates || !s->functions[function].known;
}

static void note(struct folding *f, uint32_t location, uint32_t lines)
{
	const struct profile_symbols *s = f->p->symbols;

	for (uint32_t j = 0; j < lines; j++) {
		uint32_t function = s->lines[s->locations[location].first + j].function;

		f->taken[function] |= f->allocates[function] && !s->functions[function].allocator;
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

		more = f->may_begin[frame[i]];
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
	bool ignored;

	*n_folded = 0;
	f.allocates = calloc(s->n_functions + 1, sizeof(*f.allocates));
	f.taken = calloc(s->n_functions + 1, sizeof(*f.taken));
	f.may_begin = calloc(s->n_locations + 1, sizeof(*f.may_begin));
	f.cut = calloc(s->n_locations + 1, sizeof(*f.cut));
	if (!f.allocates || !f.taken || !f.may_begin || !f.cut)
		return err_no_memory(err);
	if (match(&f, shipped, true, err))
		return -1;
	for (size_t i = 0; i < how->n_also; i++)
		if (match(&f, how->also[i], false, err))
			return -1;
	for (uint32_t i = 0; i < s->n_locations; i++)
		f.may_begin[i] = s->locations[i].n && is_folded(&f, i, 0, &ignored);
	for (size_t i = 0; i < profile->n_stacks; i++)
		fold_stack(&f, &profile->stacks[i]);
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
