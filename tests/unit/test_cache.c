// SPDX-License-Identifier: Apache-2.0
#include "symbols/cache.h"

#include "profile/symbols.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

static uint64_t offsets[] = { 10, 20, 0x7000000000 };

static struct symbol_cache some_cache(void)
{
	struct symbols_build *b = symbols_build_new(3);
	struct profile_function f = { .name = "f(int)", .linkage = "_Z1fi", .known = true };
	struct profile_line lines[2];
	struct symbol_cache cache = { .offsets = offsets, .n = 3 };

	f.file = "/src/f.cc";
	f.origin = "/src/f.h";
	f.origin_at = UINT64_C(0x123456789abcdef);
	lines[0] = (struct profile_line){ symbols_build_function(b, &f), 7 };
	f = (struct profile_function){
		.name = "malloc", .table_file = "", .origin = "", .from_image = true, .known = true
	};
	lines[1] = (struct profile_line){ symbols_build_function(b, &f), 0 };
	symbols_build_location(b, 0, lines, 2);
	symbols_build_start(b, 0, 0x1234);
	symbols_build_into(b, 1, 0x56);
	symbols_build_location(b, 2, lines + 1, 1);
	cache.symbols = symbols_build_take(b);
	symbols_build_free(b);
	assert_non_null(cache.symbols);
	return cache;
}

static int file_of(const struct symbol_cache *cache, uint64_t *bytes)
{
	int fd = memfd_create("test", MFD_CLOEXEC);

	assert_true(fd >= 0);
	assert_true(symbol_cache_write(fd, cache, bytes));
	return fd;
}

static void test_round_trip(void **state)
{
	struct symbol_cache cache = some_cache(), got;
	const struct profile_function *f;
	uint64_t bytes;
	int fd = file_of(&cache, &bytes);

	(void)state;
	assert_true(symbol_cache_read(fd, &got));
	assert_int_equal(got.n, 3);
	assert_memory_equal(got.offsets, offsets, sizeof(offsets));
	assert_int_equal(got.symbols->locations[0].n, 2);
	assert_int_equal(got.symbols->locations[0].start, 0x1234);
	assert_int_equal(got.symbols->locations[1].n, 0);
	assert_int_equal(got.symbols->locations[1].into, 0x56);
	assert_int_equal(got.symbols->locations[2].n, 1);
	assert_int_equal(got.symbols->lines[0].line, 7);
	f = &got.symbols->functions[got.symbols->lines[0].function];
	assert_string_equal(f->name, "f(int)");
	assert_string_equal(f->linkage, "_Z1fi");
	assert_string_equal(f->file, "/src/f.cc");
	assert_string_equal(f->origin, "/src/f.h");
	assert_int_equal(f->origin_at, 0x123456789abcdef);
	assert_false(f->from_image);
	assert_null(f->table_file);
	f = &got.symbols->functions[got.symbols->lines[1].function];
	assert_string_equal(f->name, "malloc");
	assert_null(f->file);
	assert_string_equal(f->origin, "");
	assert_true(f->from_image);
	assert_string_equal(f->table_file, "");
	assert_true(f->allocator);
	symbol_cache_fini(&got);
	close(fd);
	profile_symbols_free(cache.symbols);
}

/* A file that is truncated or modified anywhere is rejected. */
static void test_broken(void **state)
{
	struct symbol_cache cache = some_cache(), got;
	uint64_t bytes;
	int fd = file_of(&cache, &bytes);
	char byte;

	(void)state;
	for (uint64_t i = 0; i < bytes; i++) {
		if (i >= 28 && i < 32) /* unused */
			continue;
		assert_int_equal(pread(fd, &byte, 1, (off_t)i), 1);
		byte ^= 0x40;
		assert_int_equal(pwrite(fd, &byte, 1, (off_t)i), 1);
		assert_false(symbol_cache_read(fd, &got));
		byte ^= 0x40;
		assert_int_equal(pwrite(fd, &byte, 1, (off_t)i), 1);
	}
	assert_true(symbol_cache_read(fd, &got));
	symbol_cache_fini(&got);
	for (uint64_t i = bytes; i-- > 0;) {
		assert_int_equal(ftruncate(fd, (off_t)i), 0);
		assert_false(symbol_cache_read(fd, &got));
	}
	close(fd);
	profile_symbols_free(cache.symbols);
}

/* The checksums are correct, but the contents are not: `edit` corrupts them. */
static void lies(void (*edit)(struct symbol_cache *cache))
{
	struct symbol_cache cache = some_cache(), got;
	uint64_t bytes;
	int fd;

	cache.offsets = malloc(sizeof(offsets));
	memcpy(cache.offsets, offsets, sizeof(offsets));
	edit(&cache);
	fd = file_of(&cache, &bytes);
	assert_false(symbol_cache_read(fd, &got));
	close(fd);
	symbol_cache_fini(&cache);
}

static void no_such_function(struct symbol_cache *cache)
{
	cache->symbols->lines[0].function = 2;
}

static void no_such_line(struct symbol_cache *cache)
{
	cache->symbols->locations[0].first = 4;
}

static void too_many_lines(struct symbol_cache *cache)
{
	cache->symbols->locations[0].n = UINT32_MAX;
}

static void not_in_order(struct symbol_cache *cache)
{
	cache->offsets[1] = 5;
}

static void test_lies(void **state)
{
	(void)state;
	lies(no_such_function);
	lies(no_such_line);
	lies(too_many_lines);
	lies(not_in_order);
}

static void test_nothing(void **state)
{
	struct symbol_cache cache = { .offsets = offsets }, got;
	struct symbols_build *b = symbols_build_new(0);
	uint64_t bytes;
	int fd;

	(void)state;
	cache.symbols = symbols_build_take(b);
	fd = file_of(&cache, &bytes);
	assert_true(symbol_cache_read(fd, &got));
	assert_int_equal(got.n, 0);
	symbol_cache_fini(&got);
	symbols_build_free(b);
	profile_symbols_free(cache.symbols);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_round_trip),
		cmocka_unit_test(test_broken),
		cmocka_unit_test(test_lies),
		cmocka_unit_test(test_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
