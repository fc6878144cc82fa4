// SPDX-License-Identifier: Apache-2.0
/* The target's memory mappings, from /proc/PID/maps (proc_pid_maps(5)). */
#ifndef PROCESS_MAPS_H
#define PROCESS_MAPS_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/types.h>

enum map_prot { MAP_R = 1, MAP_W = 2, MAP_X = 4, MAP_SHARED_BIT = 8 };

struct map {
	uint64_t start, end; /* [start, end) */
	uint64_t offset;     /* in the file */
	uint64_t inode;
	uint32_t dev_major, dev_minor;
	unsigned int prot; /* enum map_prot bits */
	const char *path;  /* "" when anonymous; owned by struct maps; still escaped */
};

struct maps {
	struct map *v; /* ascending, disjoint */
	size_t n;
	char *text; /* the paths point into it */
};

/*
 * ERR_LOST if the process has ended, ERR_PERM if it may not be read, and
 * ERR_FAILED beyond MAPS_TEXT_MAX bytes of text: a target must not be able to
 * exhaust our memory by creating mappings.
 */
#define MAPS_TEXT_MAX (64u << 20)
int maps_read(struct maps *m, pid_t pid, struct err *err) __must_check;
void maps_fini(struct maps *m);

/*
 * Parse `len` bytes of maps text, as maps_read() does after reading it. Takes
 * ownership of `text`.
 */
int maps_parse(struct maps *m, char *text, size_t len, struct err *err) __must_check;

/* The ioctl(2) request of map_query(), for seccomp filters: PROCMAP_QUERY. */
#define MAP_QUERY_IOCTL _IOWR('f', 17, char[104])

/*
 * The mapping that contains `addr` now, without reading all mappings if the
 * kernel supports that (Linux 6.11). `fd` is an open /proc/PID/maps, which
 * keeps referring to the program it was opened for. `name` receives the path;
 * m->path points to it. False if there is none.
 */
#define MAP_NAME_SIZE 4096
bool map_query(int fd, pid_t pid, uint64_t addr, struct map *m, char name[MAP_NAME_SIZE]);

/* "map_files/START-END", the link to a mapped file in the folder of its process; returns `buf`. */
#define MAP_FILE_NAME_SIZE 48
const char *map_file_name(uint64_t start, uint64_t end, char buf[MAP_FILE_NAME_SIZE]);

/* The mapping that contains `addr`, or NULL. */
const struct map *maps_find(const struct maps *m, uint64_t addr);

#endif
