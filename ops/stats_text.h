// SPDX-License-Identifier: Apache-2.0
/* What malloc_stats_print() wrote, checked: a target may have written anything. */
#ifndef OPS_STATS_TEXT_H
#define OPS_STATS_TEXT_H

#include "base/err.h"
#include "ops/ops.h"

#include <stddef.h>
#include <stdio.h>
#include <sys/types.h>

/* What one process wrote. */
struct stats_of {
	pid_t pid;
	const char *comm; /* raw */
	const char *text; /* raw; '\0' behind it */
	size_t len;
};

/* ERR_FAILED when what is to be JSON, as it is for Prometheus too, is not jemalloc's. */
int stats_text_check(enum ops_stats_format format, const struct stats_of *of, struct err *err)
	__must_check;

/*
 * Write them to `out` in this format: of one process, or, for Prometheus (base/prom.h), of `n`.
 * Text is made safe to print, line by line. Each has passed stats_text_check().
 */
int stats_text_write(enum ops_stats_format format, const struct stats_of *v, size_t n, FILE *out,
		     struct err *err) __must_check;

#endif
