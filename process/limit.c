// SPDX-License-Identifier: Apache-2.0
#include "process/limit.h"

#include "base/cleanup.h"
#include "process/cgroup.h"

#include <inttypes.h>
#include <stdio.h>

/* Version 1 has no "max": without a limit there stands PAGE_COUNTER_MAX (linux/page_counter.h). */
#define NO_LIMIT (UINT64_C(1) << 60)

struct nearest {
	struct limit *out;
	bool found;
};

/* It may use more than that, where the limit was lowered. */
static uint64_t left(const struct limit *l)
{
	return l->limit > l->used ? l->limit - l->used : 0;
}

static void consider(void *ctx, const char *group)
{
	struct nearest *n = ctx;
	struct limit l;

	if ((!cgroup_number(group, "memory.max", &l.limit) ||
	     !cgroup_number(group, "memory.current", &l.used)) &&
	    (!cgroup_number(group, "memory.limit_in_bytes", &l.limit) || l.limit >= NO_LIMIT ||
	     !cgroup_number(group, "memory.usage_in_bytes", &l.used)))
		return;
	if (!n->found || left(&l) < left(n->out))
		*n->out = l;
	n->found = true;
}

bool limit_of_cgroup(pid_t pid, struct limit *out)
{
	struct nearest n = { .out = out };

	cgroup_each(pid, "memory", consider, &n);
	return n.found;
}

bool limit_of_machine(struct limit *out)
{
	_cleanup_(cleanup_fclose) FILE *f = fopen("/proc/meminfo", "re");
	uint64_t total = 0, available = 0, kib;
	char line[128];

	while (f && fgets(line, sizeof(line), f)) {
		if (sscanf(line, "MemTotal: %" SCNu64, &kib) == 1)
			total = kib * 1024;
		else if (sscanf(line, "MemAvailable: %" SCNu64, &kib) == 1)
			available = kib * 1024;
	}
	if (!total || available > total)
		return false;
	*out = (struct limit){ total, total - available };
	return true;
}
