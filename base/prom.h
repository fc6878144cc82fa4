// SPDX-License-Identifier: Apache-2.0
/*
 * What Prometheus reads: its text format 0.0.4, or OpenMetrics 1.0, which ends in "# EOF". All
 * samples of a family stand together, below its head.
 */
#ifndef BASE_PROM_H
#define BASE_PROM_H

#include <stdbool.h>
#include <stdio.h>

enum prom_type { PROM_GAUGE, PROM_COUNTER, PROM_INFO };

/* `name` is that of its samples: a counter's ends in "_total", one with labels alone in "_info". */
void prom_head(FILE *out, bool openmetrics, const char *name, enum prom_type type,
	       const char *help);

/* name="value": what output_safe() leaves of `raw`, with backslash and quote escaped. */
void prom_label(FILE *out, const char *name, const char *raw);

#endif
