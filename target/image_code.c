// SPDX-License-Identifier: Apache-2.0
#include "target/image_file.h"
#include "target/image_guard.h"
#include "target/image_head.h"

#include <elf.h>
#include <unistd.h>

struct code {
	struct image *img;
	struct image_head head;
	bool ok;
};

static void read_head(void *arg)
{
	struct code *c = arg;
	Elf *elf = image_elf(c->img);

	c->ok = elf && image_head_read(&c->head, elf);
}

size_t image_file_code(struct image *img, uint64_t addr, void *buf, size_t len)
{
	struct code c = { .img = img };

	if (!image_guard(read_head, &c) || !c.ok || img->file->fd < 0)
		return 0;
	for (size_t i = 0; i < c.head.n_loads; i++) {
		const struct segment *s = &c.head.loads[i];
		uint64_t at = addr - img->bias - s->vaddr;
		ssize_t got;

		if (!(s->flags & PF_X) || at >= s->filesz)
			continue;
		got = pread(img->file->fd, buf, len < s->filesz - at ? len : s->filesz - at,
			    (off_t)(s->offset + at));
		return got > 0 ? (size_t)got : 0;
	}
	return 0;
}
