// SPDX-License-Identifier: Apache-2.0
/* An image reconstructed from untrusted memory, and everything that is read from it. */
#include "elf/image_file.h"
#include "elf/image_head.h"
#include "tests/fuzz/fuzz_image.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void use(struct image *img)
{
	char name[64];

	img->file->tried = true;
	img->file->fd = image_rebuild(img);
	if (img->file->fd < 0)
		return;
	img->file->is_rebuilt = true;
	img->file->elf = image_file_elf(img->file->fd);
	image_each_symbol(img, fuzz_image_symbol, img);
	image_search(img, PF_R, "<jemalloc>", 10);
	image_reloc_name(img, img->start + 0x1000, name, sizeof(name));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static char *memory;
	char path[] = "fuzz";
	struct image img = { .path = path };
	const struct map map = { 0 };

	if (size > FUZZ_IMAGE_MAX)
		return 0;
	if (!memory)
		memory = mmap(NULL, FUZZ_IMAGE_MAX, PROT_READ | PROT_WRITE,
			      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (memory == MAP_FAILED)
		abort();
	memset(memory, 0, FUZZ_IMAGE_MAX);
	memcpy(memory, data, size);
	img.start = img.bias = (uintptr_t)memory;
	img.end = img.start + FUZZ_IMAGE_MAX;
	img.file = image_file_new(getpid(), &map);
	if (!img.file)
		return 0;
	use(&img);
	image_close(&img);
	return 0;
}
