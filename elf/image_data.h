// SPDX-License-Identifier: Apache-2.0
/*
 * The contents of an image's segments after loading, before it runs, computed from its file: its
 * bytes, zero fill, and relocated pointers (ELF gABI "Relocation"; arch_reloc(); DT_RELR). A
 * pointer to a symbol of another image points to this image's first byte.
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
 * For an image whose file is open; owned and freed by the image's file. NULL if out of memory, or
 * with more than DATA_RELOCS_MAX relocations.
 */
#define DATA_RELOCS_MAX (1u << 20)
struct image_data *image_data_new(struct image *img, const struct image_head *head);
void image_data_free(struct image_data *data);

/* The page of 4096 bytes at address `start` of the image. False if no segment is there. */
bool image_data_page(const struct image_data *data, uint64_t start, unsigned char page[4096]);

/*
 * An image from its file alone. A process can change any byte of its mapping of a file, including
 * headers; only the file itself is the same for every process that maps it.
 */

enum image_mapped {
	IMAGE_MAPPED_UNKNOWN, /* it cannot be read, or is invalid */
	IMAGE_MAPPED_NONE,    /* it is not a 64-bit ELF file */
	IMAGE_MAPPED_FOUND,
};

/*
 * The image in the file of one of a process's mappings, laid out as by a loader: its addresses are
 * not those in the process. The caller releases `out`. `head` receives its headers, and `st` the
 * result of fstat(2) if the file could be opened. Accesses only the file.
 */
enum image_mapped images_open_mapped(struct images *out, pid_t pid, const struct map *map,
				     struct image_head *head, struct stat *st);

/*
 * Relocate its pointers (elf/image_data.h). Call it before its data is read in place of a process's
 * memory. False if out of memory, or with too many relocations.
 */
bool image_mapped_relocate(struct image *img, const struct image_head *head) __must_check;

#endif
