// SPDX-License-Identifier: Apache-2.0
#include "profile/symbols.h"

#include "profile/profile.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static struct profile_mapping mappings[] = {
	{ .start = 0x1000, .end = 0x3000, .offset = 0x400, .path = "/usr/bin/a b" },
	{ .start = 0x5000, .end = 0x6000, .path = "[vdso]" },
	{ .start = 0x7000, .end = 0x8000, .path = "/lib/libjemalloc.so.2" },
};

static struct profile_address addresses[] = {
	{ 0x1010, 0 }, { 0x5001, 1 }, { 0x9000, PROFILE_NONE }, { 0x7001, 2 }, { 0x1010, 0 },
};

static struct profile some_profile(void)
{
	return (struct profile){
		.mappings = mappings,
		.n_mappings = 3,
		.addresses = addresses,
		.n_addresses = 5,
	};
}

static const struct profile_function *of(const struct profile *p, size_t address, size_t call)
{
	const struct profile_symbols *s = p->symbols;

	assert_true(call < s->locations[address].n);
	return &s->functions[s->lines[s->locations[address].first + call].function];
}

static void test_none(void **state)
{
	struct profile p = some_profile();
	struct err err;

	(void)state;
	assert_int_equal(profile_symbols_none(&p, &err), 0);
	assert_int_equal(p.symbols->n_locations, 5);
	assert_string_equal(of(&p, 0, 0)->name, "[a b+0x410]");
	assert_string_equal(of(&p, 1, 0)->name, "[vdso+0x1]");
	assert_string_equal(of(&p, 2, 0)->name, "[0x9000]");
	assert_string_equal(of(&p, 3, 0)->name, "[libjemalloc.so.2+0x1]");
	assert_ptr_equal(of(&p, 0, 0), of(&p, 4, 0));
	assert_false(of(&p, 0, 0)->known);
	assert_false(of(&p, 0, 0)->allocator);
	assert_true(of(&p, 3, 0)->allocator);
	assert_null(of(&p, 0, 0)->file);
	assert_ptr_equal(of(&p, 0, 0)->linkage, of(&p, 0, 0)->name);
	/* A second call replaces the result of the first one. */
	assert_int_equal(profile_symbols_none(&p, &err), 0);
	assert_int_equal(p.symbols->n_functions, 4);
	profile_symbols_free(p.symbols);
}

static void test_path_bounds(void **state)
{
	char path[4096];
	struct profile_mapping m = { .start = 0x1000, .end = 0x2000, .path = path };
	struct profile_address a = { 0x1000, 0 };
	struct profile p = { .mappings = &m, .n_mappings = 1, .addresses = &a, .n_addresses = 1 };
	struct err err;

	(void)state;
	memset(path, 'x', sizeof(path) - 1);
	path[sizeof(path) - 1] = '\0';
	assert_int_equal(profile_symbols_none(&p, &err), 0);
	assert_int_equal(strlen(of(&p, 0, 0)->name), 255 + strlen("[+0x0]"));
	strcpy(path, "");
	assert_int_equal(profile_symbols_none(&p, &err), 0);
	assert_string_equal(of(&p, 0, 0)->name, "[+0x0]");
	strcpy(path, "[]");
	assert_int_equal(profile_symbols_none(&p, &err), 0);
	assert_string_equal(of(&p, 0, 0)->name, "[[]+0x0]");
	profile_symbols_free(p.symbols);
}

static void test_build(void **state)
{
	struct symbols_build *b = symbols_build_new(5);
	struct profile_function f = { .name = "f(int)", .linkage = "_Z1fi", .known = true };
	struct profile_function m = { .name = "operator new(unsigned long)", .known = true };
	struct profile p = some_profile();
	struct profile_line lines[2];
	struct err err;

	(void)state;
	lines[0] = (struct profile_line){ symbols_build_function(b, &m), 0 };
	f.file = "f.cc";
	lines[1] = (struct profile_line){ symbols_build_function(b, &f), 12 };
	assert_int_equal(symbols_build_function(b, &f), lines[1].function);
	f.file = "g.cc";
	assert_int_not_equal(symbols_build_function(b, &f), lines[1].function);
	symbols_build_location(b, 3, lines, 2);
	symbols_build_location(b, 3, lines, 1);
	symbols_build_location(b, 0, lines, 0);
	assert_int_equal(symbols_build_finish(b, &p, &err), 0);
	symbols_build_free(b);
	assert_int_equal(p.symbols->locations[3].n, 2);
	assert_string_equal(of(&p, 3, 0)->name, "operator new(unsigned long)");
	assert_true(of(&p, 3, 0)->allocator);
	assert_string_equal(of(&p, 3, 1)->linkage, "_Z1fi");
	assert_string_equal(of(&p, 3, 1)->file, "f.cc");
	assert_false(of(&p, 3, 1)->allocator);
	assert_string_equal(of(&p, 0, 0)->name, "[a b+0x410]");
	profile_symbols_free(p.symbols);
}

static void test_many(void **state)
{
	struct symbols_build *b = symbols_build_new(1);
	struct profile_address a = { 1, PROFILE_NONE };
	struct profile p = { .addresses = &a, .n_addresses = 1 };
	char name[32];
	struct profile_function f = { .name = name, .known = true };
	struct profile_line line = { 0 };
	struct err err;

	(void)state;
	for (int round = 0; round < 2; round++) {
		for (uint32_t i = 0; i < 5000; i++) {
			snprintf(name, sizeof(name), "f%u", i);
			assert_int_equal(symbols_build_function(b, &f), i);
		}
	}
	line.function = 4321;
	symbols_build_location(b, 0, &line, 1);
	assert_int_equal(symbols_build_finish(b, &p, &err), 0);
	assert_string_equal(of(&p, 0, 0)->name, "f4321");
	symbols_build_free(b);
	profile_symbols_free(p.symbols);
}

static void test_allocator(void **state)
{
	static const char *const yes[] = {
		"malloc",
		"_malloc",
		"calloc",
		"operator new(unsigned long)",
		"operator new[](unsigned long, std::nothrow_t const&)",
		"void* newImpl<false>(unsigned long)",
		"je_malloc",
		"je_malloc_default",
		"je_prof_backtrace",
		"_rjem_mallocx",
		"_rjem_je_prof_tctx_create",
		"duckdb_je_malloc",
		"__rust_alloc",
		"__rustc::__rust_realloc",
		"alloc::alloc::exchange_malloc",
		"<alloc::alloc::Global>::alloc_impl",
		"<alloc::alloc::Global as core::alloc::Allocator>::allocate",
		"<app::Heap as core::alloc::global::GlobalAlloc>::alloc",
		"tcmalloc::ThreadCache::Allocate(unsigned long)",
		"xallocx",
	};
	static const char *const no[] = {
		"",
		"main",
		"mallocs",
		"my_malloc",
		"zmalloc",
		"xmalloc",
		"je_mimic",
		"operator new2",
		"the_je_factory",
		"foo(int)",
		"object_malloc_",
		"(",
		"<alloc::vec::Vec<u8>>::with_capacity_in",
		"alloc::raw_vec::finish_grow",
		"<alloc::boxed::Box<[u64; 40]>>::new",
		"alloc::allocator",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(yes) / sizeof(*yes); i++) {
		if (!symbols_is_allocator(yes[i]))
			fail_msg("%s is the allocator's", yes[i]);
	}
	for (size_t i = 0; i < sizeof(no) / sizeof(*no); i++) {
		if (symbols_is_allocator(no[i]))
			fail_msg("%s is not the allocator's", no[i]);
	}
	assert_true(symbols_is_allocator_image("/usr/lib/libjemalloc.so.2"));
	assert_true(symbols_is_allocator_image("libjemalloc.so"));
	assert_false(symbols_is_allocator_image("/usr/libjemalloc/redis"));
}

/* By file name, else by line, else by the whole path; and only where necessary. */
static void test_tell_apart(void **state)
{
	static const struct {
		const char *name, *origin;
		uint64_t at;
		bool from_image;
		const char *afterwards;
	} of[] = {
		{ "init", "/src/a.c", 3, false, "init (a.c)" },
		{ "init", "/src/b.c", 9, false, "init (b.c)" },
		{ "init", "libc.so.6", 0x1200, true, "init (libc.so.6)" },
		{ "f", "/src/a.c", 3, false, "f (a.c:3)" },
		{ "f", "/src/a.c", 7, false, "f (a.c:7)" },
		{ "g", "/one/a.c", 3, false, "g (/one/a.c:3)" },
		{ "g", "/two/a.c", 3, false, "g (/two/a.c:3)" },
		{ "h", "/src/a.c", 3, false, "h (a.c)" },
		{ "h", NULL, 0, false, "h" },
		{ "k", "libb.so", 0x1200, true, "k (libb.so:0x1200)" },
		{ "k", "libb.so", 0x1300, true, "k (libb.so:0x1300)" },
		{ "lone", "/src/a.c", 3, false, "lone" },
		{ "malloc", "/src/a.c", 3, false, "malloc" },
		{ "malloc", "/src/b.c", 3, false, "malloc" },
	};
	enum { N = sizeof(of) / sizeof(*of) };
	struct symbols_build *b = symbols_build_new(0);
	struct profile_symbols *s;
	uint32_t at[N], again;
	struct err err;

	(void)state;
	for (size_t i = 0; i < N; i++) {
		struct profile_function f = { .name = of[i].name,
					      .origin = of[i].origin,
					      .origin_at = of[i].at,
					      .from_image = of[i].from_image,
					      .known = true };

		at[i] = symbols_build_function(b, &f);
		again = symbols_build_function(b, &f);
		assert_int_equal(at[i], again);
	}
	s = symbols_build_take(b);
	assert_int_equal(s->n_functions, N);
	assert_int_equal(profile_symbols_tell_apart(s, &err), 0);
	for (size_t i = 0; i < N; i++)
		assert_string_equal(s->functions[at[i]].name, of[i].afterwards);
	profile_symbols_free(s);
	symbols_build_free(b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_none),	  cmocka_unit_test(test_path_bounds),
		cmocka_unit_test(test_build),	  cmocka_unit_test(test_many),
		cmocka_unit_test(test_allocator), cmocka_unit_test(test_tell_apart),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
