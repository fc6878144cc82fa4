// SPDX-License-Identifier: Apache-2.0
/* Images of a process that may have ended: by their paths, and by their build ids. */
#include "elf/image.h"

#include "base/cleanup.h"
#include "elf/image_debug.h"
#include "elf/image_file.h"
#include "elf/image_guard.h"
#include "elf/image_head.h"

#include <elf.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

static void open_elf(void *arg)
{
	struct image_file *file = arg;

	elf_version(EV_CURRENT);
	file->elf = image_file_elf(file->fd);
}

struct look {
	const struct image_past *past;
	struct image *img;
	bool fits;
};

/* A file that has no code where the process had some is another one. */
static void look_at_file(void *arg)
{
	struct look *l = arg;
	struct image *img = l->img;
	unsigned char id[IMAGE_BUILD_ID_MAX];
	struct image_head head;
	size_t len;

	if (!image_head_read(&head, img->file->elf) ||
	    !image_head_bias(&head, l->past->start, l->past->offset, PF_R | PF_X, &img->bias))
		return;
	image_head_extent(&head, &img->start, &img->end);
	img->start += img->bias;
	img->end += img->bias;
	img->elf_class = head.elf_class;
	img->machine = head.machine;
	img->type = head.type;
	len = image_file_build_id(img->file->fd, id, sizeof(id));
	l->fits = !l->past->build_id_len ||
		  (len == l->past->build_id_len && !memcmp(id, l->past->build_id, len));
	if (l->fits) {
		memcpy(img->build_id, id, len);
		img->build_id_len = len;
	}
}

static enum image_past_found open_past(struct image *img, const struct image_past *past)
{
	struct image_file *file = img->file;
	struct look l = { .past = past, .img = img };

	file->tried = true;
	file->fd = image_file_open_in_root(file, past->path, IMAGE_FILE_MAX);
	image_guard(open_elf, file);
	if (!file->elf)
		return IMAGE_PAST_ABSENT;
	if (!image_guard(look_at_file, &l)) {
		file->elf = NULL;
		return IMAGE_PAST_ABSENT;
	}
	if (l.fits)
		return IMAGE_PAST_FOUND;
	elf_end(file->elf);
	file->elf = NULL;
	return IMAGE_PAST_OTHER;
}

int images_open_past(struct images *out, const struct image_past *past,
		     enum image_past_found *found, struct err *err)
{
	_cleanup_(images_fini) struct images got = { 0 };
	const struct map nowhere = { 0 };
	struct image *img;

	got.v = calloc(1, sizeof(*got.v));
	if (!got.v)
		return err_sys(err, ERR_FAILED, ENOMEM, "no memory for an image");
	got.n = 1;
	img = got.v;
	img->path = strdup(past->path);
	img->file = image_file_new(0, &nowhere);
	if (img->file)
		img->file->root = strdup(past->root);
	if (!img->path || !img->file || !img->file->root)
		return err_sys(err, ERR_FAILED, ENOMEM, "no memory for an image");
	*found = open_past(img, past);
	if (*found != IMAGE_PAST_FOUND && past->build_id_len &&
	    past->build_id_len <= sizeof(img->build_id)) {
		memcpy(img->build_id, past->build_id, past->build_id_len);
		img->build_id_len = past->build_id_len;
	}
	*out = got;
	got = (struct images){ 0 };
	return 0;
}

struct place {
	struct image *img;
	uint64_t start;
	bool known;
};

/*
 * A debug file has the segments' addresses, but not their places in the file
 * that was mapped. With one segment of code there is no doubt which it was.
 */
static void place_by_debug(void *ctx, Elf *elf)
{
	struct place *p = ctx;
	struct image *img = p->img;
	const struct segment *code = NULL;
	struct image_head head;

	if (!image_head_read(&head, elf))
		return;
	for (size_t i = 0; i < head.n_loads; i++) {
		if (!(head.loads[i].flags & PF_X))
			continue;
		if (code)
			return;
		code = &head.loads[i];
	}
	if (!code)
		return;
	img->bias = p->start - (code->vaddr & ~((uint64_t)getpagesize() - 1));
	image_head_extent(&head, &img->start, &img->end);
	img->start += img->bias;
	img->end += img->bias;
	p->known = true;
}

bool image_past_debug(struct image *img, uint64_t start, struct err *server)
{
	struct place p = { .img = img, .start = start };

	while (image_debug_next(img, server)) {
		if (image_elf(img) || (image_with_elf(img, true, place_by_debug, &p) && p.known))
			return true;
	}
	return false;
}
