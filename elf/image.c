// SPDX-License-Identifier: Apache-2.0

#include "elf/image.h"

#include "base/cleanup.h"
#include "base/text.h"
#include "base/vec.h"
#include "elf/image_data.h"
#include "elf/image_debug.h"
#include "elf/image_file.h"
#include "elf/image_head.h"
#include "process/proc.h"
#include "process/procfs.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/*
 * Images are found through their executable mappings, not through every mapped file: data files, of
 * which there may be thousands, are never examined. Headers are read from the target's memory;
 * files are not opened until symbols are needed.
 */

#define MAX_IMAGES 4096
#define MAX_AUXV 4096
#define HEAD_SIZE 4096
#define LOOK_BACK 32 /* mappings between an image's first one and its text */

void image_close(struct image *img)
{
	if (!img->file)
		return;
	image_debug_fini(&img->file->debug);
	image_data_free(img->file->data);
	image_file_free(img->file);
	img->file = NULL;
}

static void drop_last(struct images *images)
{
	struct image *img = &images->v[--images->n];

	free(img->path);
	free(img->symbols_from);
	free(img->exec);
	image_close(img);
}

void images_fini(struct images *images)
{
	while (images->n)
		drop_last(images);
	free(images->v);
	*images = (struct images){ 0 };
}

/* The mapping with the file's first bytes, at or shortly before `map`; else `map`. */
static const struct map *first_mapping(const struct maps *maps, const struct map *map)
{
	for (size_t i = 0; i < LOOK_BACK && map - i >= maps->v; i++) {
		const struct map *m = map - i;

		if (!m->offset && image_head_same_file(m, map))
			return m;
	}
	return map;
}

/* From memory, or from the file if the program headers are not in the first page. */
static bool read_head(struct image *img, const struct map *first, struct image_head *head)
{
	char bytes[HEAD_SIZE];
	struct err ignored;
	Elf *elf;

	if (!first->offset && (first->prot & MAP_R) &&
	    !proc_read(img->file->pid, first->start, bytes, sizeof(bytes), &ignored)) {
		if (image_head_parse(head, bytes, sizeof(bytes)))
			return true;
		if (memcmp(bytes, ELFMAG, SELFMAG) != 0)
			return false;
	}
	elf = image_elf(img);
	return elf && image_head_read(head, elf);
}

/* Anonymous memory within the image's extent belongs to it: .bss, text on huge pages. */
static bool may_belong(const struct map *m, const struct map *map)
{
	return !m->inode || image_head_same_file(m, map);
}

static int set_extent(struct image *img, const struct maps *maps, const struct map *map,
		      const struct image_head *head)
{
	const struct map *low = map, *high = map, *last = maps->v + maps->n - 1;
	uint64_t start, end;

	image_head_extent(head, &start, &end);
	start += img->bias;
	end += img->bias;
	while (low > maps->v && low[-1].start >= start && may_belong(&low[-1], map))
		low--;
	while (high < last && high[1].start < end && may_belong(&high[1], map))
		high++;
	img->start = low->start;
	img->end = end > high->start && end < high->end ? end : high->end;
	img->exec = calloc((size_t)(high - low) + 1, sizeof(*img->exec));
	if (!img->exec)
		return -1;
	for (const struct map *m = low; m <= high; m++)
		if (m->prot & MAP_X)
			img->exec[img->n_exec++] = (struct range){ m->start, m->end };
	return 0;
}

static void set_eh_frame(struct image *img, const struct image_head *head)
{
	if (!head->eh_frame_hdr.memsz)
		return;
	img->eh_frame_hdr = img->bias + head->eh_frame_hdr.vaddr;
	img->eh_frame_hdr_size = head->eh_frame_hdr.memsz;
}

/* 1: `img` is filled, 0: no ELF image there, -1: out of memory. Release it in any case. */
static int image_read(struct image *img, pid_t pid, const struct maps *maps, const struct map *map,
		      uint64_t program)
{
	static const char gone[] = " (deleted)";
	size_t len = strlen(map->path);
	unsigned char notes[HEAD_SIZE];
	struct image_head head;
	struct err ignored;

	img->is_main = map->start <= program && program < map->end;
	img->path = strdup(map->path);
	img->file = image_file_new(pid, map);
	if (!img->path || !img->file)
		return -1;
	if (!read_head(img, first_mapping(maps, map), &head) ||
	    !image_head_bias(&head, map->start, map->offset, image_head_flags(map), &img->bias))
		return 0;
	if (set_extent(img, maps, map, &head))
		return -1;
	img->is_deleted = len > strlen(gone) && !strcmp(img->path + len - strlen(gone), gone);
	img->elf_class = head.elf_class;
	img->machine = head.machine;
	img->type = head.type;
	img->has_interp = head.has_interp;
	set_eh_frame(img, &head);
	img->is_loaded = image_head_is_loaded(&head, maps, map, img->bias);
	for (size_t i = 0; i < head.n_notes && !img->build_id_len; i++) {
		const struct segment *s = &head.notes[i];

		if (s->filesz > sizeof(notes) ||
		    proc_read(pid, img->bias + s->vaddr, notes, s->filesz, &ignored))
			continue;
		img->build_id_len =
			image_head_build_id(notes, s->filesz, img->build_id, sizeof(img->build_id));
	}
	return 1;
}

static int add_image(struct images *images, pid_t pid, const struct maps *maps,
		     const struct map *map, uint64_t program, struct err *err)
{
	int ret;

	if (images->n == MAX_IMAGES)
		return err_raise(err, ERROR_TOO_MANY_IMAGES, .pid = pid, .limit = MAX_IMAGES);
	if (!vec_grow(images->v, images->room, images->n))
		return err_no_memory(err);
	images->v[images->n] = (struct image){ 0 };
	ret = image_read(&images->v[images->n], pid, maps, map, program);
	images->n++;
	if (ret < 0)
		return err_no_memory(err);
	if (!ret)
		drop_last(images);
	return 0;
}

/* The address of the program's headers, which identifies the main program. */
static int program_headers(pid_t pid, uint64_t *addr, struct err *err)
{
	_cleanup_(cleanup_free) char *auxv = NULL;
	uint64_t first = 0;
	size_t len, word;

	if (procfs_read(pid, 0, "auxv", MAX_AUXV, &auxv, &len, err))
		return -1;
	/* Keys are small: a large first one consists of two words of a 32-bit process. */
	memcpy(&first, auxv, len < sizeof(first) ? len : sizeof(first));
	word = first > UINT32_MAX ? 4 : 8;
	*addr = 0;
	for (size_t i = 0; i + 2 * word <= len; i += 2 * word) {
		uint64_t key = 0;

		memcpy(&key, auxv + i, word);
		if (key != AT_PHDR)
			continue;
		memcpy(addr, auxv + i + word, word);
		break;
	}
	return 0;
}

static bool is_candidate(const struct images *images, const struct map *map, uint64_t program)
{
	bool holds_program = map->start <= program && program < map->end;

	if (images->n && map->start < images->v[images->n - 1].end)
		return false;
	if (!strcmp(map->path, "[vdso]"))
		return true;
	return map->inode && map->path[0] == '/' && ((map->prot & MAP_X) || holds_program);
}

int images_read(struct images *out, pid_t pid, const struct maps *maps, struct err *err)
{
	_cleanup_(images_fini) struct images got = { 0 };
	bool has_main = false;
	uint64_t program;

	if (program_headers(pid, &program, err))
		return -1;
	for (size_t i = 0; i < maps->n; i++)
		if (is_candidate(&got, &maps->v[i], program) &&
		    add_image(&got, pid, maps, &maps->v[i], program, err))
			return -1;
	if (!maps->n)
		return err_raise(err, ERROR_NO_ADDRESS_SPACE, .pid = pid);
	for (size_t i = 0; i < got.n; i++)
		has_main |= got.v[i].is_main;
	if (!has_main)
		return err_raise(err, ERROR_IN_EXECVE, .pid = pid);
	*out = got;
	got = (struct images){ 0 };
	return 0;
}

const struct image *images_find(const struct images *images, uint64_t addr)
{
	size_t low = 0, high = images->n;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (images->v[mid].end <= addr)
			low = mid + 1;
		else
			high = mid;
	}
	return low < images->n && images->v[low].start <= addr ? &images->v[low] : NULL;
}

bool image_contains(const struct image *img, uint64_t addr)
{
	return img->start <= addr && addr < img->end;
}

bool image_has_code(const struct image *img, uint64_t addr)
{
	for (size_t i = 0; i < img->n_exec; i++)
		if (img->exec[i].start <= addr && addr < img->exec[i].end)
			return true;
	return false;
}

struct image *images_by_name(const struct images *images, const char *prefix)
{
	for (size_t i = 0; i < images->n; i++) {
		if (!strncmp(text_file_name(images->v[i].path), prefix, strlen(prefix)))
			return &images->v[i];
	}
	return NULL;
}

/* --- of a process that has exited --- */

/* Images of a process that may have exited, found by path and build ID. */

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

/* A file without code where the process had some is a different file. */
static void look_at_file(void *arg)
{
	struct look *l = arg;
	struct image *img = l->img;
	unsigned char id[IMAGE_BUILD_ID_MAX];
	struct image_head head;
	size_t len;

	if (!image_head_read(&head, img->file->elf) ||
	    (!l->past->unbiased &&
	     !image_head_bias(&head, l->past->start, l->past->offset, PF_R | PF_X, &img->bias)))
		return;
	image_head_extent(&head, &img->start, &img->end);
	img->start += img->bias;
	img->end += img->bias;
	img->elf_class = head.elf_class;
	img->machine = head.machine;
	img->type = head.type;
	set_eh_frame(img, &head);
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
		return err_no_memory(err);
	got.n = 1;
	img = got.v;
	img->path = strdup(past->path);
	img->file = image_file_new(0, &nowhere);
	if (img->file)
		img->file->root = strdup(past->root);
	if (!img->path || !img->file || !img->file->root)
		return err_no_memory(err);
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

struct address {
	const uint64_t *offsets;
	uint64_t *addrs;
	size_t n;
	bool read;
};

static void find_addresses(void *ctx, Elf *elf)
{
	struct address *a = ctx;
	struct image_head head;

	if (!image_head_read(&head, elf))
		return;
	for (size_t i = 0; i < a->n; i++)
		a->addrs[i] = image_head_code_at(&head, a->offsets[i]);
	a->read = true;
}

bool image_code_addresses(struct image *img, const uint64_t *offsets, size_t n, uint64_t *addrs)
{
	struct address a = { .offsets = offsets, .addrs = addrs, .n = n };

	return image_with_elf(img, false, find_addresses, &a) && a.read;
}

struct place {
	struct image *img;
	uint64_t start;
	bool known;
};

/*
 * A debug file has the segments' addresses, but not their offsets in the mapped file. With a single
 * code segment this is unambiguous.
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
