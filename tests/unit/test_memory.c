// SPDX-License-Identifier: Apache-2.0
#include "ops/target/memory.h"

#include "base/cleanup.h"

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

#define KIB 1024

static const struct memory_stacks no_stacks;

/* Mappings of a program, its data and its .bss, and memory of all kinds, with their use in KiB. */
static const struct {
	const char *line;
	struct memory_use use;
} some[] = {
	{ "00400000-00500000 r-xp 00000000 fe:00 1 /usr/bin/python3.11", { 512, 0, 508, 0 } },
	{ "00500000-00510000 rw-p 00100000 fe:00 1 /usr/bin/python3.11", { 64, 0, 4, 0 } },
	{ "00510000-00520000 rw-p 00000000 00:00 0 /usr/bin/python3.11", { 16, 0, 0, 0 } },
	{ "01000000-01100000 rw-p 00000000 00:00 0 [heap]", { 100, 8, 0, 0 } },
	{ "7f0000000000-7f0001000000 rw-p 00000000 00:00 0 ", { 8000, 0, 0, 0 } },
	{ "7f0002000000-7f0002800000 rw-p 00000000 00:00 0 ", { 40, 0, 0, 0 } },
	{ "7f0003000000-7f0003100000 rw-p 00000000 00:00 0 [anon:jemalloc_pg]", { 300, 0, 0, 0 } },
	{ "7f0004000000-7f0004100000 rw-s 00000000 00:01 9 /dev/zero (deleted)",
	  { 700, 0, 700, 0 } },
	{ "7f0005000000-7f0005100000 rw-s 00000000 00:01 9 /memfd:x (deleted)", { 7, 0, 7, 0 } },
	{ "7ffe00000000-7ffe00021000 rw-p 00000000 00:00 0 [stack]", { 20, 0, 0, 0 } },
};
#define N_SOME (sizeof(some) / sizeof(*some))

static void sum(struct memory *m, const char *text, const struct memory_use *use,
		const struct memory_stacks *stacks)
{
	_cleanup_(maps_fini) struct maps maps = { 0 };
	struct err err = ERR_INIT;

	assert_int_equal(maps_parse(&maps, strdup(text), strlen(text), &err), 0);
	assert_int_equal(memory_sum(m, &maps, use, stacks, &err), 0);
}

static void sum_some(struct memory *m, const struct memory_stacks *stacks)
{
	struct memory_use use[N_SOME];
	char text[4096] = "";

	for (size_t i = 0; i < N_SOME; i++) {
		strcat(strcat(text, some[i].line), "\n");
		use[i] = (struct memory_use){ some[i].use.present * KIB, some[i].use.swapped * KIB,
					      some[i].use.shared * KIB, 0 };
	}
	sum(m, text, use, stacks);
}

static void test_kinds(void **state)
{
	static uint64_t in_second[] = { 0x7f0002001000, 0x7ffe00001000, 1 };
	const struct memory_stacks stacks = { .v = in_second, .n = 3 };
	static const uint64_t wanted[MEMORY_KINDS] = {
		[MEMORY_JEMALLOC] = 300, [MEMORY_ANONYMOUS] = 8000,   [MEMORY_HEAP] = 100,
		[MEMORY_STACK] = 60,	 [MEMORY_DATA] = 4 + 60 + 16, [MEMORY_FILE] = 508 + 4,
		[MEMORY_SHARED] = 707,
	};
	uint64_t total = 0;
	struct memory m;

	(void)state;
	sum_some(&m, &stacks);
	for (size_t i = 0; i < MEMORY_KINDS; i++) {
		assert_int_equal(m.kinds[i].rss, wanted[i] * KIB);
		total += m.kinds[i].rss;
	}
	assert_int_equal(total, m.rss);
	assert_int_equal(m.swap, 8 * KIB);
	assert_int_equal(m.kinds[MEMORY_ANONYMOUS].size, 0x1000000);
	assert_int_equal(m.runtime, RUNTIME_PYTHON);
	/* control: without its stack pointer, a stack looks like any private memory */
	sum_some(&m, &no_stacks);
	assert_int_equal(m.kinds[MEMORY_STACK].rss, 20 * KIB);
	assert_int_equal(m.kinds[MEMORY_ANONYMOUS].rss, 8040 * KIB);
}

static void test_largest(void **state)
{
	struct memory m;

	(void)state;
	sum_some(&m, &no_stacks);
	assert_int_equal(m.n_items, 8);
	assert_int_equal(m.items[0].start, 0x7f0000000000);
	assert_string_equal(m.items[0].path, "");
	assert_string_equal(m.items[1].path, "/dev/zero (deleted)");
	/* all mappings of a file are one item */
	assert_string_equal(m.items[2].path, "/usr/bin/python3.11");
	assert_int_equal(m.items[2].sum.mappings, 3);
	assert_int_equal(m.items[2].sum.rss, 592 * KIB);
	assert_int_equal(m.items[2].sum.size, 0x120000);
}

/* Stacks of coroutines are in the heap, which therefore does not count as a stack. */
static void test_no_stacks(void **state)
{
	static uint64_t in_heap[] = { 0x7f0000001000, 0xc000001000 };
	const struct memory_stacks stacks = { .v = in_heap, .n = 2 };
	const struct memory_use use[] = { { .present = 100 * KIB }, { .present = 200 * KIB } };
	struct memory m;

	(void)state;
	sum(&m,
	    "c000000000-c000400000 rw-p 0 00:00 0 \n7f0000000000-7f0010000000 rw-p 0 00:00 0 \n",
	    use, &stacks);
	assert_int_equal(m.kinds[MEMORY_STACK].rss, 0);
	assert_int_equal(m.kinds[MEMORY_ANONYMOUS].rss, 300 * KIB);
	/* control: the same size holds many stacks */
	sum(&m, "7f0000000000-7f0004000000 rw-p 0 00:00 0 \n", use, &stacks);
	assert_int_equal(m.kinds[MEMORY_STACK].rss, 100 * KIB);
}

static void test_private(void **state)
{
	const struct memory_use use[] = { { .present = 100 * KIB }, { .present = 0 } };
	struct memory m;

	(void)state;
	sum(&m,
	    "7f0000000000-7f0000100000 rw-p 0 00:05 9 /dev/zero\n"
	    "7f1000000000-7f2000000000 ---p 0 00:00 0 \n",
	    use, &no_stacks);
	assert_int_equal(m.kinds[MEMORY_SHARED].rss, 0);
	assert_int_equal(m.kinds[MEMORY_ANONYMOUS].rss, 100 * KIB);
	assert_int_equal(m.barred, UINT64_C(0x1000000000));
}

static void test_runtimes(void **state)
{
	static const struct {
		const char *path;
		enum memory_runtime runtime;
	} files[] = {
		{ "/usr/lib/jvm/x/lib/server/libjvm.so", RUNTIME_JAVA },
		{ "/usr/sbin/mariadbd (deleted)", RUNTIME_INNODB },
		{ "/usr/bin/node", RUNTIME_V8 },
		{ "/opt/node/bin/app", RUNTIME_NONE },
		{ "/usr/lib/libpython3.11.so.1.0", RUNTIME_PYTHON },
		{ "/usr/bin/pythonic", RUNTIME_NONE },
	};
	const struct memory_use use = { .present = 4 * KIB };
	struct memory m;

	(void)state;
	for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++) {
		char text[256];

		snprintf(text, sizeof(text), "1000-2000 r-xp 0 fe:00 1 %s\n", files[i].path);
		sum(&m, text, &use, &no_stacks);
		assert_int_equal(m.runtime, files[i].runtime);
		/* a data file of that name does not count */
		snprintf(text, sizeof(text), "1000-2000 r--p 0 fe:00 1 %s\n", files[i].path);
		sum(&m, text, &use, &no_stacks);
		assert_int_equal(m.runtime, RUNTIME_NONE);
	}
	sum(&m, "c000000000-c000400000 rw-p 0 00:00 0 \n", &use, &no_stacks);
	assert_int_equal(m.runtime, RUNTIME_GO);
}

/* Returns false under AddressSanitizer: it reserves more address space than is accepted. */
static bool read_own(struct memory *m, const struct memory_stacks *stacks)
{
	struct err err = ERR_INIT;
	int ret = memory_read(m, getpid(), stacks, &err);

#ifdef __SANITIZE_ADDRESS__
	assert_int_equal(ret, -1);
	assert_int_equal(err.ids[0], ERROR_ADDRESS_SPACE_TOO_LARGE);
#else
	assert_int_equal(ret, 0);
#endif
	return !ret;
}

static uint64_t heap_begin(void)
{
	_cleanup_(maps_fini) struct maps maps = { 0 };
	struct err err = ERR_INIT;

	assert_int_equal(maps_read(&maps, getpid(), &err), 0);
	for (size_t i = 0; i < maps.n; i++)
		if (!strcmp(maps.v[i].path, "[heap]"))
			return maps.v[i].start;
	return UINT64_MAX;
}

static uint64_t resident(void)
{
	FILE *f = fopen("/proc/self/statm", "re");
	unsigned long pages;

	assert_non_null(f);
	assert_int_equal(fscanf(f, "%*u %lu", &pages), 1);
	fclose(f);
	return pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

static void read_pages(const volatile char *from, const volatile char *to)
{
	for (; from < to; from += sysconf(_SC_PAGESIZE))
		assert_int_equal(*from, 0);
}

/* Some kernels have no zero page for memory that was only read (PVM guests). */
static bool are_zeros_resident(void)
{
	const size_t size = 16 << 20;
	uint64_t before = resident();
	char *map = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	bool are;

	assert_ptr_not_equal(map, MAP_FAILED);
	read_pages(map, map + size);
	are = resident() > before + size / 2;
	munmap(map, size);
	return are;
}

/* Reads this process: some pages of a mapping were written, others were only read. */
static void test_read(void **state)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE), size = 64 << 20, written = 48 << 20;
	const size_t used = are_zeros_resident() ? size : written;
	_cleanup_(memory_stacks_fini) struct memory_stacks stacks = { .n = 0 };
	struct memory before, after;
	struct err err = ERR_INIT;
	char *map;

	(void)state;
	assert_int_equal(memory_stacks(&stacks, getpid(), &err), 0);
	if (!read_own(&before, &stacks))
		return;
	map = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(map, MAP_FAILED);
	madvise(map, size, MADV_NOHUGEPAGE);
	for (size_t i = 0; i < written; i += page)
		map[i] = 1;
	read_pages(map + written, map + size);
	assert_int_equal(memory_read(&after, getpid(), &stacks, &err), 0);
	assert_in_range(after.rss - before.rss, used, used + (1 << 20));
	assert_in_range(after.kinds[MEMORY_ANONYMOUS].rss - before.kinds[MEMORY_ANONYMOUS].rss,
			used, used + (1 << 20));
	munmap(map, size);
}

static char variables[4 << 20];
extern char _end[];

/* The kernel merges memory mapped right behind .bss into the same mapping. */
static void test_bss(void **state)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);
	char *end = _end + (page - (uintptr_t)_end % page) % page;
	size_t size = (size_t)(heap_begin() - (uintptr_t)end);
	struct memory before, after;

	(void)state;
	memset(variables, 1, sizeof(variables));
	size = size < 8 << 20 ? size : 8 << 20;
	/* If the heap follows directly, there is no gap to map. */
	if (size)
		assert_ptr_equal(mmap(end, size, PROT_READ | PROT_WRITE,
				      MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0),
				 end);
	if (!read_own(&before, &no_stacks))
		return;
	memset(end, 1, size);
	read_own(&after, &no_stacks);
	assert_in_range(after.kinds[MEMORY_DATA].rss, sizeof(variables),
			sizeof(variables) + (2 << 20));
	assert_in_range(after.kinds[MEMORY_DATA].rss - before.kinds[MEMORY_DATA].rss, 0, 64 * KIB);
	assert_in_range(after.kinds[MEMORY_ANONYMOUS].rss - before.kinds[MEMORY_ANONYMOUS].rss,
			size, size + (1 << 20));
	munmap(end, size);
}

/* The huge zero page is not part of RSS either. */
static void test_huge_zeros(void **state)
{
	const size_t size = 64 << 20, used = are_zeros_resident() ? size : 0;
	struct memory before, after;
	char *map;

	(void)state;
	if (!read_own(&before, &no_stacks))
		return;
	map = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(map, MAP_FAILED);
	madvise(map, size, MADV_HUGEPAGE);
	read_pages(map, map + size);
	read_own(&after, &no_stacks);
	assert_in_range(after.rss, before.rss + used - (1 << 20), before.rss + used + (1 << 20));
	munmap(map, size);
}

static void test_gone(void **state)
{
	struct err err = ERR_INIT;
	struct memory m;

	(void)state;
	assert_int_equal(memory_read(&m, 0x400000, &no_stacks, &err), -1);
	assert_int_equal(err.code, ERR_LOST);
}

static void test_message(void **state)
{
	_cleanup_(pack_fini) struct pack p = { .v = NULL };
	struct memory m, got;
	struct unpack u;

	(void)state;
	sum_some(&m, &no_stacks);
	memory_pack(&m, &p);
	u = (struct unpack){ .at = p.v, .end = p.v + p.len };
	memory_unpack(&got, &u);
	assert_true(unpack_done(&u));
	assert_memory_equal(&got, &m, sizeof(m));
	/* an inconsistent or truncated message is rejected */
	for (size_t cut = 1; cut < p.len; cut += 7) {
		u = (struct unpack){ .at = p.v, .end = p.v + p.len - cut };
		memory_unpack(&got, &u);
		assert_false(unpack_done(&u));
	}
	p.v[0] ^= 1;
	u = (struct unpack){ .at = p.v, .end = p.v + p.len };
	memory_unpack(&got, &u);
	assert_false(unpack_done(&u));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_kinds),	  cmocka_unit_test(test_largest),
		cmocka_unit_test(test_runtimes),  cmocka_unit_test(test_read),
		cmocka_unit_test(test_no_stacks), cmocka_unit_test(test_private),
		cmocka_unit_test(test_bss),	  cmocka_unit_test(test_huge_zeros),
		cmocka_unit_test(test_gone),	  cmocka_unit_test(test_message),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
