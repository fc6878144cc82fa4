// SPDX-License-Identifier: Apache-2.0
/* The contents of an image's ELF header and program headers. */
#ifndef ELF_IMAGE_HEAD_H
#define ELF_IMAGE_HEAD_H

#include "elf/image.h"

#include <libelf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct map;
struct maps;

#define HEAD_LOADS_MAX 64
#define HEAD_NOTES_MAX 8

struct segment {
	uint64_t offset, vaddr, filesz, memsz;
	unsigned int flags; /* PF_R | PF_W | PF_X */
};

struct image_head {
	unsigned char elf_class;
	unsigned int machine, type;
	bool has_interp;
	struct segment loads[HEAD_LOADS_MAX];
	size_t n_loads;
	struct segment notes[HEAD_NOTES_MAX];
	size_t n_notes;
	struct segment eh_frame_hdr, dynamic, relro; /* memsz 0 if there is none */
};

/* False when `elf` has no usable program headers. */
bool image_head_read(struct image_head *head, Elf *elf);

/* The same from the first bytes of a file, if they include the program headers. */
bool image_head_parse(struct image_head *head, void *bytes, size_t len);

/* The flags of a segment (PF_*) that is mapped like this. */
unsigned int image_head_flags(const struct map *map);

/*
 * The offset from the file's addresses to those in memory, if file offset `offset` is mapped at
 * `start` with the flags `flags`. False when no segment contains that offset.
 */
bool image_head_bias(const struct image_head *head, uint64_t start, uint64_t offset,
		     unsigned int flags, uint64_t *bias);

/*
 * The address, without bias, of file offset `offset`; 0 unless exactly one code segment contains
 * it.
 */
uint64_t image_head_code_at(const struct image_head *head, uint64_t offset);

/*
 * Are its segments, with `bias` added, where a loader would put them in a process with these
 * mappings, of which `map` is one of the file? Otherwise the file is merely mapped for reading.
 */
bool image_head_is_loaded(const struct image_head *head, const struct maps *maps,
			  const struct map *map, uint64_t bias);

/* Are both of the same file, by the identification in maps? */
bool image_head_same_file(const struct map *a, const struct map *b);

/* Lowest and highest address of the segments, page-aligned, without bias. */
void image_head_extent(const struct image_head *head, uint64_t *low, uint64_t *high);

/* Find the GNU build ID in the bytes of a PT_NOTE; returns its length, or 0. */
size_t image_head_build_id(const void *notes, size_t len, unsigned char *id, size_t size);

#endif
