// SPDX-License-Identifier: Apache-2.0
/* What malloc_stats_print() wrote, checked: a target may have written anything. */
#ifndef OPS_STATS_TEXT_H
#define OPS_STATS_TEXT_H

#include "base/err.h"
#include "ops/ops.h"

#include <stddef.h>
#include <stdio.h>
#include <sys/types.h>

/* jemalloc's JSON statistics as Prometheus text (exposition format 0.0.4). */

/* Whose they are, for Prometheus. */
struct stats_of {
	pid_t pid;
	const char *comm; /* raw */
};

/*
 * Write them to `out` in this format. Text is made safe to print, line by line. ERR_FAILED when
 * what is to be JSON is not jemalloc's.
 */
int stats_text_write(enum ops_stats_format format, const char *text, size_t len,
		     const struct stats_of *of, FILE *out, struct err *err) __must_check;

#endif
