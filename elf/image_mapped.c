// SPDX-License-Identifier: Apache-2.0
/* The image in a file that a process has mapped, by what the file says and nothing else. */
#include "elf/image_mapped.h"

#include "base/cleanup.h"
#include "base/write.h"
#include "elf/image_data.h"
#include "elf/image_file.h"
#include "elf/image_guard.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Where a file that may be loaded anywhere is taken to be. */
#define SOMEWHERE (UINT64_C(1) << 40)

static void open_elf(void *arg)
{
	struct image_file *file = arg;

	elf_version(EV_CURRENT);
	file->elf = image_file_elf(file->fd);
}

struct look {
	struct image *img;
	struct image_head *head;
	bool ok;
};

static void read_head(void *arg)
{
	struct look *l = arg;

	l->ok = image_head_read(l->head, l->img->file->elf);
}

static bool set_code(struct image *img, const struct image_head *head)
{
	img->exec = calloc(head->n_loads, sizeof(*img->exec));
	if (!img->exec)
		return false;
	for (size_t i = 0; i < head->n_loads; i++) {
		const struct segment *s = &head->loads[i];

		if (s->flags & PF_X)
			img->exec[img->n_exec++] =
				(struct range){ img->bias + s->vaddr,
						img->bias + s->vaddr + s->memsz };
	}
	return true;
}

/* As if a loader had put it where nothing is. */
static bool lay_out(struct image *img, const struct image_head *head)
{
	image_head_extent(head, &img->start, &img->end);
	img->bias = head->type == ET_EXEC ? 0 : SOMEWHERE - img->start;
	img->start += img->bias;
	img->end += img->bias;
	img->is_loaded = true;
	img->elf_class = head->elf_class;
	img->machine = head->machine;
	img->type = head->type;
	img->has_interp = head->has_interp;
	img->is_main = head->has_interp || head->type == ET_EXEC;
	if (head->eh_frame_hdr.memsz) {
		img->eh_frame_hdr = img->bias + head->eh_frame_hdr.vaddr;
		img->eh_frame_hdr_size = head->eh_frame_hdr.memsz;
	}
	img->build_id_len =
		image_file_build_id(img->file->fd, img->build_id, sizeof(img->build_id));
	return set_code(img, head);
}

/* What libelf does not take for an ELF file of 64 bits holds none of ours. */
static bool is_foreign(int fd)
{
	unsigned char ident[EI_NIDENT] = { 0 };

	return read_at(fd, ident, sizeof(ident), 0) >= 0 &&
	       (memcmp(ident, ELFMAG, SELFMAG) != 0 || ident[EI_CLASS] != ELFCLASS64);
}

static enum image_mapped look_at(struct image *img, struct image_head *head)
{
	struct look l = { .img = img, .head = head };

	image_guard(open_elf, img->file);
	if (!img->file->elf)
		return is_foreign(img->file->fd) ? IMAGE_MAPPED_NONE : IMAGE_MAPPED_UNKNOWN;
	if (!image_guard(read_head, &l)) {
		img->file->elf = NULL;
		return IMAGE_MAPPED_UNKNOWN;
	}
	return l.ok && lay_out(img, head) ? IMAGE_MAPPED_FOUND : IMAGE_MAPPED_UNKNOWN;
}

enum image_mapped images_open_mapped(struct images *out, pid_t pid, const struct map *map,
				     struct image_head *head, struct stat *st)
{
	_cleanup_(images_fini) struct images got = { 0 };
	enum image_mapped ret;
	struct image *img;

	got.v = calloc(1, sizeof(*got.v));
	if (!got.v)
		return IMAGE_MAPPED_UNKNOWN;
	got.n = 1;
	img = got.v;
	img->path =
		strdup("/"); /* not as the process calls it: that leads to files of its choice */
	img->file = image_file_new(0, map);
	if (!img->path || !img->file)
		return IMAGE_MAPPED_UNKNOWN;
	img->file->tried = true;
	img->file->fd = image_file_open_mapped(pid, map, st);
	if (img->file->fd < 0)
		return IMAGE_MAPPED_UNKNOWN;
	ret = look_at(img, head);
	if (ret == IMAGE_MAPPED_FOUND) {
		*out = got;
		got = (struct images){ 0 };
	}
	return ret;
}

bool image_mapped_relocate(struct image *img, const struct image_head *head)
{
	img->file->data = image_data_new(img, head);
	return img->file->data;
}
