// SPDX-License-Identifier: Apache-2.0
#include "elf/usdt.h"

#include "arch/machine.h"
#include "base/cleanup.h"
#include "elf/image_file.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/unit/look.h"

/* This program has probes of its own. */
#define _SDT_HAS_SEMAPHORES 1
#include <sys/sdt.h>

unsigned short test_usdt_one_semaphore __attribute__((section(".probes")));
unsigned short test_usdt_two_semaphore __attribute__((section(".probes")));

static __attribute__((noinline)) void probed(uint64_t a, int b)
{
	STAP_PROBE3(test_usdt, one, a, b, 7);
	STAP_PROBE(test_usdt, two);
	STAP_PROBE1(test_usdt, two, a);
}

struct seen {
	int one, two;
	struct usdt_probe first;
	size_t args_of_two;
};

static void see(void *ctx, const char *name, const struct usdt_probe *probe)
{
	struct seen *seen = ctx;

	if (!strcmp(name, "one") && !seen->one++)
		seen->first = *probe;
	if (!strcmp(name, "two")) {
		seen->two++;
		seen->args_of_two += probe->n_args;
	}
}

static void test_own_probes(void **state)
{
	_cleanup_(look_end) struct look look;
	struct seen seen = { 0 }, other = { 0 };
	struct image *img;
	unsigned char code = 0;
	uint16_t semaphore = 1;

	(void)state;
	probed(1, 2);
	look_at(&look, getpid());
	img = (struct image *)images_find(&look.images, (uintptr_t)probed);
	assert_int_equal(usdt_each(img, "test_usdt", see, &seen), 0);
	assert_int_equal(seen.one, 1);
	assert_int_equal(seen.two, 2);
	assert_int_equal(seen.args_of_two, 1);
	assert_int_equal(seen.first.n_args, 3);
	assert_int_equal(seen.first.args[1].size, 4);
	assert_true(seen.first.args[1].is_signed);
	assert_int_equal(seen.first.args[2].at.kind, ARCH_CONSTANT);
	assert_int_equal(seen.first.args[2].at.value, 7);
	/* Both are offsets in the file. */
	assert_int_equal(pread(img->file->fd, &code, 1, (off_t)seen.first.offset), 1);
	assert_true(arch_is_nop(&code, 1));
	assert_int_equal(pread(img->file->fd, &semaphore, 2, (off_t)seen.first.semaphore), 2);
	assert_int_equal(semaphore, 0);
	assert_int_equal(usdt_each(img, "test_usdt2", see, &other), 0);
	assert_int_equal(other.one + other.two, 0);
}

static void test_args(void **state)
{
	struct usdt_arg args[USDT_ARGS_MAX];

	(void)state;
	assert_int_equal(usdt_args("8@%rdi -4@-20(%rbp) 8@$-5", args), 3);
	assert_int_equal(args[0].at.kind, ARCH_REGISTER);
	assert_int_equal(args[0].at.reg, 5);
	assert_int_equal(args[0].size, 8);
	assert_false(args[0].is_signed);
	assert_int_equal(args[1].at.kind, ARCH_MEMORY);
	assert_int_equal(args[1].at.reg, 6);
	assert_int_equal(args[1].at.value, -20);
	assert_int_equal(args[1].size, 4);
	assert_true(args[1].is_signed);
	assert_int_equal(args[2].at.kind, ARCH_CONSTANT);
	assert_int_equal(args[2].at.value, -5);
	assert_int_equal(usdt_args("2@(%r12) 1@%r8b 4@%ecx 8@%rax", args), 3);
	assert_int_equal(args[0].at.kind, ARCH_MEMORY);
	assert_int_equal(args[0].at.value, 0);
	assert_int_equal(args[1].at.reg, 8);
	assert_int_equal(args[2].at.reg, 2);
	assert_int_equal(usdt_args("", args), 0);
}

/* The arguments before an unsupported one are parsed; those after it are not. */
static void test_strange_args(void **state)
{
	static const char *const strange[] = {
		"8@%rip",
		"8@%xmm0",
		"8@%rd",
		"8@%rdix",
		"8@counter(%rip)",
		"8@(%rax,%rbx,8)",
		"3@%rdi",
		"8f@%xmm0",
		"8%rdi",
		"8@",
		"@%rdi",
		"8@$",
		"8@-8(%rsp",
		"8@-8",
		"8@$99999999999999999999",
		"8@ %rdi",
		"0@%rdi",
		"9223372036854775808@%rdi",
	};
	struct usdt_arg args[USDT_ARGS_MAX];
	char text[80];

	(void)state;
	for (size_t i = 0; i < sizeof(strange) / sizeof(*strange); i++) {
		snprintf(text, sizeof(text), "8@%%rax %s 8@%%rsi", strange[i]);
		if (usdt_args(text, args) != 1)
			fail_msg("%s", text);
	}
}

static void test_nops(void **state)
{
	static const struct {
		const char *code;
		size_t len;
		bool is_nop;
	} codes[] = {
		{ "\x90", 1, true },
		{ "\x66\x90", 2, true },
		{ "\x0f\x1f\x00", 3, true },
		{ "\x0f\x1f\x44\x00\x00", 5, true },
		{ "\x66\x2e\x0f\x1f\x84\x00\x00\x00\x00\x00", 10, true },
		{ "", 0, false },
		{ "\x66", 1, false },
		{ "\x0f\x1f", 2, false },
		{ "\xf3\x90", 2, false },	  /* pause */
		{ "\x0f\x1f\x48\x00", 4, false }, /* reserved */
		{ "\xcc", 1, false },
		{ "\xc3\x90", 2, false },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(codes) / sizeof(*codes); i++)
		if (arch_is_nop((const unsigned char *)codes[i].code, codes[i].len) !=
		    codes[i].is_nop)
			fail_msg("code %zu", i);
}

static void test_message(void **state)
{
	_cleanup_(pack_fini) struct pack p = { 0 };
	struct usdt_probe probe = { .offset = 1, .semaphore = 2, .n_args = 2 }, got;
	struct unpack u;

	(void)state;
	assert_int_equal(usdt_args("8@%rdi -4@-20(%rbp)", probe.args), 2);
	usdt_pack(&probe, &p);
	u = (struct unpack){ .at = p.v, .end = p.v + p.len };
	usdt_unpack(&got, &u);
	assert_true(unpack_done(&u));
	assert_memory_equal(&got, &probe, sizeof(got));
	/* Each number in turn is too large. */
	for (size_t i = 2; i < p.len / 8; i++) {
		unsigned char was = p.v[8 * i + 1];

		p.v[8 * i + 1] = 1;
		u = (struct unpack){ .at = p.v, .end = p.v + p.len };
		usdt_unpack(&got, &u);
		assert_true(unpack_done(&u) == (i == 5 || i == 10)); /* values have no limit */
		p.v[8 * i + 1] = was;
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_args),	   cmocka_unit_test(test_strange_args),
		cmocka_unit_test(test_nops),	   cmocka_unit_test(test_message),
		cmocka_unit_test(test_own_probes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
