// SPDX-License-Identifier: Apache-2.0
/* What an image's ELF header and program headers say. */
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

/* The same from the first bytes of a file, as far as they hold the program headers. */
bool image_head_parse(struct image_head *head, void *bytes, size_t len);

/*
 * What to add to the file's addresses when its part at `offset` is mapped at
 * `start` with the flags `flags`. False when no segment holds that part.
 */
bool image_head_bias(const struct image_head *head, uint64_t start, uint64_t offset,
		     unsigned int flags, uint64_t *bias);

/*
 * The address, without bias, of what the file has at `offset`; 0 unless just one segment of code
 * holds that.
 */
uint64_t image_head_code_at(const struct image_head *head, uint64_t offset);

/*
 * Are its segments where a loader puts them, with `bias` added, in a process
 * with these mappings, of which `map` is one of the file's? Else the file is only read.
 */
bool image_head_is_loaded(const struct image_head *head, const struct maps *maps,
			  const struct map *map, uint64_t bias);

/* Are the two of the same file, as maps tells files apart? */
bool image_head_same_file(const struct map *a, const struct map *b);

/* Lowest and highest address the segments claim, page-aligned, without bias. */
void image_head_extent(const struct image_head *head, uint64_t *low, uint64_t *high);

/* The GNU build id in the bytes of a PT_NOTE; its length, 0 if there is none. */
size_t image_head_build_id(const void *notes, size_t len, unsigned char *id, size_t size);

#endif
