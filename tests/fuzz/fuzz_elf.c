// SPDX-License-Identifier: Apache-2.0
/* The ELF reader, on a file that somebody else made: symbols, sections, segments, notes. */
#include "target/image.h"
#include "target/image_file.h"
#include "target/image_head.h"
#include "target/jemalloc.h"
#include "target/jemalloc_text.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SIZE_MAX_ 65536 /* what is read from memory instead of a file, like the vdso */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int look(void *ctx, const char *name, const struct symbol *sym)
{
	const struct image *img = ctx;

	if (sym->type != STT_TLS && (sym->addr < img->start || sym->addr > img->end))
		abort();
	return strlen(name) > SIZE_MAX_;
}

static void use(struct image *img)
{
	struct jemalloc je = { .image = img, .mallctl = img->start + 0x1000 };
	struct symbol sym;
	struct range where;

	image_each_symbol(img, look, img);
	image_symbol(img, "mallctl", &sym);
	image_search(img, PF_R, "<jemalloc>", 10);
	if (image_section(img, ".eh_frame", &where) &&
	    (where.start < img->start || where.end > img->end || where.start >= where.end))
		abort();
	jemalloc_text(&je);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct range exec = { 0x10000, 0x10000 + SIZE_MAX_ };
	struct image img = { .path = "fuzz",
			     .start = exec.start,
			     .end = exec.end,
			     .bias = exec.start,
			     .exec = &exec,
			     .n_exec = 1 };
	unsigned char id[IMAGE_BUILD_ID_MAX];
	struct map map = { 0 };

	image_head_build_id(data, size, id, sizeof(id));
	if (!size || size > SIZE_MAX_)
		return 0;
	map.start = (uint64_t)(uintptr_t)data;
	map.end = map.start + size;
	img.file = image_file_new(getpid(), &map);
	if (!img.file)
		return 0;
	use(&img);
	image_file_free(img.file);
	return 0;
}
