// SPDX-License-Identifier: Apache-2.0
/* Validates the output of malloc_stats_print(): a target may have written anything. */
#ifndef OPS_STATS_TEXT_H
#define OPS_STATS_TEXT_H

#include "base/err.h"
#include "ops/ops.h"

#include <stddef.h>
#include <stdio.h>
#include <sys/types.h>

/* The output of one process. */
struct stats_of {
	pid_t pid;
	const char *comm; /* raw */
	const char *text; /* raw; followed by '\0' */
	size_t len;
};

/* ERR_FAILED when the text should be JSON, as for Prometheus, too, but is not jemalloc's. */
int stats_text_check(enum ops_stats_format format, const struct stats_of *of, struct err *err)
	__must_check;

/*
 * Write them to `out` in this format: for one process or, for Prometheus (base/prom.h), for `n`.
 * Text is made safe to print, line by line. Each has passed stats_text_check().
 */
int stats_text_write(enum ops_stats_format format, const struct stats_of *v, size_t n, FILE *out,
		     struct err *err) __must_check;

#endif
