// SPDX-License-Identifier: Apache-2.0
/* C libraries: their numbers, and their records of a thread's stack. */
#include "injector/libc.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#define BASE UINT64_C(0x7f0000000000)
#define SIZE UINT64_C(0x24000)
#define GUARD UINT64_C(0x2000)
#define TLS (BASE + SIZE - 0x500)
#define TOP (BASE + SIZE - 0x600)
#define SP (TOP - 0x800)
#define WORDS 32

static const struct range map = { BASE + GUARD, BASE + SIZE };

static void test_numbers(void **state)
{
	(void)state;
	assert_ptr_equal(libc_by_number(libc_number(&libc_glibc)), &libc_glibc);
	assert_ptr_equal(libc_by_number(libc_number(&libc_musl)), &libc_musl);
	assert_null(libc_by_number(2));
	assert_null(libc_by_number(UINT64_MAX));
}

static void test_lists(void **state)
{
	(void)state;
	assert_true(libc_glibc.holds_locks("pthread_create"));
	assert_false(libc_musl.holds_locks("pthread_create"));
	for (size_t i = 0; i < n_musl_holders; i++)
		assert_true(libc_musl.holds_locks(musl_holders[i]));
	assert_true(libc_image_holds_locks("libgcc_s.so.1"));
	assert_true(libc_image_holds_locks("ld-linux-x86-64.so.2"));
	assert_false(libc_image_holds_locks("ld-musl-x86_64.so.1"));
}

/* setuid(2) must reach a thread that works for us; a cancellation must not. */
static void test_signals(void **state)
{
	(void)state;
	assert_int_equal(libc_glibc.open_signals, SIGNAL_BIT(33));
	assert_int_equal(libc_musl.open_signals, SIGNAL_BIT(34));
	assert_int_equal(libc_glibc.unblocked, 0);
	assert_int_equal(libc_musl.unblocked, SIGNAL_BIT(33) | SIGNAL_BIT(34));
}

static bool in_musl(const uint64_t *w, uint64_t sp, const struct range *m)
{
	struct range stack;
	bool found = libc_musl.stack(w, WORDS, TLS, sp, m, &stack);

	if (found) {
		assert_int_equal(stack.start, BASE + GUARD);
		assert_int_equal(stack.end, TOP);
	}
	return found;
}

#define MUSL_FIRST (MUSL_MAP_BASE / sizeof(uint64_t))

static void set_musl(uint64_t w[WORDS])
{
	w[MUSL_FIRST] = BASE;
	w[MUSL_FIRST + 1] = SIZE;
	w[MUSL_FIRST + 2] = TOP;
	w[MUSL_FIRST + 3] = TOP - BASE - GUARD;
	w[MUSL_FIRST + 4] = GUARD;
}

static void test_musl_stack(void **state)
{
	const size_t first = MUSL_FIRST;
	uint64_t w[WORDS] = { TLS };
	struct range short_map = { map.start, map.end - 0x1000 };

	(void)state;
	set_musl(w);
	assert_true(in_musl(w, SP, &map));
	assert_false(in_musl(w, TOP, &map));
	assert_false(in_musl(w, BASE, &map));
	assert_false(in_musl(w, SP, &short_map));
	for (size_t i = first; i < first + 5; i++) {
		w[i] += 0x10;
		assert_false(in_musl(w, SP, &map));
		w[i] -= 0x10;
	}
	w[0]++;
	assert_false(in_musl(w, SP, &map));
	w[0]--;
	assert_false(libc_musl.stack(w, first + 4, TLS, SP, &map, &short_map));
	memset(w + 1, 0xff, sizeof(w) - sizeof(*w));
	assert_false(in_musl(w, SP, &map));
}

/* In glibc, thread-local data is part of the stack, and the position of the record varies. */
static void test_glibc_stack(void **state)
{
	uint64_t w[WORDS] = { TLS };
	struct range stack;

	(void)state;
	assert_false(libc_glibc.stack(w, WORDS, TLS, SP, &map, &stack));
	w[7] = BASE;
	w[8] = SIZE;
	w[9] = GUARD;
	assert_true(libc_glibc.stack(w, WORDS, TLS, SP, &map, &stack));
	assert_int_equal(stack.start, BASE + GUARD);
	assert_int_equal(stack.end, BASE + SIZE);
	assert_false(libc_glibc.stack(w, 9, TLS, SP, &map, &stack));
	w[9]++;
	assert_false(libc_glibc.stack(w, WORDS, TLS, SP, &map, &stack));
	w[9]--;
	w[0] = 0;
	assert_false(libc_glibc.stack(w, WORDS, TLS, SP, &map, &stack));
}

/* Protected pages count as part of the range that must contain the recorded stack. */
static void test_protected(void **state)
{
	const uint64_t above = BASE + GUARD + 0x4000;
	const struct range upper = { above, map.end };
	uint64_t w[WORDS] = { TLS };
	struct range stack;

	(void)state;
	w[7] = BASE;
	w[8] = SIZE;
	w[9] = GUARD;
	assert_false(libc_glibc.stack(w, WORDS, TLS, SP, &upper, &stack));
	assert_true(libc_glibc.stack(w, WORDS, TLS, SP, &map, &stack));
	assert_true(libc_glibc.stack(w, WORDS, TLS, BASE + GUARD, &map, &stack));
	assert_false(libc_glibc.stack(w, WORDS, TLS, BASE + GUARD - 8, &map, &stack));
	set_musl(w);
	assert_false(in_musl(w, SP, &upper));
	assert_true(in_musl(w, SP, &map));
}

static void test_attr(void **state)
{
	const struct musl_attr *musl = libc_musl.attr;
	const struct glibc_attr *glibc = libc_glibc.attr;

	(void)state;
	assert_int_equal(libc_musl.attr_size, sizeof(*musl));
	assert_int_equal(musl->stack_size, STACK_SIZE);
	assert_int_equal(musl->stack_addr, 0);
	assert_int_equal(musl->detach, 1);
	assert_int_equal(libc_glibc.attr_size, sizeof(*glibc));
	assert_int_equal(glibc->stack_size, STACK_SIZE);
	assert_int_equal(glibc->stack_addr, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_numbers),	    cmocka_unit_test(test_lists),
		cmocka_unit_test(test_signals),	    cmocka_unit_test(test_musl_stack),
		cmocka_unit_test(test_glibc_stack), cmocka_unit_test(test_protected),
		cmocka_unit_test(test_attr),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
