// SPDX-License-Identifier: Apache-2.0
/* Private to elf/: what the dynamic linker is asked to fill in. */
#ifndef ELF_IMAGE_RELOC_H
#define ELF_IMAGE_RELOC_H

#include "elf/image.h"

/* The name of the symbol whose address belongs at `slot`; false if there is none, or no name. */
bool image_reloc_name(struct image *img, uint64_t slot, char *buf, size_t size);

#endif
