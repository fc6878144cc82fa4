// SPDX-License-Identifier: Apache-2.0
/*
 * The formats of Prometheus: its text format 0.0.4, or OpenMetrics 1.0, which ends in "# EOF". All
 * samples of a family follow its header without interruption.
 */
#ifndef BASE_PROM_H
#define BASE_PROM_H

#include <stdbool.h>
#include <stdio.h>

enum prom_type { PROM_GAUGE, PROM_COUNTER, PROM_INFO };

/*
 * `name` is that of the samples: it ends in "_total" for a counter, in "_info" for one with only
 * labels.
 */
void prom_head(FILE *out, bool openmetrics, const char *name, enum prom_type type,
	       const char *help);

/* name="value", with `raw` after output_safe() and backslash and quote escaped. */
void prom_label(FILE *out, const char *name, const char *raw);

#endif
