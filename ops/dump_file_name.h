// SPDX-License-Identifier: Apache-2.0
/* What the name of a dump's file says of it. */
#ifndef OPS_DUMP_FILE_NAME_H
#define OPS_DUMP_FILE_NAME_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct dump_file_name {
	char prefix[NAME_MAX + 1]; /* what is left of it: the same for all of a series */
	size_t stem_len;	   /* of the path up to its pid; 0: the name has none */
	int64_t seconds;	   /* since 1970; 0: no time is in it */
	int number;		   /* which one it is: FIRST, LAST where it does not say */
};
#define DUMP_FIRST (-1)
#define DUMP_LAST INT_MAX

/*
 * PREFIX.PID.NUMBER.REASON.heap is jemalloc's own; COMM.PID.TIME[.guard-WHY][.base|.NUMBER].heap is
 * what a dump, a recording or what a guard takes is called, where another PREFIX may have been
 * chosen; gzip(1) adds ".gz". False: too long.
 */
#define GUARD_PART ".guard-"
bool dump_file_name_parse(const char *path, struct dump_file_name *out);

#endif
