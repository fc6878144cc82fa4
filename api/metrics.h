// SPDX-License-Identifier: Apache-2.0
/*
 * The processes of this machine as metrics for Prometheus. All of it is known from outside: no
 * thread of a process stops for it.
 */
#ifndef API_METRICS_H
#define API_METRICS_H

#include "base/err.h"
#include "ops/ops.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* What a service did so far, of one kind of operation. */
struct api_own_op {
	const char *op; /* "dump" */
	uint64_t ok, failed, refused;
	uint64_t pause_us; /* how long threads of processes were stopped for it */
};

/* And what a rule of it brought. */
struct api_own_rule {
	const char *name;
	uint64_t ok, failed;
};

struct api_own_metrics {
	const struct api_own_op *ops;
	size_t n;
	const struct api_own_rule *rules;
	size_t n_rules;
	unsigned int workers, waiting; /* operations that are at work, and that wait for it */
};

/* Of more processes, those with the most resident memory are listed. */
#define API_METRICS_PROCESSES_MAX 200

/*
 * The text, in Prometheus' format 0.0.4 or in OpenMetrics 1.0. The latter ends in "# EOF": what
 * else belongs to it, as OPS_STATS_OPENMETRICS, is written before. `list` is one with labels
 * (struct ops_list_request). Fails without memory; `out` is the caller's to check.
 */
int api_metrics(FILE *out, const struct ops_list *list,
		const struct api_own_metrics *own /* may be NULL */, bool openmetrics,
		struct err *err) __must_check;

#endif
