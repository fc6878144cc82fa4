// SPDX-License-Identifier: Apache-2.0
/* Rows of a report: what they group, with our names and with jeprof's. */
#include "profile/regroup.h"

#include "profile/symbols.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define N(a) (sizeof(a) / sizeof((a)[0]))

/* A call at an address, innermost first; a NULL `name` ends the list. */
struct call {
	struct profile_function function;
	uint32_t line;
};

struct place {
	uint64_t start; /* of the symbol */
	struct call calls[3];
};

static struct profile_address addresses[] = { { 0x1010, PROFILE_NONE },
					      { 0x1020, PROFILE_NONE },
					      { 0x1030, PROFILE_NONE },
					      { 0x1040, PROFILE_NONE } };

static struct profile made(const struct place *places, size_t n)
{
	struct profile p = { .addresses = addresses, .n_addresses = n };
	struct symbols_build *b = symbols_build_new(n);
	struct err err;

	for (size_t i = 0; i < n; i++) {
		struct profile_line lines[3];
		size_t k = 0;

		for (; k < 3 && places[i].calls[k].function.name; k++) {
			lines[k].function = symbols_build_function(b, &places[i].calls[k].function);
			lines[k].line = places[i].calls[k].line;
		}
		symbols_build_location(b, i, lines, k);
		symbols_build_start(b, i, places[i].start);
	}
	assert_int_equal(symbols_build_finish(b, &p, &err), 0);
	symbols_build_free(b);
	return p;
}

static const struct profile_function *at(const struct profile *p, size_t address, size_t call)
{
	const struct profile_symbols *s = p->symbols;

	assert_true(call < s->locations[address].n);
	assert_int_equal(s->lines[s->locations[address].first + call].line, 0);
	return &s->functions[s->lines[s->locations[address].first + call].function];
}

/* --- our names --- */

static const struct place ours[] = {
	{ 0x1000,
	  { { { .name = "g", .file = "/src/g.h", .known = true }, 3 },
	    { { .name = "f(int)", .linkage = "_Z1fi", .file = "/src/f.cc", .known = true }, 7 } } },
	{ 0x1000,
	  { { { .name = "f(int)", .linkage = "_Z1fi", .file = "/src/f.cc", .known = true }, 9 } } },
	{ 0, { { { .name = "[lib+0x10]" }, 0 } } },
	{ 0x1000,
	  { { { .name = "f(int)", .linkage = "_Z1fi", .file = "/src/f.cc", .known = true }, 0 } } },
};

static void test_functions(void **state)
{
	struct profile p = made(ours, N(ours));
	struct err err;

	(void)state;
	assert_int_equal(profile_regroup(&p, PROFILE_BY_FUNCTION, &err), 0);
	assert_string_equal(at(&p, 0, 0)->name, "g");
	assert_string_equal(at(&p, 0, 1)->name, "f(int)");
	assert_ptr_equal(at(&p, 0, 1), at(&p, 1, 0));
	assert_null(at(&p, 0, 0)->file);
	assert_true(at(&p, 0, 0)->known);
	assert_false(at(&p, 2, 0)->known);
	profile_symbols_free(p.symbols);
}

static void test_lines(void **state)
{
	struct profile p = made(ours, N(ours));
	struct err err;

	(void)state;
	assert_int_equal(profile_regroup(&p, PROFILE_BY_LINE, &err), 0);
	assert_string_equal(at(&p, 0, 0)->name, "g /src/g.h:3");
	assert_string_equal(at(&p, 0, 1)->name, "f(int) /src/f.cc:7");
	assert_string_equal(at(&p, 1, 0)->name, "f(int) /src/f.cc:9");
	assert_string_equal(at(&p, 2, 0)->name, "[lib+0x10]");
	assert_string_equal(at(&p, 3, 0)->name, "f(int) /src/f.cc");
	profile_symbols_free(p.symbols);
}

static void test_files(void **state)
{
	struct profile p = made(ours, N(ours));
	struct err err;

	(void)state;
	assert_int_equal(profile_regroup(&p, PROFILE_BY_FILE, &err), 0);
	assert_string_equal(at(&p, 0, 0)->name, "/src/g.h");
	assert_ptr_equal(at(&p, 0, 1), at(&p, 3, 0));
	assert_string_equal(at(&p, 2, 0)->name, "[lib+0x10]");
	profile_symbols_free(p.symbols);
}

static void test_addresses(void **state)
{
	struct profile p = made(ours, N(ours));
	struct err err;

	(void)state;
	assert_int_equal(profile_regroup(&p, PROFILE_BY_ADDRESS, &err), 0);
	assert_string_equal(at(&p, 0, 1)->name, "0x100f f(int) /src/f.cc:7");
	assert_string_equal(at(&p, 2, 0)->name, "0x102f [lib+0x10]");
	profile_symbols_free(p.symbols);
}

/* --- jeprof's names --- */

static void jeprof(struct profile *p, enum profile_grain grain)
{
	struct err err;

	assert_int_equal(profile_names_jeprof(p, &err), 0);
	assert_int_equal(profile_regroup_jeprof(p, grain, &err), 0);
}

static void short_name(const char *linkage, const char *name, const char *wanted)
{
	const struct place place = {
		0x1000, { { { .name = name, .linkage = linkage, .known = true }, 0 } }
	};
	struct profile p = made(&place, 1);

	jeprof(&p, PROFILE_BY_FUNCTION);
	assert_string_equal(at(&p, 0, 0)->name, wanted);
	profile_symbols_free(p.symbols);
}

static void test_short_names(void **state)
{
	(void)state;
	short_name("main", "main", "main");
	short_name("_Z1fi", "f(int)", "f");
	short_name("_ZNK1a1fEv", "a::f() const", "a::f");
	short_name("_Z1x", "a::b<int, c<(d)1> >::f(void (*)(int))", "a::b::f");
	short_name("_Z1y", "std::string a::f<int>(int)", "a::f");
	short_name("_Z1z", "a::operator<<(b)", "a::operator<<");
	short_name("_Z1fi.part.0", "f(int)", "f [clone .part.0]");
	short_name("f.part.0", "f.part.0", "f.part.0");
}

/*
 * Debug data does not distinguish split-off parts of a function from the function itself. They have
 * the symbol's name only if that begins like the short name.
 */
static void test_pieces(void **state)
{
	static const struct place places[] = {
		{ 0x1000,
		  { { { .name = "g(int) [clone .isra.0]",
			.linkage = "_Z1gi.isra.0",
			.file = "/src/g.cc",
			.known = true },
		      1 } } },
		{ 0x1014,
		  { { { .name = "void A::m<int>(int) [clone .isra.0]",
			.linkage = "_ZN1A1mIiEEvT_.isra.0",
			.file = "/src/g.cc",
			.known = true },
		      2 } } },
		/* It has no linkage name, and is the first address looked up. */
		{ 0x1028,
		  { { { .name = "h", .file = "/src/g.cc", .known = true }, 3 },
		    { { .name = "A::n(int) [clone .part.0]",
			.linkage = "_ZN1A1nEi.part.0",
			.file = "/src/g.cc",
			.known = true,
			.bare = true },
		      4 } } },
		/* As the symbol table has it without debug data. */
		{ 0x103c,
		  { { { .name = "void A::m<int>(int) [clone .part.0]",
			.linkage = "_ZN1A1mIiEEvT_.part.0",
			.known = true },
		      0 } } },
	};
	struct profile p = made(places, 4);

	(void)state;
	jeprof(&p, PROFILE_BY_FUNCTION);
	assert_string_equal(at(&p, 0, 0)->name, "g [clone .isra.0]");
	assert_string_equal(at(&p, 1, 0)->name, "A::m");
	assert_string_equal(at(&p, 2, 1)->name, "n");
	assert_string_equal(at(&p, 3, 0)->name, "A::m [clone .part.0]");
	profile_symbols_free(p.symbols);
}

/* Two functions with the same short name are distinguished by their start addresses. */
static void test_shared_names(void **state)
{
	static const struct place places[] = {
		{ 0x1000, { { { .name = "f(int)", .linkage = "_Z1fi", .known = true }, 0 } } },
		{ 0x1014, { { { .name = "f(long)", .linkage = "_Z1fl", .known = true }, 0 } } },
		{ 0x1028, { { { .name = "g(int)", .linkage = "_Z1gi", .known = true }, 0 } } },
	};
	struct profile p = made(places, 3);

	(void)state;
	jeprof(&p, PROFILE_BY_FUNCTION);
	assert_string_equal(at(&p, 0, 0)->name, "f@1000");
	assert_string_equal(at(&p, 1, 0)->name, "f@1014");
	assert_string_equal(at(&p, 2, 0)->name, "g");
	profile_symbols_free(p.symbols);
}

static void jeprof_of(enum profile_grain grain, const char *inlined, const char *whole,
		      const char *unknown, const char *no_line)
{
	struct profile p = made(ours, N(ours));

	jeprof(&p, grain);
	assert_string_equal(at(&p, 0, 0)->name, inlined);
	assert_string_equal(at(&p, 0, 1)->name, whole);
	assert_string_equal(at(&p, 2, 0)->name, unknown);
	assert_string_equal(at(&p, 3, 0)->name, no_line);
	profile_symbols_free(p.symbols);
}

static void test_grains(void **state)
{
	(void)state;
	jeprof_of(PROFILE_BY_FUNCTION, "g (inline)", "f", "[lib+0x10]", "f");
	jeprof_of(PROFILE_BY_LINE, "g (inline) /src/g.h:3", "f /src/f.cc:7", "[lib+0x10] ??:?",
		  "f /src/f.cc:?");
	jeprof_of(PROFILE_BY_FILE, "/src/g.h", "/src/f.cc", "??:?", "/src/f.cc:?");
	jeprof_of(PROFILE_BY_ADDRESS, "000000000000100f g (inline) /src/g.h:3",
		  "000000000000100f f /src/f.cc:7", "000000000000102f [lib+0x10] ??:?",
		  "000000000000103f f /src/f.cc:?");
}

/* Files according to the symbol table, where debug data names none. */
static void test_table_files(void **state)
{
	static const struct place places[] = {
		{ 0x1000, { { { .name = "a", .table_file = "a.o", .known = true }, 0 } } },
		{ 0x1014, { { { .name = "b", .table_file = "", .known = true }, 0 } } },
		{ 0x1028, { { { .name = "c", .known = true }, 0 } } },
	};
	struct profile p = made(places, 3);
	struct err err;

	(void)state;
	jeprof(&p, PROFILE_BY_LINE);
	assert_string_equal(at(&p, 0, 0)->name, "a a.o:?");
	assert_string_equal(at(&p, 1, 0)->name, "b :?");
	assert_string_equal(at(&p, 2, 0)->name, "c ??:?");
	profile_symbols_free(p.symbols);
	/* This is only a hint, which our own rows omit. */
	p = made(places, 3);
	assert_int_equal(profile_regroup(&p, PROFILE_BY_LINE, &err), 0);
	assert_string_equal(at(&p, 0, 0)->name, "a");
	profile_symbols_free(p.symbols);
}

/*
 * In an inlined call, the first address looked up has the name of the symbol if DWARF has no
 * linkage name for the call: once for each call, whatever files its lines are from.
 */
static void test_bare(void **state)
{
#define BARE(file_, line_)                                                                \
	{                                                                                 \
		{ .name = "init", .file = (file_), .known = true, .bare = true }, (line_) \
	}
#define AROUND(line_)                                                                       \
	{                                                                                   \
		{ .name = "_GLOBAL__sub_I_x", .file = "/src/x.cc", .known = true }, (line_) \
	}
	static const struct place places[] = {
		{ 0x1000, { BARE("/src/a.h", 1), AROUND(50) } },
		{ 0x1000, { BARE("/src/b.h", 2), AROUND(50) } },
		{ 0x1000, { BARE("/src/b.h", 3), AROUND(60) } },
		{ 0x1000, { BARE("/src/a.h", 4), AROUND(60) } },
	};
	struct profile p = made(places, 4);

	(void)state;
	jeprof(&p, PROFILE_BY_FUNCTION);
	assert_string_equal(at(&p, 0, 0)->name, "_GLOBAL__sub_I_x (inline)");
	assert_string_equal(at(&p, 1, 0)->name, "init (inline)");
	assert_string_equal(at(&p, 2, 0)->name, "_GLOBAL__sub_I_x (inline)");
	assert_string_equal(at(&p, 3, 0)->name, "init (inline)");
	for (size_t i = 0; i < 4; i++)
		assert_string_equal(at(&p, i, 1)->name, "_GLOBAL__sub_I_x");
	profile_symbols_free(p.symbols);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_functions),    cmocka_unit_test(test_lines),
		cmocka_unit_test(test_files),	     cmocka_unit_test(test_addresses),
		cmocka_unit_test(test_short_names),  cmocka_unit_test(test_pieces),
		cmocka_unit_test(test_shared_names), cmocka_unit_test(test_grains),
		cmocka_unit_test(test_table_files),  cmocka_unit_test(test_bare),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
