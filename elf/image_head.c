// SPDX-License-Identifier: Apache-2.0

#include "elf/image_head.h"

#include "process/maps.h"

#include <gelf.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define PHDRS_MAX 512

static uint64_t page_down(uint64_t addr)
{
	return addr & ~((uint64_t)getpagesize() - 1);
}

static uint64_t page_up(uint64_t addr)
{
	return page_down(addr + (uint64_t)getpagesize() - 1);
}

static bool add_segment(struct image_head *head, const GElf_Phdr *ph)
{
	struct segment s = { ph->p_offset, ph->p_vaddr, ph->p_filesz, ph->p_memsz, ph->p_flags };
	const uint64_t limit = UINT64_C(1) << 56;

	/* Reject a segment that wraps around or covers the address space. */
	if (s.offset >= limit || s.vaddr >= limit || s.memsz >= limit || s.filesz > s.memsz)
		return ph->p_type != PT_LOAD;
	if (ph->p_type == PT_LOAD) {
		if (head->n_loads == HEAD_LOADS_MAX)
			return false;
		head->loads[head->n_loads++] = s;
	} else if (ph->p_type == PT_NOTE && head->n_notes < HEAD_NOTES_MAX) {
		head->notes[head->n_notes++] = s;
	} else if (ph->p_type == PT_GNU_EH_FRAME) {
		head->eh_frame_hdr = s;
	} else if (ph->p_type == PT_DYNAMIC) {
		head->dynamic = s;
	} else if (ph->p_type == PT_GNU_RELRO) {
		head->relro = s;
	} else if (ph->p_type == PT_INTERP) {
		head->has_interp = true;
	}
	return true;
}

bool image_head_read(struct image_head *head, Elf *elf)
{
	struct image_head got = { 0 };
	GElf_Ehdr eh;
	size_t n;

	if (!gelf_getehdr(elf, &eh) || elf_getphdrnum(elf, &n) || !n || n > PHDRS_MAX)
		return false;
	got.elf_class = eh.e_ident[EI_CLASS];
	got.machine = eh.e_machine;
	got.type = eh.e_type;
	for (size_t i = 0; i < n; i++) {
		GElf_Phdr ph;

		if (!gelf_getphdr(elf, (int)i, &ph) || !add_segment(&got, &ph))
			return false;
	}
	if (!got.n_loads)
		return false;
	*head = got;
	return true;
}

bool image_head_parse(struct image_head *head, void *bytes, size_t len)
{
	Elf *elf;
	bool ok;

	/* Most mappings are not ELF files: avoid calling libelf for them. */
	if (len < EI_NIDENT || memcmp(bytes, ELFMAG, SELFMAG) != 0)
		return false;
	elf_version(EV_CURRENT);
	elf = elf_memory(bytes, len);
	ok = elf && image_head_read(head, elf);
	elf_end(elf);
	return ok;
}

/* Adjacent segments may share a page of the file: choose the one with the same flags. */
unsigned int image_head_flags(const struct map *map)
{
	return (map->prot & MAP_R ? PF_R : 0) | (map->prot & MAP_W ? PF_W : 0) |
	       (map->prot & MAP_X ? PF_X : 0);
}

bool image_head_bias(const struct image_head *head, uint64_t start, uint64_t offset,
		     unsigned int flags, uint64_t *bias)
{
	const struct segment *best = NULL;

	for (size_t i = 0; i < head->n_loads; i++) {
		const struct segment *s = &head->loads[i];

		if (s->filesz && page_down(s->offset) <= offset && offset < s->offset + s->filesz &&
		    (!best || s->flags == flags))
			best = s;
		if (best && best->flags == flags)
			break;
	}
	if (!best)
		return false;
	*bias = start - (offset - page_down(best->offset)) - page_down(best->vaddr);
	return true;
}

uint64_t image_head_code_at(const struct image_head *head, uint64_t offset)
{
	uint64_t addr = 0;

	for (size_t i = 0; i < head->n_loads; i++) {
		const struct segment *s = &head->loads[i];

		if (!(s->flags & PF_X) || offset < s->offset || offset - s->offset >= s->filesz)
			continue;
		if (addr)
			return 0;
		addr = s->vaddr + (offset - s->offset);
	}
	return addr;
}

void image_head_extent(const struct image_head *head, uint64_t *low, uint64_t *high)
{
	*low = UINT64_MAX;
	*high = 0;
	for (size_t i = 0; i < head->n_loads; i++) {
		const struct segment *s = &head->loads[i];

		if (page_down(s->vaddr) < *low)
			*low = page_down(s->vaddr);
		if (page_up(s->vaddr + s->memsz) > *high)
			*high = page_up(s->vaddr + s->memsz);
	}
}

bool image_head_same_file(const struct map *a, const struct map *b)
{
	return a->inode == b->inode && a->dev_major == b->dev_major &&
	       a->dev_minor == b->dev_minor && !strcmp(a->path, b->path);
}

/* Does the segment begin there, with bytes of the file or replaced ones (text on huge pages)? */
static bool begins_at(const struct maps *maps, const struct map *map, const struct segment *s,
		      uint64_t bias)
{
	const struct map *m = maps_find(maps, bias + s->vaddr);

	return m && (!s->filesz || !image_head_same_file(m, map) ||
		     m->offset + (bias + s->vaddr - m->start) == s->offset);
}

/* The part that the loader protects after relocation (PT_GNU_RELRO) may be all of the data. */
static bool may_write(const struct image_head *head, const struct maps *maps, uint64_t vaddr,
		      uint64_t bias)
{
	const struct map *m = maps_find(maps, bias + vaddr);

	return m && ((m->prot & MAP_W) ||
		     (vaddr >= head->relro.vaddr && vaddr - head->relro.vaddr < head->relro.memsz));
}

/*
 * A tool that reads a file may map all of it in one piece, even executable: with READ_IMPLIES_EXEC
 * (personality(2)) every readable mapping is. Then its data is not where its code expects it, or
 * not writable.
 */
bool image_head_is_loaded(const struct image_head *head, const struct maps *maps,
			  const struct map *map, uint64_t bias)
{
	const struct segment *data = NULL;

	for (size_t i = 0; i < head->n_loads; i++) {
		const struct segment *s = &head->loads[i];

		if (s->memsz && !begins_at(maps, map, s, bias))
			return false;
		if (s->memsz && (s->flags & PF_W) && (!data || s->vaddr > data->vaddr))
			data = s;
	}
	if (!data)
		return true;
	return may_write(head, maps, data->vaddr + data->memsz - 1, bias) &&
	       (!data->filesz || may_write(head, maps, data->vaddr + data->filesz - 1, bias));
}

size_t image_head_build_id(const void *notes, size_t len, unsigned char *id, size_t size)
{
	static const char owner[] = "GNU";
	const unsigned char *p = notes;
	Elf64_Nhdr note; /* the same for both classes */

	while (len >= sizeof(note)) {
		size_t name, desc;

		memcpy(&note, p, sizeof(note));
		name = ((size_t)note.n_namesz + 3) & ~(size_t)3;
		desc = ((size_t)note.n_descsz + 3) & ~(size_t)3;
		p += sizeof(note);
		len -= sizeof(note);
		if (name > len || desc > len - name)
			return 0;
		if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == sizeof(owner) &&
		    !memcmp(p, owner, sizeof(owner)) && note.n_descsz <= size) {
			memcpy(id, p + name, note.n_descsz);
			return note.n_descsz;
		}
		p += name + desc;
		len -= name + desc;
	}
	return 0;
}
