// SPDX-License-Identifier: Apache-2.0
#include "process/maps.h"

#include "base/cleanup.h"
#include "process/procfs.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/ioctl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>

#define READ_TRIES 10

void maps_fini(struct maps *m)
{
	free(m->v);
	free(m->text);
	*m = (struct maps){ 0 };
}

/* A number at *s, followed by `end`; advances past both. */
static bool take_number(char **s, int base, char end, uint64_t *value)
{
	char *stop;

	if (!isxdigit((unsigned char)**s))
		return false;
	errno = 0;
	*value = strtoull(*s, &stop, base);
	if (errno || *stop != end)
		return false;
	*s = stop + 1;
	return true;
}

static bool take_prot(char **s, unsigned int *prot)
{
	static const struct {
		char set;
		unsigned int bit;
	} flags[] = { { 'r', MAP_R }, { 'w', MAP_W }, { 'x', MAP_X }, { 's', MAP_SHARED_BIT } };
	char *c = *s;

	*prot = 0;
	for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++, c++) {
		if (*c == flags[i].set)
			*prot |= flags[i].bit;
		else if (*c != '-' && *c != 'p')
			return false;
	}
	*s = c + 1;
	return *c == ' ';
}

/* One line, NUL-terminated: "start-end prot offset major:minor inode   path". */
static bool parse_line(char *s, struct map *map)
{
	uint64_t major, minor;
	char *inode_end;

	if (!take_number(&s, 16, '-', &map->start) || !take_number(&s, 16, ' ', &map->end) ||
	    !take_prot(&s, &map->prot) || !take_number(&s, 16, ' ', &map->offset) ||
	    !take_number(&s, 16, ':', &major) || !take_number(&s, 16, ' ', &minor) ||
	    !isdigit((unsigned char)*s))
		return false;
	map->dev_major = (uint32_t)major;
	map->dev_minor = (uint32_t)minor;
	map->inode = strtoull(s, &inode_end, 10);
	map->path = inode_end + strspn(inode_end, " ");
	return map->start < map->end;
}

static int parse_all(struct maps *m, size_t len, struct err *err)
{
	char *end = m->text + len;

	for (char *line = m->text, *next; line < end; line = next) {
		struct map *map = &m->v[m->n];
		char *stop = memchr(line, '\n', (size_t)(end - line));

		if (!stop)
			stop = end;
		*stop = '\0';
		next = stop + 1;
		if (!parse_line(line, map) || (m->n && map->start < map[-1].end))
			return err_raise(err, ERROR_MAPPING_MALFORMED,
					 .number = (int64_t)(m->n + 1));
		m->n++;
	}
	return 0;
}

int maps_parse(struct maps *m, char *text, size_t len, struct err *err)
{
	_cleanup_(maps_fini) struct maps got = { .text = malloc(len + 1) };
	const char *end;
	size_t lines = 1;

	if (got.text) {
		memcpy(got.text, text, len);
		got.text[len] = '\0';
	}
	free(text);
	if (!got.text)
		return err_no_memory(err);
	end = got.text + len;
	for (const char *s = got.text; (s = memchr(s, '\n', (size_t)(end - s))); s++)
		lines++;
	got.v = calloc(lines, sizeof(*got.v));
	if (!got.v)
		return err_no_memory(err);
	if (parse_all(&got, len, err))
		return -1;
	*m = got;
	got = (struct maps){ 0 };
	return 0;
}

int maps_read(struct maps *m, pid_t pid, struct err *err)
{
	char *text;
	size_t len;

	/* One that grows between two reads may appear twice, and overlap (proc_pid_maps(5)). */
	for (unsigned int tries = 0; tries < READ_TRIES; tries++) {
		if (procfs_read(pid, 0, "maps", MAPS_TEXT_MAX, &text, &len, err))
			return -1;
		if (!maps_parse(m, text, len, err))
			return 0;
	}
	return err_within(err, ERROR_IN_MAPS, .pid = pid);
}

const char *map_file_name(uint64_t start, uint64_t end, char buf[MAP_FILE_NAME_SIZE])
{
	snprintf(buf, MAP_FILE_NAME_SIZE, "map_files/%" PRIx64 "-%" PRIx64, start, end);
	return buf;
}

const struct map *maps_find(const struct maps *m, uint64_t addr)
{
	size_t low = 0, high = m->n;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (m->v[mid].end <= addr)
			low = mid + 1;
		else
			high = mid;
	}
	return low < m->n && m->v[low].start <= addr ? &m->v[low] : NULL;
}

/* --- one mapping --- */

/*
 * The current state of one mapping. Since Linux 6.11 there is an ioctl(2) on
 * /proc/PID/maps for it (PROCMAP_QUERY); before, the whole file must be read.
 */

/* struct procmap_query, include/uapi/linux/fs.h */
struct query {
	uint64_t size, query_flags, query_addr;
	uint64_t vma_start, vma_end, vma_flags, vma_page_size, vma_offset, inode;
	uint32_t dev_major, dev_minor;
	uint32_t vma_name_size, build_id_size;
	uint64_t vma_name_addr, build_id_addr;
};
_Static_assert(MAP_QUERY_IOCTL == _IOWR('f', 17, struct query), "the kernel's layout");

bool map_query(int fd, pid_t pid, uint64_t addr, struct map *m, char name[MAP_NAME_SIZE])
{
	_cleanup_(maps_fini) struct maps maps = { 0 };
	struct err ignored = ERR_INIT;
	const struct map *found;
	struct query q = { .size = sizeof(q),
			   .query_addr = addr,
			   .vma_name_size = MAP_NAME_SIZE,
			   .vma_name_addr = (uint64_t)(uintptr_t)name };

	name[0] = '\0';
	if (ioctl(fd, MAP_QUERY_IOCTL, &q) >= 0) {
		*m = (struct map){ .start = q.vma_start,
				   .end = q.vma_end,
				   .offset = q.vma_offset,
				   .inode = q.inode,
				   .dev_major = q.dev_major,
				   .dev_minor = q.dev_minor,
				   .prot = (unsigned int)q.vma_flags &
					   (MAP_R | MAP_W | MAP_X | MAP_SHARED_BIT),
				   .path = name };
		return true;
	}
	/* Names longer than our buffer are irrelevant; ENOENT is an answer. */
	if (errno == ENOENT || errno == ENAMETOOLONG)
		return false;
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
