// SPDX-License-Identifier: Apache-2.0
/*
 * Debian's libgcc_eh.a is for glibc: it finds unwind tables by _dl_find_object() (glibc 2.35). A
 * libgcc for musl uses dl_iterate_phdr(3), and so does this replacement.
 */
#include <link.h>
#include <stddef.h>
#include <stdint.h>

struct answer { /* glibc's struct dl_find_object */
	unsigned long long flags;
	void *start, *end, *map, *eh_frame;
	unsigned long long reserved[7];
};

struct look {
	uintptr_t pc;
	struct answer *found;
};

static int visit(struct dl_phdr_info *info, size_t size, void *ctx)
{
	const struct look *l = ctx;
	const ElfW(Phdr) *code = NULL, *table = NULL;

	(void)size;
	for (size_t i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];

		if (p->p_type == PT_LOAD && l->pc - info->dlpi_addr - p->p_vaddr < p->p_memsz)
			code = p;
		if (p->p_type == PT_GNU_EH_FRAME)
			table = p;
	}
	if (!code || !table)
		return 0;
	*l->found = (struct answer){
		.start = (void *)(info->dlpi_addr + code->p_vaddr),
		.end = (void *)(info->dlpi_addr + code->p_vaddr + code->p_memsz),
		.eh_frame = (void *)(info->dlpi_addr + table->p_vaddr),
	};
	return 1;
}

int look_up(void *pc, struct answer *found) __asm__("_dl_find_object");
int look_up(void *pc, struct answer *found)
{
	struct look l = { (uintptr_t)pc, found };

	return dl_iterate_phdr(visit, &l) ? 0 : -1;
}
