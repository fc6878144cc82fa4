// SPDX-License-Identifier: Apache-2.0
/*
 * Private to elf/: what an image's segments hold when it was loaded and has
 * not run yet, from its file: its bytes, zeros behind them, and pointers as the
 * dynamic linker sets them (ELF gABI "Relocation"; psABI x86-64, table 4.9; DT_RELR).
 * A pointer to what another image defines points to this image's first byte.
 */
#ifndef ELF_IMAGE_DATA_H
#define ELF_IMAGE_DATA_H

#include <stdbool.h>
#include <stdint.h>

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

#endif
