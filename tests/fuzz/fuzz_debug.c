// SPDX-License-Identifier: Apache-2.0
/* Symbols from outside a file's own tables: .gnu_debugdata, .gnu_debuglink, the build id. */
#include "elf/image.h"
#include "elf/image_debug.h"
#include "elf/image_file.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define SIZE_MAX_ (1u << 20)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void open_elf(void *arg)
{
	struct image_file *file = arg;

	elf_version(EV_CURRENT);
	file->elf = image_file_elf(file->fd);
}

static int look(void *ctx, const char *name, const struct symbol *sym)
{
	const struct image *img = ctx;

	if (sym->type != STT_TLS && (sym->addr < img->start || sym->addr > img->end))
		abort();
	return strlen(name) > SIZE_MAX_;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char path[] = "/tmp/fuzz";
	struct range exec = { 0x10000, 0x10000 + SIZE_MAX_ };
	struct image img = { .path = path,
			     .start = exec.start,
			     .end = exec.end,
			     .bias = exec.start,
			     .exec = &exec,
			     .n_exec = 1,
			     .build_id = { 1, 2 },
			     .build_id_len = 20 };
	struct map map = { .inode = 1 };

	img.file = image_file_new(getpid(), &map);
	if (!img.file)
		return 0;
	img.file->fd = memfd_create("fuzz", MFD_CLOEXEC);
	img.file->tried = true;
	if (size <= SIZE_MAX_ && write(img.file->fd, data, size) == (ssize_t)size &&
	    image_guard(open_elf, img.file)) {
		image_is_stripped(&img);
		image_may_call(&img, "madvise");
		image_search(&img, 0, "jemalloc", 8);
		while (image_debug_next(&img, NULL))
			image_each_symbol(&img, look, &img);
	}
	image_close(&img);
	return 0;
}
