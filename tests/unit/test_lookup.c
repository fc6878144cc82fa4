// SPDX-License-Identifier: Apache-2.0
/* Looks up places in this program, which is built with debug data. */
#include "symbols/lookup.h"

#include "base/cleanup.h"
#include "profile/profile.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

/* What the compiler knows about these places. */
static uint64_t return_address;
static int call_line;

static __attribute__((noinline)) void note_caller(int line)
{
	return_address = (uintptr_t)__builtin_return_address(0);
	call_line = line;
}

static inline __attribute__((always_inline)) void inner(void)
{
	note_caller(__LINE__);
	__asm__ volatile("");
}

static inline __attribute__((always_inline)) void middle(void)
{
	inner();
}
enum { MIDDLE_LINE = __LINE__ - 2 };

static __attribute__((noinline)) int outer(void)
{
	middle();
	return __LINE__ - 1;
}

static const struct profile_function *function_of(const struct profile_symbols *s, size_t place,
						  size_t call)
{
	assert_true(call < s->locations[place].n);
	return &s->functions[s->lines[s->locations[place].first + call].function];
}

static uint32_t line_of(const struct profile_symbols *s, size_t place, size_t call)
{
	return s->lines[s->locations[place].first + call].line;
}

static Elf *open_self(int *fd)
{
	*fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	elf_version(EV_CURRENT);
	return elf_begin(*fd, ELF_C_READ_MMAP, NULL);
}

extern const char __executable_start[];

static void test_inlined(void **state)
{
	uint64_t bias = (uintptr_t)__executable_start, places[2];
	_cleanup_(symbols_lookup_close) struct symbols_lookup *l = NULL;
	_cleanup_(cleanup_close) int fd = -1;
	struct profile_symbols *s;
	int outer_line = outer();
	Elf *elf = open_self(&fd);

	(void)state;
	places[0] = 16; /* the ELF header */
	places[1] = return_address - 1;
	l = symbols_lookup_new(places, 2);
	symbols_lookup_symbol(l, "outer", (uintptr_t)outer, 4096, SYMBOLS_RANK_PLAIN, "table.c");
	assert_true(symbols_lookup_dwarf(l, elf, NULL, bias));
	s = symbols_lookup_take(l, bias);
	elf_end(elf);
	assert_non_null(s);
	assert_int_equal(s->locations[0].n, 0);
	assert_int_equal(s->locations[1].n, 3);
	assert_int_equal(s->locations[1].start, (uintptr_t)outer - bias);
	assert_string_equal(function_of(s, 1, 0)->name, "inner");
	assert_string_equal(function_of(s, 1, 1)->name, "middle");
	assert_string_equal(function_of(s, 1, 2)->name, "outer");
	assert_int_equal(line_of(s, 1, 0), call_line);
	assert_int_equal(line_of(s, 1, 1), MIDDLE_LINE);
	assert_int_equal(line_of(s, 1, 2), outer_line);
	assert_non_null(strstr(function_of(s, 1, 2)->file, "tests/unit/test_lookup.c"));
	assert_null(function_of(s, 1, 2)->table_file);
	assert_true(function_of(s, 1, 2)->known);
	profile_symbols_free(s);
}

/* Which symbol names a place. */
static void test_symbols(void **state)
{
	static const uint64_t places[] = { 99, 100, 149, 150, 210, 250, 300 };
	struct symbols_lookup *l = symbols_lookup_new(places, 7);
	struct profile_symbols *s;

	(void)state;
	symbols_lookup_symbol(l, "f", 100, 50, SYMBOLS_RANK_PLAIN, "f.c");
	symbols_lookup_symbol(l, "no_size", 150, 0, SYMBOLS_RANK_PLAIN, NULL);
	symbols_lookup_symbol(l, "whole", 200, 100, SYMBOLS_RANK_PLAIN, "");
	symbols_lookup_symbol(l, "weak", 240, 20, SYMBOLS_RANK_WEAK, NULL);
	symbols_lookup_symbol(l, "_ZN1a1bEv", 240, 20, SYMBOLS_RANK_PLAIN, NULL);
	symbols_lookup_symbol(l, "A", 240, 20, SYMBOLS_RANK_PLAIN, NULL);
	symbols_lookup_symbol(l, "zzz", 240, 20, SYMBOLS_RANK_OTHER, NULL);
	symbols_lookup_symbol(l, "", 240, 20, SYMBOLS_RANK_PLAIN, NULL);
	symbols_lookup_symbol(l, "to_the_end", 300, UINT64_MAX, SYMBOLS_RANK_PLAIN, NULL);
	s = symbols_lookup_take(l, 40);
	assert_non_null(s);
	assert_int_equal(s->n_locations, 7);
	assert_int_equal(s->locations[0].n, 0);
	assert_string_equal(function_of(s, 1, 0)->name, "f");
	assert_string_equal(function_of(s, 2, 0)->name, "f");
	assert_int_equal(s->locations[3].n, 0);
	assert_string_equal(function_of(s, 4, 0)->name, "whole");
	assert_string_equal(function_of(s, 5, 0)->name, "a::b()");
	assert_string_equal(function_of(s, 5, 0)->linkage, "_ZN1a1bEv");
	assert_string_equal(function_of(s, 6, 0)->name, "to_the_end");
	assert_int_equal(s->locations[1].start, 60);
	assert_null(function_of(s, 1, 0)->file);
	assert_string_equal(function_of(s, 1, 0)->table_file, "f.c");
	assert_string_equal(function_of(s, 4, 0)->table_file, "");
	assert_null(function_of(s, 5, 0)->table_file);
	profile_symbols_free(s);
	symbols_lookup_free(l);
}

/* Symbols without an end that all cover everything must not take forever. */
static void test_too_many(void **state)
{
	static uint64_t places[1000];
	struct symbols_lookup *l;
	struct profile_symbols *s;
	char name[32];

	(void)state;
	for (size_t i = 0; i < 1000; i++)
		places[i] = 1000 + i;
	l = symbols_lookup_new(places, 1000);
	for (int i = 0; i < 100000; i++) {
		snprintf(name, sizeof(name), "f%d", i);
		symbols_lookup_symbol(l, name, 0, UINT64_MAX, SYMBOLS_RANK_PLAIN, NULL);
	}
	s = symbols_lookup_take(l, 0);
	assert_non_null(s);
	profile_symbols_free(s);
	symbols_lookup_free(l);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_inlined),
		cmocka_unit_test(test_symbols),
		cmocka_unit_test(test_too_many),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
