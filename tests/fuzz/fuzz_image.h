// SPDX-License-Identifier: Apache-2.0
/* Shared by the fuzz targets that read an image from memory, like the vdso. */
#ifndef TESTS_FUZZ_FUZZ_IMAGE_H
#define TESTS_FUZZ_FUZZ_IMAGE_H

#include "elf/image_file.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FUZZ_IMAGE_MAX 65536

/* A file of these bytes, which must outlive it; NULL if there are none, or too many. */
static inline struct image_file *fuzz_image_file(const uint8_t *data, size_t size)
{
	const uint64_t start = (uint64_t)(uintptr_t)data;
	const struct map map = { .start = start, .end = start + size };

	return size && size <= FUZZ_IMAGE_MAX ? image_file_new(getpid(), &map) : NULL;
}

/* For image_each_symbol(): no symbol is outside of the image, `ctx`, and each name can be read. */
static inline int fuzz_image_symbol(void *ctx, const char *name, const struct symbol *sym)
{
	const struct image *img = ctx;

	if (sym->type != STT_TLS && (sym->addr < img->start || sym->addr > img->end))
		abort();
	return strlen(name) > FUZZ_IMAGE_MAX;
}

#endif
