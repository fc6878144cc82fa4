// SPDX-License-Identifier: Apache-2.0
/*
 * Private to the watch, in its confined child: the code of processes whose dumps were seen, and its
 * function names, kept for the next dump; the process may end right after its dump.
 */
#ifndef OPS_WATCH_IMAGES_H
#define OPS_WATCH_IMAGES_H

#include "bpf/event.h"
#include "elf/image.h"
#include "ops/watch/watch.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define IMAGES_MAX 64
#define IMAGES_PLACES_MAX 1024

/* An address whose function is known, or is known to have no name. */
struct watch_place {
	uint64_t addr;
	const struct image *image; /* NULL: none */
	char *name;		   /* NULL: none */
	uint64_t offset;
};

struct watch_images {
	pid_t pid; /* 0: a free slot */
	uint64_t began_ns;
	uint64_t used;	  /* when it was last used, by `clock` */
	uint64_t read_ns; /* when its images were read, CLOCK_BOOTTIME */
	struct images images;
	struct watch_place *places; /* IMAGES_PLACES_MAX, unused from n_places on */
	size_t n_places;
};

struct watch_processes {
	struct watch_images v[IMAGES_MAX];
	uint64_t clock;
};

/*
 * The process `pid` that began then. NULL if it is not cached and has ended. Valid until the next
 * call.
 */
struct watch_images *watch_images_find(struct watch_processes *w, pid_t pid, uint64_t began_ns);

/*
 * After an address that lies in none of its images: read them again, unless that was done a moment
 * ago. True if they were.
 */
bool watch_images_refresh(struct watch_images *who);

/* Name `n` addresses, the first one as it is, the others as return addresses. */
void watch_images_name(struct watch_images *who, struct watch_frame *frames, size_t n);

void watch_images_fini(struct watch_processes *w);

#endif
