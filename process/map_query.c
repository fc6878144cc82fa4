// SPDX-License-Identifier: Apache-2.0
/*
 * One mapping, as it is now. Linux 6.11 answers that by an ioctl on
 * /proc/PID/maps (PROCMAP_QUERY); before, the whole file must be read.
 */
#include "base/cleanup.h"
#include "process/maps.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/ioctl.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>

/* struct procmap_query, include/uapi/linux/fs.h */
struct query {
	uint64_t size, query_flags, query_addr;
	uint64_t vma_start, vma_end, vma_flags, vma_page_size, vma_offset, inode;
	uint32_t dev_major, dev_minor;
	uint32_t vma_name_size, build_id_size;
	uint64_t vma_name_addr, build_id_addr;
};
#define QUERY _IOWR('f', 17, struct query)
_Static_assert(sizeof(struct query) == 104, "the kernel's layout");

static int ask(int fd, uint64_t addr, struct map *m, char name[MAP_NAME_SIZE])
{
	struct query q = { .size = sizeof(q),
			   .query_addr = addr,
			   .vma_name_size = MAP_NAME_SIZE,
			   .vma_name_addr = (uint64_t)(uintptr_t)name };

	name[0] = '\0';
	if (ioctl(fd, QUERY, &q) < 0)
		return -1;
	*m = (struct map){ .start = q.vma_start,
			   .end = q.vma_end,
			   .offset = q.vma_offset,
			   .inode = q.inode,
			   .dev_major = q.dev_major,
			   .dev_minor = q.dev_minor,
			   .prot = (unsigned int)q.vma_flags &
				   (MAP_R | MAP_W | MAP_X | MAP_SHARED_BIT),
			   .path = name };
	return 0;
}

static bool read_whole(pid_t pid, uint64_t addr, struct map *m, char name[MAP_NAME_SIZE])
{
	_cleanup_(maps_fini) struct maps maps = { 0 };
	struct err ignored = ERR_INIT;
	const struct map *found;

	if (maps_read(&maps, pid, &ignored) < 0)
		return false;
	found = maps_find(&maps, addr);
	if (!found)
		return false;
	*m = *found;
	snprintf(name, MAP_NAME_SIZE, "%s", found->path);
	m->path = name;
	return true;
}

bool map_query(int fd, pid_t pid, uint64_t addr, struct map *m, char name[MAP_NAME_SIZE])
{
	if (ask(fd, addr, m, name) == 0)
		return true;
	/* A name too long for us is no name that matters; ENOENT is an answer. */
	if (errno == ENOENT || errno == ENAMETOOLONG)
		return false;
	return read_whole(pid, addr, m, name);
}
