// SPDX-License-Identifier: Apache-2.0
#include "base/hashmap.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define MANY 100000

static void test_empty(void **state)
{
	struct hashmap map = { 0 };

	(void)state;
	assert_int_equal(hashmap_get(&map, 0), HASHMAP_NONE);
	assert_int_equal(hashmap_get(&map, UINT64_MAX), HASHMAP_NONE);
	hashmap_fini(&map);
	hashmap_fini(&map);
}

/* Numbers that differ in few bits, like addresses, and both extremes. */
static void test_numbers(void **state)
{
	struct hashmap map = { 0 };

	(void)state;
	assert_true(hashmap_put(&map, 0, MANY));
	assert_true(hashmap_put(&map, UINT64_MAX, MANY + 1));
	for (uint32_t i = 0; i < MANY; i++)
		assert_true(hashmap_put(&map, (uint64_t)(i + 1) << 12, i));
	for (uint32_t i = 0; i < MANY; i++)
		assert_int_equal(hashmap_get(&map, (uint64_t)(i + 1) << 12), i);
	assert_int_equal(hashmap_get(&map, 0), MANY);
	assert_int_equal(hashmap_get(&map, UINT64_MAX), MANY + 1);
	assert_int_equal(hashmap_get(&map, 1), HASHMAP_NONE);
	assert_int_equal(map.n, MANY + 2);
	assert_true(3 * map.n_slots >= 4 * map.n);
	hashmap_fini(&map);
}

static const char *const words[] = { "", "a", "ab", "abcdefgh", "abcdefghi", "abcdefghij" };
#define N_WORDS (sizeof(words) / sizeof(*words))

static bool is_word(const void *ctx, uint32_t i)
{
	return strcmp(ctx, words[i]) == 0;
}

static uint64_t hash_of(const char *word)
{
	return hashmap_hash(word, strlen(word), 0);
}

static void test_bytes(void **state)
{
	struct hashmap map = { 0 };

	(void)state;
	for (uint32_t i = 0; i < N_WORDS; i++)
		assert_true(hashmap_add(&map, hash_of(words[i]), i));
	for (uint32_t i = 0; i < N_WORDS; i++)
		assert_int_equal(hashmap_find(&map, hash_of(words[i]), is_word, words[i]), i);
	assert_int_equal(hashmap_find(&map, hash_of("b"), is_word, "b"), HASHMAP_NONE);
	hashmap_fini(&map);
}

/* Keys with the same hash are distinguished by their contents. */
static void test_collision(void **state)
{
	struct hashmap map = { 0 };

	(void)state;
	for (uint32_t i = 0; i < N_WORDS; i++)
		assert_true(hashmap_add(&map, 7, i));
	for (uint32_t i = 0; i < N_WORDS; i++)
		assert_int_equal(hashmap_find(&map, 7, is_word, words[i]), i);
	assert_int_equal(hashmap_find(&map, 7, is_word, "b"), HASHMAP_NONE);
	hashmap_fini(&map);
}

/* Trailing zeros and the seed affect the hash; bytes beyond the length do not. */
static void test_hash(void **state)
{
	static const char zeros[16];

	(void)state;
	for (size_t i = 0; i < sizeof(zeros); i++) {
		for (size_t j = 0; j < i; j++)
			assert_true(hashmap_hash(zeros, i, 0) != hashmap_hash(zeros, j, 0));
	}
	assert_true(hashmap_hash("a", 1, 0) != hashmap_hash("a", 1, 1));
	assert_true(hashmap_hash("a", 1, 0) == hashmap_hash("ab", 1, 0));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_empty), cmocka_unit_test(test_numbers),
		cmocka_unit_test(test_bytes), cmocka_unit_test(test_collision),
		cmocka_unit_test(test_hash),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
