// SPDX-License-Identifier: Apache-2.0
/* Private to ops/: which processes match a filter. */
#ifndef OPS_MATCH_H
#define OPS_MATCH_H

#include "ops/ops.h"

/*
 * The candidates: all, or `children` and its descendants; but, as in pgrep(1), not ourselves. As
 * pids_read().
 */
int match_pids(pid_t children, pid_t **pids, size_t *n, struct err *err) __must_check;

/* Does the rest of the filter match this process, whose control groups are `cgroup`? */
bool match_wants(const struct ops_filter *filter, const struct proc *p, const char *cgroup);

#endif
