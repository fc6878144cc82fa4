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
	const char *path;  /* "" when anonymous; owned by struct maps; unescaped by nobody */
};

struct maps {
	struct map *v; /* ascending, disjoint */
	size_t n;
	char *text; /* what the paths point into */
};

/*
 * ERR_LOST when the process is gone, ERR_PERM when it may not be read, and
 * ERR_FAILED past MAPS_TEXT_MAX bytes of text: a target must not be able to
 * take our memory by making mappings.
 */
#define MAPS_TEXT_MAX (64u << 20)
int maps_read(struct maps *m, pid_t pid, struct err *err) __must_check;
void maps_fini(struct maps *m);

/*
 * Parse `len` bytes of maps text; what maps_read() does after reading. Takes
 * ownership of `text`.
 */
int maps_parse(struct maps *m, char *text, size_t len, struct err *err) __must_check;

/* What map_query() asks the kernel by, for filters of system calls: PROCMAP_QUERY. */
#define MAP_QUERY_IOCTL _IOWR('f', 17, char[104])

/*
 * The mapping that holds `addr` at this very moment, without reading all of
 * them where the kernel can do that (Linux 6.11). `fd` is an open
 * /proc/PID/maps, which stays with the program it was opened for. `name`
 * receives the path, to which m->path then points. False if there is none.
 */
#define MAP_NAME_SIZE 4096
bool map_query(int fd, pid_t pid, uint64_t addr, struct map *m, char name[MAP_NAME_SIZE]);

/* The mapping that holds `addr`, or NULL. */
const struct map *maps_find(const struct maps *m, uint64_t addr);

#endif
