// SPDX-License-Identifier: Apache-2.0
/*
 * Private to the watch: what is to be said of a process whose dump was seen,
 * kept for the next one; it may end right after its dump.
 */
#ifndef OPS_WATCH_WHO_H
#define OPS_WATCH_WHO_H

#include "bpf/event.h"
#include "ops/watch.h"
#include "target/image.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define WHO_MAX 64
#define WHO_PLACES_MAX 1024

/* An address whose function is known, or known to have no name. */
struct watch_place {
	uint64_t addr;
	const struct image *image; /* NULL: none */
	char *name;		   /* NULL: none */
	uint64_t offset;
};

struct watch_who {
	pid_t pid; /* 0: a free place */
	uint64_t began_ns;
	uint64_t used;	  /* when it was asked for last, counted */
	uint64_t read_ns; /* when its images were read, CLOCK_BOOTTIME */
	struct images images;
	char cgroup[512];
	char container[64];
	bool other_root;	    /* its files are not found by the names we have for them */
	struct watch_place *places; /* WHO_PLACES_MAX, none yet from n_places on */
	size_t n_places;
};

struct watch_whos {
	struct watch_who v[WHO_MAX];
	uint64_t clock;
};

/*
 * The process `pid` that began then. NULL when it was not asked about before
 * and has ended. Valid until the next call.
 */
struct watch_who *watch_who_find(struct watch_whos *w, pid_t pid, uint64_t began_ns);

/*
 * An address lies in none of its images: read them again, unless that was done
 * a moment ago. True if they were.
 */
bool watch_who_refresh(struct watch_who *who);

/* Name `n` addresses, the first one where it is and the others where they return to. */
void watch_who_name(struct watch_who *who, struct watch_frame *frames, size_t n);

void watch_whos_fini(struct watch_whos *w);

#endif
