// SPDX-License-Identifier: Apache-2.0
/* Information in the name of a dump's file. */
#ifndef OPS_DUMP_FILE_NAME_H
#define OPS_DUMP_FILE_NAME_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct dump_file_name {
	char prefix[NAME_MAX + 1]; /* the rest: the same for a whole series */
	size_t stem_len;	   /* of the path up to its pid; 0: it has no pid */
	int64_t seconds;	   /* since 1970; 0: it has no time */
	int number;		   /* in its series, or FIRST; LAST if the name has none */
};
#define DUMP_FIRST (-1)
#define DUMP_LAST INT_MAX

/*
 * PREFIX.PID.NUMBER.REASON.heap is jemalloc's own; COMM.PID.TIME[.guard-WHY][.base|.NUMBER].heap is
 * a dump, a recording, or a guard's profile, for which another PREFIX may have been chosen; gzip(1)
 * adds ".gz". False: too long.
 */
#define GUARD_PART ".guard-"
bool dump_file_name_parse(const char *path, struct dump_file_name *out);

#endif
