// SPDX-License-Identifier: Apache-2.0
/*
 * Private to the watch: what processes show of themselves, read by one confined child that inspects
 * all of them (sandbox/confined.h). What a process shows is believed of that process alone. A child
 * that hangs or crashes on a process is replaced.
 */
#ifndef OPS_WATCH_LOOK_H
#define OPS_WATCH_LOOK_H

#include "jemalloc/jemalloc.h"
#include "process/maps.h"
#include "process/proc.h"
#include "sandbox/confined.h"

#include <stdbool.h>
#include <stddef.h>

struct watch_looker {
	struct confined child;
	bool debuginfod;
	size_t unanswered; /* processes on which it hung or crashed */
};
#define WATCH_LOOKER_INIT              \
	{                              \
		.child = CONFINED_INIT \
	}

/* Both fail with the child's error, or with ERR_UNSAFE or ERR_FAILED if it was replaced. */

/* Its mappings, see maps_unpack(). The caller ends `maps`. */
int watch_look_maps(struct watch_looker *l, const struct proc *p, struct maps *maps,
		    struct err *err) __must_check;

/* A jemalloc in the process. */
struct watch_found {
	uint64_t mallctl;
	enum tristate config_prof, opt_prof;
};
#define WATCH_FOUND_MAX 256

struct watch_inside {
	struct watch_found v[WATCH_FOUND_MAX];
	size_t n;	    /* 0: none was found; */
	bool holds;	    /* but it holds one that cannot be read completely yet, */
	struct err why_not; /* and the reason; ERR_NOJEMALLOC */
};

/* Inspect its images and its memory. `values`: fill opt_prof, too. */
int watch_look_inside(struct watch_looker *l, const struct proc *p, bool values,
		      struct watch_inside *out, struct err *err) __must_check;

void watch_look_fini(struct watch_looker *l);

/* For its fuzz target: an answer of the child. False for an invalid one. */
bool watch_inside_unpack(struct watch_inside *out, struct unpack *u) __must_check;

#endif
