// SPDX-License-Identifier: Apache-2.0
#include "elf/image_data.h"

#include "elf/image_file.h"
#include "elf/image_head.h"

#include <elf.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#define BIAS UINT64_C(0x7f0000000000)
#define AT 0x1000 /* offset of the words, in the file and in the image */

/* A file with one segment of words, three of which have packed relocations (DT_RELR). */
static const struct {
	Elf64_Ehdr head;
	Elf64_Shdr sections[3];
	uint64_t relr[2];
	char names[16];
} file = {
	.head = { .e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB,
			       EV_CURRENT },
		  .e_type = ET_DYN,
		  .e_machine = EM_X86_64,
		  .e_version = EV_CURRENT,
		  .e_shoff = sizeof(Elf64_Ehdr),
		  .e_ehsize = sizeof(Elf64_Ehdr),
		  .e_shentsize = sizeof(Elf64_Shdr),
		  .e_shnum = 3,
		  .e_shstrndx = 2 },
	.sections = { { 0 },
		      { .sh_type = 19,
			.sh_flags = SHF_ALLOC,
			.sh_offset = sizeof(Elf64_Ehdr) + 3 * sizeof(Elf64_Shdr),
			.sh_size = 2 * sizeof(uint64_t),
			.sh_entsize = sizeof(uint64_t),
			.sh_addralign = 8 },
		      { .sh_type = SHT_STRTAB,
			.sh_offset = sizeof(Elf64_Ehdr) + 3 * sizeof(Elf64_Shdr) + 16,
			.sh_size = 16,
			.sh_addralign = 1 } },
	/* The first word, then the first and the third of those that follow it. */
	.relr = { AT, 1 | 1 << 1 | 1 << 3 },
};

static void test_relr(void **state)
{
	const uint64_t words[] = { 0x10, 0x20, 0x30, 0x40, 0x50 };
	const struct image_head head = { .loads = { { .offset = AT,
						      .vaddr = AT,
						      .filesz = sizeof(words),
						      .memsz = 4096,
						      .flags = PF_R | PF_W } },
					 .n_loads = 1 };
	int fd = memfd_create("relr", MFD_CLOEXEC);
	struct image_file f = { .fd = fd };
	struct image img = { .file = &f, .bias = BIAS, .machine = EM_X86_64 };
	uint64_t page[512];
	struct image_data *d;

	(void)state;
	assert_int_equal(pwrite(fd, &file, sizeof(file), 0), sizeof(file));
	assert_int_equal(pwrite(fd, words, sizeof(words), AT), sizeof(words));
	elf_version(EV_CURRENT);
	f.elf = elf_begin(fd, ELF_C_READ, NULL);
	assert_non_null(f.elf);
	d = image_data_new(&img, &head);
	assert_non_null(d);
	assert_true(image_data_page(d, BIAS + AT, (unsigned char *)page));
	assert_int_equal(page[0], BIAS + 0x10);
	assert_int_equal(page[1], BIAS + 0x20);
	assert_int_equal(page[2], 0x30);
	assert_int_equal(page[3], BIAS + 0x40);
	assert_int_equal(page[4], 0x50);
	assert_int_equal(page[5], 0);
	image_data_free(d);
	elf_end(f.elf);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_relr),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
