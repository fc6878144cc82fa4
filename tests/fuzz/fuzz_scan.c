// SPDX-License-Identifier: Apache-2.0
/* The search for a jemalloc without symbols, in an untrusted file. */
#include "elf/image_head.h"
#include "jemalloc/options.h"
#include "jemalloc/scan.h"
#include "tests/fuzz/fuzz_image.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void note_control(void *ctx, uint64_t addr)
{
	*(uint64_t *)ctx ^= addr;
}

static void use(struct image *img)
{
	static struct scan scan;
	char said[200] = "", name[64];
	unsigned int file_arg;
	uint64_t mallctl, event, opt[JEMALLOC_OPTS] = { 0 };

	scan_open(&scan, img, getpid());
	mallctl = scan_mallctl(&scan, said, sizeof(said));
	if (mallctl ? mallctl < img->start || mallctl >= img->end : !*said)
		abort();
	scan_stats_print(&scan, img->start + 0x1000);
	options_find_prof(&scan);
	options_find_unwinder(&scan);
	options_find(&scan, img->start + 0x1000, opt);
	options_find_active(&scan);
	scan_prof_dump(&scan, &file_arg);
	options_find_word(&scan, "tcache_gc_incr_bytes");
	event = scan_event_trigger(&scan, img->start + 0x1000, img->start + 0x3000);
	if (event && !image_has_code(scan.image, event))
		abort();
	scan_open_code(&scan, img, getpid());
	decode_probe(&scan.code, event);
	scan_open(&scan, img, getpid());
	scan_control(&scan, img->start + 0x1000, note_control, &mallctl);
	image_reloc_name(img, img->start + 0x3000, name, sizeof(name));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const uint64_t start = (uint64_t)(uintptr_t)data;
	struct range exec = { start, start + size };
	char path[] = "fuzz";
	struct image img = { .path = path,
			     .start = exec.start,
			     .end = exec.end,
			     .bias = exec.start,
			     .exec = &exec,
			     .n_exec = 1,
			     .elf_class = ELFCLASS64,
			     .machine = EM_X86_64,
			     .eh_frame_hdr = start + size / 2,
			     .eh_frame_hdr_size = size / 2 };

	img.file = fuzz_image_file(data, size);
	if (!img.file)
		return 0;
	use(&img);
	image_close(&img);
	return 0;
}
