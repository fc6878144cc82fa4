// SPDX-License-Identifier: Apache-2.0
/* Private to elf/: the file of an image that cannot be opened, from what is in memory. */
#ifndef ELF_IMAGE_REBUILD_H
#define ELF_IMAGE_REBUILD_H

#include "elf/image.h"

/*
 * A file with the loaded segments of `img` where its file has them, as they are
 * in the target's memory now: data as the program changed it, zeros where
 * nothing can be read. Of section headers it has those that can be told from
 * PT_DYNAMIC: .dynsym, .dynstr, .gnu.version, relocations; no .symtab, no debug
 * data, no name of a section.
 *
 * A descriptor for image_rebuild_close(), or -1: not a 64-bit image, its first
 * page is not mapped, all that are open together would be larger than
 * IMAGE_REBUILT_MAX, or there is no memory.
 */
#define IMAGE_REBUILT_MAX (UINT64_C(1) << 30)
int image_rebuild(const struct image *img);

void image_rebuild_close(int fd);

#endif
