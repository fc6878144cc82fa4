// SPDX-License-Identifier: Apache-2.0

#include "elf/image_vouch.h"

#include "base/cleanup.h"
#include "elf/image.h"
#include "elf/image_file.h"
#include "elf/image_head.h"
#include "sandbox/door.h"

#include <elf.h>
#include <linux/magic.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

/* The group may be one of ours alone, as many systems give each user one. */
static bool others_may_write(const struct stat *st)
{
	if (st->st_mode & S_IWOTH)
		return true;
	return (st->st_mode & S_IWGRP) && st->st_gid &&
	       !(st->st_uid == geteuid() && st->st_gid == getegid());
}

static bool is_fuse(int fd)
{
	struct statfs fs;

	return fstatfs(fd, &fs) || fs.f_type == FUSE_SUPER_MAGIC;
}

bool image_vouch_file(int fd, const char *path)
{
	_cleanup_(cleanup_close) int ours = -1;
	struct stat st, own;

	if (fd < 0 || fstat(fd, &st) || (st.st_uid && st.st_uid != geteuid()) ||
	    others_may_write(&st) || is_fuse(fd))
		return false;
	ours = door_below("/", path, IMAGE_FILE_MAX);
	return ours >= 0 && !fstat(ours, &own) && own.st_dev == st.st_dev &&
	       own.st_ino == st.st_ino;
}

struct look {
	const struct image *img;
	uint64_t start, offset;
	bool agrees;
};

/* Its headers and its build id were read from the process's memory. */
static void look_at_file(void *arg)
{
	struct look *l = arg;
	unsigned char id[IMAGE_BUILD_ID_MAX];
	struct image_head head;
	uint64_t bias;
	size_t len;

	if (!image_head_read(&head, l->img->file->elf) ||
	    !image_head_bias(&head, l->start, l->offset, PF_R | PF_X, &bias))
		return;
	len = image_file_build_id(l->img->file->fd, id, sizeof(id));
	l->agrees = bias == l->img->bias && len && len == l->img->build_id_len &&
		    !memcmp(id, l->img->build_id, len);
}

bool image_is_vouched(const struct image *img, uint64_t start, uint64_t offset)
{
	struct look l = { .img = img, .start = start, .offset = offset };
	struct image_file *file = img->file;

	if (!file || !file->elf || file->is_rebuilt || file->is_foreign ||
	    !image_vouch_file(file->fd, img->path))
		return false;
	if (!image_guard(look_at_file, &l))
		file->elf = NULL;
	return l.agrees;
}
