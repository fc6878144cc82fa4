// SPDX-License-Identifier: Apache-2.0
/*
 * Looking for bytes in an image. A file is read window by window: mapped, a
 * large program would take as much of our memory as it has bytes.
 */
#include "elf/image.h"

#include "base/pace.h"
#include "base/text.h"
#include "base/write.h"
#include "elf/image_file.h"
#include "elf/image_head.h"

#include <elf.h>
#include <string.h>
#include <unistd.h>

#define WINDOW (256u << 10)

struct search {
	unsigned int pflags;
	image_find_fn *find; /* NULL: what is looked for is `bytes` */
	const void *bytes;
	size_t len;
	uint64_t found;
};

static const char *find(const struct search *s, const char *bytes, size_t len)
{
	return s->find ? s->find(bytes, len) : text_search(bytes, len, s->bytes, s->len);
}

static int search_segment(void *ctx, unsigned int pflags, const char *bytes, size_t len,
			  uint64_t addr)
{
	struct search *s = ctx;
	const char *hit;

	if ((pflags & s->pflags) != s->pflags)
		return 0;
	hit = find(s, bytes, len);
	if (hit)
		s->found = addr + (uint64_t)(hit - bytes);
	return hit != NULL;
}

static void read_head(void *ctx, struct Elf *elf)
{
	struct image_head *head = ctx;

	if (!image_head_read(head, elf))
		head->n_loads = 0;
}

/* Linkers that give constants a segment of their own put none between the code. */
static bool has_constants(const struct image_head *head)
{
	for (size_t i = 0; i < head->n_loads; i++)
		if ((head->loads[i].flags & (PF_R | PF_W | PF_X)) == PF_R)
			return true;
	return false;
}

static void search_windows(struct search *s, int fd, const struct segment *segment, uint64_t bias)
{
	static char window[WINDOW];
	size_t kept = 0; /* of the window before: what is looked for may begin there */

	for (uint64_t at = 0; at < segment->filesz;) {
		uint64_t left = segment->filesz - at, room = sizeof(window) - kept;
		ssize_t got = read_at(fd, window + kept, left < room ? left : room,
				      (off_t)(segment->offset + at));
		const char *hit;
		size_t len;

		if (got <= 0)
			return;
		len = kept + (size_t)got;
		hit = find(s, window, len);
		if (hit) {
			s->found = bias + segment->vaddr + at - kept + (uint64_t)(hit - window);
			return;
		}
		at += (uint64_t)got;
		kept = len < s->len - 1 ? len : s->len - 1;
		memmove(window, window + len - kept, kept);
	}
}

static void search_file(struct search *s, struct image *img)
{
	struct image_head head = { 0 };
	unsigned int skipped;

	if (!image_with_elf(img, false, read_head, &head))
		return;
	skipped = !(s->pflags & PF_X) && has_constants(&head) ? PF_X : 0;
	for (size_t i = 0; i < head.n_loads && !s->found; i++) {
		const struct segment *segment = &head.loads[i];

		if ((segment->flags & s->pflags) == s->pflags && !(segment->flags & skipped))
			search_windows(s, img->file->fd, segment, img->bias);
		pace();
	}
}

static uint64_t search(struct search *s, struct image *img)
{
	if (!image_elf(img) || !s->len || s->len > WINDOW / 2)
		return 0;
	if (img->file->fd >= 0)
		search_file(s, img);
	else
		image_each_segment(img, search_segment, s);
	return s->found;
}

uint64_t image_search(struct image *img, unsigned int pflags, const void *bytes, size_t len)
{
	struct search s = { .pflags = pflags, .bytes = bytes, .len = len };

	return search(&s, img);
}

uint64_t image_search_code(struct image *img, image_find_fn *fn, size_t longest)
{
	struct search s = { .pflags = PF_X, .find = fn, .len = longest };

	return search(&s, img);
}
