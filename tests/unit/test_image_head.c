// SPDX-License-Identifier: Apache-2.0
#include "elf/image_head.h"

#include <gelf.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

/* Text and data share page 1 of the file, as an old linker lays them out. */
static const struct image_head head = {
	.loads = {
		{ .offset = 0, .vaddr = 0x400000, .filesz = 0x1800, .memsz = 0x1800,
		  .flags = PF_R | PF_X },
		{ .offset = 0x1800, .vaddr = 0x602800, .filesz = 0x900, .memsz = 0x5000,
		  .flags = PF_R | PF_W },
	},
	.n_loads = 2,
};

static void test_bias(void **state)
{
	uint64_t bias = 77;

	(void)state;
	assert_true(image_head_bias(&head, 0x400000, 0, PF_R | PF_X, &bias));
	assert_int_equal(bias, 0);
	assert_true(image_head_bias(&head, 0x10001000, 0x1000, PF_R | PF_X, &bias));
	assert_int_equal(bias, 0x10001000 - 0x401000);
	assert_true(image_head_bias(&head, 0x10002000, 0x1000, PF_R | PF_W, &bias));
	assert_int_equal(bias, 0x10002000 - 0x602000);
	assert_false(image_head_bias(&head, 0x400000, 0x3000, PF_R, &bias));
}

/* The layout of a small library by lld: code is not mapped at its file offset. */
static void test_code_at(void **state)
{
	struct image_head lld = {
		.loads = { { 0, 0, 0x500, 0x500, PF_R },
			   { 0x500, 0x1500, 0x300, 0x300, PF_R | PF_X },
			   { 0x800, 0x2800, 0x100, 0x200, PF_R | PF_W } },
		.n_loads = 3,
	};

	(void)state;
	assert_int_equal(image_head_code_at(&lld, 0x4ff), 0);
	assert_int_equal(image_head_code_at(&lld, 0x500), 0x1500);
	assert_int_equal(image_head_code_at(&lld, 0x7ff), 0x17ff);
	assert_int_equal(image_head_code_at(&lld, 0x800), 0);
	assert_int_equal(image_head_code_at(&lld, UINT64_MAX), 0);
	/* The offset is mapped twice, which is ambiguous. */
	lld.loads[2] = (struct segment){ 0x700, 0x9700, 0x100, 0x100, PF_R | PF_X };
	assert_int_equal(image_head_code_at(&lld, 0x6ff), 0x16ff);
	assert_int_equal(image_head_code_at(&lld, 0x700), 0);
}

static void test_extent(void **state)
{
	uint64_t low, high;

	(void)state;
	image_head_extent(&head, &low, &high);
	assert_int_equal(low, 0x400000);
	assert_int_equal(high, 0x608000);
}

static void test_no_elf(void **state)
{
	char bytes[4096] = "\177ELF";
	struct image_head got;

	(void)state;
	assert_false(image_head_parse(&got, bytes, 0));
	assert_false(image_head_parse(&got, bytes, 4));
	assert_false(image_head_parse(&got, bytes, sizeof(bytes)));
	memset(bytes, 0xff, sizeof(bytes));
	assert_false(image_head_parse(&got, bytes, sizeof(bytes)));
}

/* A segment that wraps around the address space, and an excessive number of segments. */
static void test_absurd_segments(void **state)
{
	struct {
		Elf64_Ehdr eh;
		Elf64_Phdr ph[HEAD_LOADS_MAX + 1];
	} file = { .eh = { .e_type = ET_DYN,
			   .e_machine = EM_X86_64,
			   .e_version = EV_CURRENT,
			   .e_phoff = sizeof(Elf64_Ehdr),
			   .e_ehsize = sizeof(Elf64_Ehdr),
			   .e_phentsize = sizeof(Elf64_Phdr),
			   .e_phnum = 1 },
		   .ph = { { .p_type = PT_LOAD, .p_filesz = 4096, .p_memsz = 4096 } } };
	struct image_head got;

	(void)state;
	memcpy(file.eh.e_ident, ELFMAG, SELFMAG);
	file.eh.e_ident[EI_CLASS] = ELFCLASS64;
	file.eh.e_ident[EI_DATA] = ELFDATA2LSB;
	file.eh.e_ident[EI_VERSION] = EV_CURRENT;
	assert_true(image_head_parse(&got, &file, sizeof(file)));
	assert_int_equal(got.n_loads, 1);
	file.ph[0].p_vaddr = UINT64_MAX - 100;
	assert_false(image_head_parse(&got, &file, sizeof(file)));
	file.ph[0].p_vaddr = 0;
	file.ph[0].p_filesz = 8192;
	assert_false(image_head_parse(&got, &file, sizeof(file)));
	file.ph[0].p_filesz = 0;
	for (size_t i = 1; i <= HEAD_LOADS_MAX; i++)
		file.ph[i] = file.ph[0];
	file.eh.e_phnum = HEAD_LOADS_MAX + 1;
	assert_false(image_head_parse(&got, &file, sizeof(file)));
	file.eh.e_phnum = 0;
	assert_false(image_head_parse(&got, &file, sizeof(file)));
}

static void test_build_id(void **state)
{
	static const uint32_t other[] = { 4, 4, 1, 0x00554e47, 0x1234 };
	static const uint32_t id[] = { 4, 6, NT_GNU_BUILD_ID, 0x00554e47, 0x04030201, 0x0605 };
	static const uint32_t huge[] = { UINT32_MAX, UINT32_MAX, NT_GNU_BUILD_ID, 0x00554e47 };
	unsigned char notes[sizeof(other) + sizeof(id)], got[8];

	(void)state;
	memcpy(notes, other, sizeof(other));
	memcpy(notes + sizeof(other), id, sizeof(id));
	assert_int_equal(image_head_build_id(notes, sizeof(notes), got, sizeof(got)), 6);
	assert_memory_equal(got, "\1\2\3\4\5\6", 6);
	for (size_t len = 0; len < sizeof(notes) - 4; len++)
		assert_int_equal(image_head_build_id(notes, len, got, sizeof(got)), 0);
	assert_int_equal(image_head_build_id(notes, sizeof(notes), got, 5), 0);
	assert_int_equal(image_head_build_id(huge, sizeof(huge), got, sizeof(got)), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_bias),	 cmocka_unit_test(test_extent),
		cmocka_unit_test(test_no_elf),	 cmocka_unit_test(test_absurd_segments),
		cmocka_unit_test(test_build_id), cmocka_unit_test(test_code_at),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
