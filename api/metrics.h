// SPDX-License-Identifier: Apache-2.0
/*
 * The processes of this machine as metrics for Prometheus. All values are read from outside: no
 * thread is stopped for them.
 */
#ifndef API_METRICS_H
#define API_METRICS_H

#include "base/err.h"
#include "ops/ops.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* Counters of a service for one kind of operation. */
struct api_own_op {
	const char *op; /* "dump" */
	uint64_t ok, failed, refused;
	uint64_t pause_us; /* time that threads of processes were stopped */
};

/* Counters of one of its rules. */
struct api_own_rule {
	const char *name;
	uint64_t ok, failed;
};

struct api_own_metrics {
	const struct api_own_op *ops;
	size_t n;
	const struct api_own_rule *rules;
	size_t n_rules;
	unsigned int workers, waiting; /* running and queued operations */
};

/* If there are more processes, those with the most resident memory are listed. */
#define API_METRICS_PROCESSES_MAX 200

/*
 * Write Prometheus' text format 0.0.4 or OpenMetrics 1.0. The latter ends in "# EOF": anything
 * else, such as OPS_STATS_OPENMETRICS, must be written before. `list` must have labels (struct
 * ops_list_request). Fails without memory; the caller checks `out` for errors.
 */
int api_metrics(FILE *out, const struct ops_list *list,
		const struct api_own_metrics *own /* may be NULL */, bool openmetrics,
		struct err *err) __must_check;

#endif
