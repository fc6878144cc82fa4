// SPDX-License-Identifier: Apache-2.0
#include "elf/image_file.h"

#include "base/cleanup.h"
#include "base/write.h"
#include "elf/image_data.h"
#include "elf/image_guard.h"
#include "elf/image_head.h"
#include "elf/image_rebuild.h"
#include "process/proc.h"
#include "process/procfs.h"
#include "sandbox/door.h"

#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#define MAX_VDSO (64u << 10)
#define MAX_SECTIONS 65536

struct image_file *image_file_new(pid_t pid, const struct map *map)
{
	struct image_file *file = calloc(1, sizeof(*file));

	if (!file)
		return NULL;
	*file = (struct image_file){
		.pid = pid,
		.start = map->start,
		.end = map->end,
		.inode = map->inode,
		.dev_major = map->dev_major,
		.dev_minor = map->dev_minor,
		.fd = -1,
		.debug.fd = -1,
		.debug.common_fd = -1,
		.debug.plain_fd = -1,
	};
	return file;
}

void image_file_free(struct image_file *file)
{
	if (!file)
		return;
	image_debug_fini(&file->debug);
	image_data_free(file->data);
	elf_end(file->elf);
	if (file->is_rebuilt)
		image_rebuild_close(file->fd);
	else
		cleanup_close(&file->fd);
	free(file->memory);
	free(file->root);
	free(file);
}

static void name_map_file(char *buf, size_t size, uint64_t start, uint64_t end)
{
	snprintf(buf, size, "map_files/%llx-%llx", (unsigned long long)start,
		 (unsigned long long)end);
}

/* The very mapping's file, whatever its name leads to now. Needs CAP_CHECKPOINT_RESTORE. */
static int open_map_file(pid_t pid, uint64_t start, uint64_t end)
{
	char name[64];

	name_map_file(name, sizeof(name), start, end);
	return door_proc_file(pid, name, IMAGE_FILE_MAX);
}

void images_open_ahead(const struct images *images)
{
	char name[64];

	for (size_t i = 0; i < images->n; i++) {
		const struct image_file *file = images->v[i].file;

		if (!file->inode || file->tried || images->v[i].is_plain)
			continue;
		name_map_file(name, sizeof(name), file->start, file->end);
		door_proc_file_ahead(file->pid, name, IMAGE_FILE_MAX);
	}
}

int image_file_open_mapped(pid_t pid, const struct map *map, struct stat *st)
{
	_cleanup_(cleanup_close) int fd = open_map_file(pid, map->start, map->end);

	if (fd >= 0)
		return fstat(fd, st) ? -1 : take_fd(fd);
	fd = procfs_open_in_root(pid, map->path, IMAGE_FILE_MAX);
	if (fd < 0 || fstat(fd, st) || st->st_ino != map->inode ||
	    major(st->st_dev) != map->dev_major || minor(st->st_dev) != map->dev_minor)
		return -1;
	return take_fd(fd);
}

size_t image_file_build_id(int fd, unsigned char *id, size_t size)
{
	Elf *elf = elf_begin(fd, ELF_C_READ, NULL);
	unsigned char bytes[4096];
	struct image_head head;
	size_t len = 0;

	if (elf && image_head_read(&head, elf)) {
		for (size_t i = 0; i < head.n_notes && !len; i++) {
			ssize_t got =
				read_at(fd, bytes, sizeof(bytes), (off_t)head.notes[i].offset);
			size_t want = (size_t)(got > 0 ? got : 0);

			if (want > head.notes[i].filesz)
				want = head.notes[i].filesz;
			len = image_head_build_id(bytes, want, id, size);
		}
	}
	elf_end(elf);
	return len;
}

/*
 * The name may lead to another file by now. btrfs and overlayfs report other
 * device numbers in maps than stat(2) does: there the build id decides.
 */
static bool is_same_file(const struct image *img, int fd, const struct stat *st)
{
	const struct image_file *file = img->file;
	unsigned char id[IMAGE_BUILD_ID_MAX];

	if (st->st_ino == file->inode && major(st->st_dev) == file->dev_major &&
	    minor(st->st_dev) == file->dev_minor)
		return true;
	return img->build_id_len && image_file_build_id(fd, id, sizeof(id)) == img->build_id_len &&
	       !memcmp(id, img->build_id, img->build_id_len);
}

int image_file_open_in_root(const struct image_file *file, const char *path, uint64_t max)
{
	return file->root ? door_below(file->root, path, max)
			  : procfs_open_in_root(file->pid, path, max);
}

static int open_by_name(const struct image *img)
{
	_cleanup_(cleanup_close) int fd =
		image_file_open_in_root(img->file, img->path, IMAGE_FILE_MAX);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) || !is_same_file(img, fd, &st))
		return -1;
	return take_fd(fd);
}

/*
 * libelf makes room for all sections at once, and their number may be a lie:
 * 32 bits of it lie in section 0 when e_shnum is 0 (elf(5)).
 */
static bool few_sections(int fd)
{
	Elf64_Ehdr eh;
	Elf64_Shdr first;

	if (fd < 0 || read_at(fd, &eh, sizeof(eh), 0) != sizeof(eh) ||
	    eh.e_ident[EI_CLASS] != ELFCLASS64)
		return false;
	if (eh.e_shnum || !eh.e_shoff)
		return true;
	return read_at(fd, &first, sizeof(first), (off_t)eh.e_shoff) == sizeof(first) &&
	       first.sh_size <= MAX_SECTIONS;
}

static Elf *usable(Elf *elf)
{
	size_t sections;

	if (elf_kind(elf) == ELF_K_ELF && !elf_getshdrnum(elf, &sections) &&
	    sections <= MAX_SECTIONS)
		return elf;
	elf_end(elf);
	return NULL;
}

Elf *image_file_elf(int fd)
{
	/* Mapped, so that a giant or sparse file costs no memory. */
	return few_sections(fd) ? usable(elf_begin(fd, ELF_C_READ_MMAP, NULL)) : NULL;
}

static Elf *open_file(struct image *img)
{
	struct image_file *file = img->file;

	file->fd = open_map_file(file->pid, file->start, file->end);
	if (file->fd < 0 && img->is_main)
		file->fd = door_proc_file(file->pid, "exe", IMAGE_FILE_MAX);
	if (file->fd < 0)
		file->fd = open_by_name(img);
	if (file->fd < 0) {
		file->fd = image_rebuild(img);
		file->is_rebuilt = file->fd >= 0;
	}
	return image_file_elf(file->fd);
}

static Elf *open_memory(struct image_file *file)
{
	size_t len = file->end - file->start;
	struct err ignored;

	if (len > MAX_VDSO)
		return NULL;
	file->memory = malloc(len);
	if (!file->memory || proc_read(file->pid, file->start, file->memory, len, &ignored))
		return NULL;
	return usable(elf_memory(file->memory, len));
}

static void open_elf(void *arg)
{
	struct image *img = arg;
	img->file->elf = img->file->inode ? open_file(img) : open_memory(img->file);
}

Elf *image_elf(struct image *img)
{
	struct image_file *file = img->file;

	if (!file)
		return NULL;
	if (!file->tried) {
		file->tried = true;
		elf_version(EV_CURRENT);
		image_guard(open_elf, img);
	}
	return file->elf;
}
