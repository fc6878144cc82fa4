// SPDX-License-Identifier: Apache-2.0
/*
 * The mallctl names that jeprof-ctl knows (jemalloc 3.6 to 5.3.1, ctl.c), with their types, access
 * and first version.
 */
#ifndef JEMALLOC_MALLCTL_H
#define JEMALLOC_MALLCTL_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum mallctl_type {
	MALLCTL_BOOL,
	MALLCTL_U32,
	MALLCTL_U64,
	MALLCTL_SIZE,
	MALLCTL_SSIZE,
	MALLCTL_STRING,
	MALLCTL_VOID
};
enum mallctl_access { MALLCTL_READ = 1, MALLCTL_WRITE = 2 };

struct mallctl {
	const char *name; /* "<i>" stands for a number: "arena.<i>.purge" */
	enum mallctl_type type;
	unsigned int access; /* enum mallctl_access bits */
	const char *since;   /* "5.3.0"; "" if in all versions */
	bool needs_prof;     /* must not be touched while opt.prof is false */
	bool per_thread;     /* applies to the calling thread: thread.* */
	bool needs_epoch;    /* stale unless epoch was written before */
	const char *danger;  /* why it is refused, or NULL: arena.<i>.reset, ... */
};

/* NULL if the name is unknown; "arena.3.purge" finds "arena.<i>.purge". */
const struct mallctl *mallctl_lookup(const char *name);

union mallctl_value {
	bool b;
	uint32_t u32;
	uint64_t u64;
	int64_t i64;
	char bytes[8];
};

/* Size of a value of this type in the target, in bytes (a string is a pointer: 8). */
size_t mallctl_size(enum mallctl_type type);

/*
 * Parse user input: true/false/1/0/on/off, numbers in decimal, hex or with K M G T. ERR_USAGE names
 * the type expected. Strings are not supported.
 */
int mallctl_parse(const struct mallctl *m, const char *text, union mallctl_value *v,
		  struct err *err) __must_check;

/* Private to jemalloc/: the table behind mallctl_lookup(). */

extern const struct mallctl mallctl_table[];
extern const size_t mallctl_table_size;

#endif
