// SPDX-License-Identifier: Apache-2.0
/* Walks a copy of this program's own stack. */
#include "ops/stacks/walk.h"

#include "process/maps.h"
#include "process/proc.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>
#include <unistd.h>

#include <cmocka.h>

#define SP 7
#define DEPTH 64

static const int dwarf[PROBE_REGS] = { REG_RAX, REG_RDX, REG_RCX, REG_RBX, REG_RSI, REG_RDI,
				       REG_RBP, REG_RSP, REG_R8,  REG_R9,  REG_R10, REG_R11,
				       REG_R12, REG_R13, REG_R14, REG_R15, REG_RIP };
static struct images images;
static struct stack_copy copy;

/* Copy the registers and the stack as a probe here would. Walks start in this function. */
static __attribute__((noinline)) void take_copy(void)
{
	ucontext_t here;
	struct err err;

	assert_int_equal(getcontext(&here), 0);
	for (int i = 0; i < PROBE_REGS; i++)
		copy.regs[i] = (uint64_t)here.uc_mcontext.gregs[dwarf[i]];
	copy.len = 0;
	while (copy.len < sizeof(copy.bytes) &&
	       !proc_read(getpid(), copy.regs[SP] + copy.len, copy.bytes + copy.len,
			  STACK_COPY_STEP, &err))
		copy.len += STACK_COPY_STEP;
}

static __attribute__((noinline)) void call_with_room(void (*fn)(void))
{
	volatile char room[2 * STACK_COPY_SIZE];

	room[0] = room[sizeof(room) - 1] = 1;
	fn();
	room[1] = 1;
}

/* Does `addr`, a return address, lie in the function? */
static bool is_in(uint64_t addr, const void *fn)
{
	return addr >= (uintptr_t)fn && addr < (uintptr_t)fn + 4096;
}

static size_t find(const uint64_t *addrs, size_t n, const void *fn)
{
	for (size_t i = 0; i < n; i++)
		if (is_in(addrs[i], fn))
			return i;
	return n;
}

static struct stack_walker walker;

static size_t walk(bool gone_on, uint64_t *addrs, bool *whole)
{
	stack_walker_init(&walker, &images, getpid(), gone_on);
	return stack_walk(&walker, &copy, addrs, DEPTH, whole);
}

static void test_whole(void **state)
{
	uint64_t addrs[DEPTH];
	bool whole;
	size_t n;

	(void)state;
	take_copy();
	n = walk(true, addrs, &whole);
	assert_true(whole);
	assert_true(n > 3);
	assert_true(is_in(addrs[0], take_copy));
	assert_int_equal(find(addrs, n, test_whole), 1);
}

/*
 * Beyond the copy, the stack of a thread that still waits is read from memory. If the thread has
 * continued, the walk ends there.
 */
static void test_longer_than_the_copy(void **state)
{
	uint64_t addrs[DEPTH];
	bool whole;
	size_t n;

	(void)state;
	call_with_room(take_copy);
	n = walk(true, addrs, &whole);
	assert_false(whole);
	assert_int_equal(find(addrs, n, test_longer_than_the_copy), n);
	n = walk(false, addrs, &whole);
	assert_true(whole);
	assert_in_range(find(addrs, n, test_longer_than_the_copy), 1, n - 1);
}

static void test_no_copy(void **state)
{
	uint64_t addrs[DEPTH];
	bool whole;

	(void)state;
	take_copy();
	copy.len = 0;
	assert_int_equal(walk(true, addrs, &whole), 1);
	assert_false(whole);
	/* An invalid stack pointer does no harm. */
	copy.len = sizeof(copy.bytes);
	copy.regs[SP] = UINT64_MAX - 8;
	walk(true, addrs, &whole);
	copy.regs[PROBE_REGS - 1] = 0x1234; /* the instruction pointer */
	assert_int_equal(walk(true, addrs, &whole), 1);
	assert_false(whole);
}

static void test_ends_at_the_limit(void **state)
{
	uint64_t addrs[2] = { 0 };
	bool whole;

	(void)state;
	take_copy();
	stack_walker_init(&walker, &images, getpid(), true);
	assert_int_equal(stack_walk(&walker, &copy, addrs, 2, &whole), 2);
	assert_false(whole);
	assert_true(is_in(addrs[1], test_ends_at_the_limit));
}

static int read_own_images(void **state)
{
	struct maps maps = { 0 };
	struct err err;
	int failed =
		maps_read(&maps, getpid(), &err) || images_read(&images, getpid(), &maps, &err);

	(void)state;
	maps_fini(&maps);
	return failed;
}

static int close_images(void **state)
{
	(void)state;
	images_fini(&images);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_whole),
		cmocka_unit_test(test_longer_than_the_copy),
		cmocka_unit_test(test_no_copy),
		cmocka_unit_test(test_ends_at_the_limit),
	};

	return cmocka_run_group_tests(tests, read_own_images, close_images);
}
