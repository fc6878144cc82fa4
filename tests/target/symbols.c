// SPDX-License-Identifier: Apache-2.0
#include "tests/target/symbols.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static void each_of(const char *elf, const Elf64_Shdr *sections, const Elf64_Shdr *table,
		    uint64_t base, symbols_fn *fn)
{
	const Elf64_Sym *sym = (const Elf64_Sym *)(elf + table->sh_offset);
	const char *names = elf + sections[table->sh_link].sh_offset;

	for (size_t i = 0; i < table->sh_size / sizeof(*sym); i++)
		if (sym[i].st_shndx != SHN_UNDEF)
			fn(names + sym[i].st_name, base + sym[i].st_value, &sym[i],
			   table->sh_type == SHT_DYNSYM);
}

bool symbols_each(const char *path, uint64_t base, symbols_fn *fn)
{
	const Elf64_Ehdr *head;
	const Elf64_Shdr *sections;
	struct stat st;
	int fd = open(path, O_RDONLY);
	const char *elf;

	if (fd < 0 || fstat(fd, &st))
		return false;
	elf = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	close(fd);
	if (elf == MAP_FAILED)
		return false;
	head = (const Elf64_Ehdr *)elf;
	sections = (const Elf64_Shdr *)(elf + head->e_shoff);
	for (size_t i = 0; i < head->e_shnum; i++)
		if (sections[i].sh_type == SHT_DYNSYM || sections[i].sh_type == SHT_SYMTAB)
			each_of(elf, sections, &sections[i], base, fn);
	munmap((void *)elf, (size_t)st.st_size);
	return true;
}

bool symbols_each_of_debug_file(const struct dl_phdr_info *info, symbols_fn *fn)
{
	char path[256] = "/usr/lib/debug/.build-id/";
	size_t len = strlen(path);

	for (size_t i = 0; i < info->dlpi_phnum; i++) {
		const unsigned char *at =
			(const unsigned char *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
		const Elf64_Nhdr *note = (const Elf64_Nhdr *)at;

		if (info->dlpi_phdr[i].p_type != PT_NOTE || note->n_type != NT_GNU_BUILD_ID)
			continue;
		at += sizeof(*note) + sizeof("GNU");
		for (size_t j = 0; j < note->n_descsz && len < sizeof(path) - 16; j++)
			len += (size_t)snprintf(path + len, sizeof(path) - len,
						j ? "%02x" : "%02x/", at[j]);
		snprintf(path + len, sizeof(path) - len, ".debug");
		return symbols_each(path, info->dlpi_addr, fn);
	}
	return false;
}

bool symbols_is_libc(const struct dl_phdr_info *info)
{
	const char *slash = strrchr(info->dlpi_name, '/'), *name = slash ? slash + 1 : "";

	return !strncmp(name, "libc.so.6", 9) || !strncmp(name, "libc-2.", 7) ||
	       !strncmp(name, "libpthread", 10) || !strncmp(name, "ld-musl-", 8);
}
