// SPDX-License-Identifier: Apache-2.0
#include "elf/image_reloc.h"

#include "elf/image_file.h"
#include "elf/image_guard.h"

#include <gelf.h>
#include <stdio.h>
#include <string.h>

#define RELOCS_MAX (16u << 20)

struct wanted {
	const struct image *img;
	Elf *elf;
	uint64_t slot;
	char *buf;
	size_t size;
	bool found;
};

static void name_symbol(struct wanted *w, size_t section, size_t number)
{
	Elf_Scn *scn = elf_getscn(w->elf, section);
	Elf_Data *symbols = scn ? elf_getdata(scn, NULL) : NULL;
	const char *name;
	GElf_Shdr sh;
	GElf_Sym sym;

	if (!number || !symbols || !gelf_getshdr(scn, &sh) ||
	    !gelf_getsym(symbols, (int)number, &sym))
		return;
	name = elf_strptr(w->elf, sh.sh_link, sym.st_name);
	if (!name || !*name)
		return;
	snprintf(w->buf, w->size, "%s", name);
	w->found = true;
}

static void search_relocs(struct wanted *w, Elf_Scn *scn, const GElf_Shdr *sh)
{
	Elf_Data *relocs = elf_getdata(scn, NULL);
	size_t n = relocs ? relocs->d_size / gelf_fsize(w->elf, ELF_T_RELA, 1, EV_CURRENT) : 0;
	GElf_Rela rela;

	for (size_t i = 0; i < n && i < RELOCS_MAX; i++) {
		if (!gelf_getrela(relocs, (int)i, &rela) || rela.r_offset + w->img->bias != w->slot)
			continue;
		name_symbol(w, sh->sh_link, GELF_R_SYM(rela.r_info));
		return;
	}
}

static void search(void *arg)
{
	struct wanted *w = arg;
	Elf_Scn *scn = NULL;
	GElf_Shdr sh;

	while (!w->found && (scn = elf_nextscn(w->elf, scn)))
		if (gelf_getshdr(scn, &sh) && sh.sh_type == SHT_RELA && sh.sh_link)
			search_relocs(w, scn, &sh);
}

bool image_reloc_name(struct image *img, uint64_t slot, char *buf, size_t size)
{
	struct wanted w = {
		.img = img, .elf = image_elf(img), .slot = slot, .buf = buf, .size = size
	};

	if (!w.elf)
		return false;
	if (!image_guard(search, &w))
		img->file->elf = NULL;
	return w.found;
}
