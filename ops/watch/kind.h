// SPDX-License-Identifier: Apache-2.0
/* Who asked for a dump, as far as its arguments and its name tell. Pure functions. */
#ifndef OPS_WATCH_KIND_H
#define OPS_WATCH_KIND_H

#include "bpf/event.h"

#include <stdbool.h>

enum watch_kind {
	WATCH_KIND_UNKNOWN,
	WATCH_MANUAL,	/* mallctl("prof.dump") */
	WATCH_INTERVAL, /* opt.lg_prof_interval */
	WATCH_GDUMP,	/* prof.gdump: a new maximum of memory */
	WATCH_FINAL,	/* opt.prof_final, opt.prof_leak: at exit */
};

/* "manual", "interval", "gdump", "final", "unknown". */
const char *watch_kind_name(enum watch_kind kind);

/*
 * By the letter in a name that jemalloc made: PREFIX.PID.SEQ.LETTER[N].heap, LETTER one of
 * m, i, u and f. Unknown for any other name, and NULL.
 */
enum watch_kind watch_kind_by_name(const char *name);

/* By prof_dump's arguments, where it is known which they are, and by the name. */
enum watch_kind watch_kind_of(const struct watch_dump *dump, const char *name);

/*
 * Which arguments prof_dump was called with: as its probe says, else by which of them was
 * opened. WATCH_UNKNOWN when that is neither.
 */
enum watch_convention watch_convention_of(const struct watch_dump *dump);

/* Was the file that was opened the one that prof_dump was given? */
bool watch_is_confirmed(const struct watch_dump *dump);

#endif
