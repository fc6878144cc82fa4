// SPDX-License-Identifier: Apache-2.0
#include "profile/symbols_allocator.h"

#include "base/text.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define NAME_MAX_LEN 63

/* Sorted. Those of jeprof(1), RemoveUninterestingFrames(). */
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

/* What Rust puts before them: a call of its allocator, whichever that is. */
static const char *const rust_names[] = {
	"__rdl_alloc",	"__rdl_alloc_zeroed",  "__rdl_realloc",
	"__rg_alloc",	"__rg_alloc_zeroed",   "__rg_realloc",
	"__rust_alloc", "__rust_alloc_zeroed", "__rust_realloc",
};
#define N_RUST_NAMES (sizeof(rust_names) / sizeof(*rust_names))

/*
 * Between those and what a program calls, newer compilers have a crate, and the
 * library the module alloc::alloc. Who allocates is before them in the stack.
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
 * How names go on behind jemalloc's prefix: its functions for programs, and of
 * its own ones those that can be the innermost where a tail call or inlining
 * has taken the others away.
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
	return bsearch(name, list, n, sizeof(*list), compare);
}

/* What jemalloc is built with: je_, jet_, _rjem_, _rjem_je_, duckdb_je_ and their like. */
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

static bool is_prefixed(const char *name)
{
	const char *rest = after_prefix(name);

	for (size_t i = 0; rest && i < sizeof(inside) / sizeof(*inside); i++) {
		if (!strncmp(rest, inside[i], strlen(inside[i])))
			return true;
	}
	return false;
}

bool symbols_is_jeprof_allocator(const char *name)
{
	return strstr(name, "TCMalloc") || !strncmp(name, "tcmalloc::", 10) ||
	       is_in(names, N_NAMES, name) || (*name == '_' && is_in(names, N_NAMES, name + 1));
}

bool symbols_is_allocator(const char *name)
{
	char bare[NAME_MAX_LEN + 1];
	size_t len;

	if (!strncmp(name, "void* newImpl", 13))
		name += 6;
	/* Without arguments and, as jeprof does it, without template arguments. */
	len = strcspn(name, "(<");
	if (len > NAME_MAX_LEN)
		len = NAME_MAX_LEN;
	memcpy(bare, name, len);
	bare[len] = '\0';
	return symbols_is_jeprof_allocator(bare) || is_in(rust_names, N_RUST_NAMES, bare) ||
	       is_rust(name) || is_prefixed(bare);
}

bool symbols_is_allocator_image(const char *path)
{
	return !strncmp(text_file_name(path), "libjemalloc", 11);
}
