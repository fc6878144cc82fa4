// SPDX-License-Identifier: Apache-2.0
/*
 * What an image's segments hold when it was loaded and has
 * not run yet, from its file: its bytes, zeros behind them, and pointers as the
 * dynamic linker sets them (ELF gABI "Relocation"; arch_reloc(); DT_RELR).
 * A pointer to what another image defines points to this image's first byte.
 */
#ifndef ELF_IMAGE_DATA_H
#define ELF_IMAGE_DATA_H

#include "elf/image.h"
#include "elf/image_head.h"
#include "process/maps.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

struct image;
struct image_data;
struct image_head;

/*
 * For an image whose file is open; it belongs to the image's file, which frees
 * it. NULL without memory, or with more than DATA_RELOCS_MAX relocations.
 */
#define DATA_RELOCS_MAX (1u << 20)
struct image_data *image_data_new(struct image *img, const struct image_head *head);
void image_data_free(struct image_data *data);

/* The page of 4096 bytes at `start`, an address in the image. False if no segment is there. */
bool image_data_page(const struct image_data *data, uint64_t start, unsigned char page[4096]);

/*
 * An image by its file alone. The owner of a process may
 * change any byte that it shows of a file that it has mapped, headers included;
 * what holds for every process that maps the file is what the file itself says.
 */

enum image_mapped {
	IMAGE_MAPPED_UNKNOWN, /* it cannot be read, or makes no sense */
	IMAGE_MAPPED_NONE,    /* it is no ELF file of 64 bits */
	IMAGE_MAPPED_FOUND,
};

/*
 * The image in the file of one of a process's mappings, laid out as a loader
 * would do it: no address in it is one of the process's. `out` is the caller's to
 * end, `head` is what its headers say, and `st` what fstat(2) says of the file,
 * where it could be opened. Touches nothing but the file.
 */
enum image_mapped images_open_mapped(struct images *out, pid_t pid, const struct map *map,
				     struct image_head *head, struct stat *st);

/*
 * Before its data is read in place of a process's memory: have its pointers set
 * (elf/image_data.h). False without memory, or where they are too many.
 */
bool image_mapped_relocate(struct image *img, const struct image_head *head) __must_check;

#endif
