// SPDX-License-Identifier: Apache-2.0
/* The ELF reader, on an untrusted file: symbols, sections, segments, notes. */
#include "elf/image.h"
#include "elf/image_head.h"
#include "elf/usdt.h"
#include "jemalloc/jemalloc.h"
#include "tests/fuzz/fuzz_image.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void use_probe(void *ctx, const char *name, const struct usdt_probe *probe)
{
	(void)ctx;
	if (!*name && probe->n_args > USDT_ARGS_MAX)
		abort();
}

static void use(struct image *img)
{
	struct jemalloc je = { .image = img, .mallctl = img->start + 0x1000 };
	struct jemalloc_text text;
	struct err ignored = ERR_INIT;
	struct symbol sym;
	struct range where;

	image_each_symbol(img, fuzz_image_symbol, img);
	image_symbol(img, "mallctl", &sym);
	usdt_each(img, "otel_memory", use_probe, NULL);
	image_search(img, PF_R, "<jemalloc>", 10);
	if (image_section(img, ".eh_frame", &where) &&
	    (where.start < img->start || where.end > img->end || where.start >= where.end))
		abort();
	if (jemalloc_text(&text, &je, getpid(), &ignored) == 0)
		jemalloc_text_fini(&text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct range exec = { 0x10000, 0x10000 + FUZZ_IMAGE_MAX };
	char path[] = "fuzz";
	struct image img = { .path = path,
			     .start = exec.start,
			     .end = exec.end,
			     .bias = exec.start,
			     .exec = &exec,
			     .n_exec = 1 };
	unsigned char id[IMAGE_BUILD_ID_MAX];

	image_head_build_id(data, size, id, sizeof(id));
	img.file = fuzz_image_file(data, size);
	if (!img.file)
		return 0;
	use(&img);
	image_close(&img);
	return 0;
}
