// SPDX-License-Identifier: Apache-2.0
#include "process/limit.h"

#include "base/cleanup.h"
#include "process/cgroup.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>

/* Version 1 shows PAGE_COUNTER_MAX for no limit (linux/page_counter.h), version 2 "max". */
#define NO_LIMIT (UINT64_C(1) << 60)

/* Usage exceeds the limit if that was lowered. */
static uint64_t left(const struct limit *l)
{
	return l->limit > l->used ? l->limit - l->used : 0;
}

static bool read_v2(const char *folder, bool high, struct limit *l)
{
	uint64_t soft;

	if (!cgroup_number(folder, "memory.current", &l->used))
		return false;
	if (!cgroup_number(folder, "memory.max", &l->limit))
		l->limit = UINT64_MAX;
	if (high && cgroup_number(folder, "memory.high", &soft) && soft < l->limit)
		l->limit = soft;
	if (l->limit == UINT64_MAX)
		return false;
	cgroup_keyed(folder, "memory.stat", "inactive_file", &l->inactive);
	return true;
}

static bool read_v1(const char *folder, struct limit *l)
{
	if (!cgroup_number(folder, "memory.limit_in_bytes", &l->limit) || l->limit >= NO_LIMIT ||
	    !cgroup_number(folder, "memory.usage_in_bytes", &l->used))
		return false;
	cgroup_keyed(folder, "memory.stat", "total_inactive_file", &l->inactive);
	return true;
}

static bool read_limit(const char *folder, bool high, struct limit *out)
{
	struct limit l = { 0 };

	if (!read_v2(folder, high, &l) && !read_v1(folder, &l))
		return false;
	*out = l;
	return true;
}

bool limit_of_folder(const char *folder, struct limit *out)
{
	return read_limit(folder, true, out);
}

struct nearest {
	struct limit *out;
	char *folder; /* NULL: not needed */
	bool high, found;
};

static void consider(void *ctx, const char *group)
{
	struct nearest *n = ctx;
	struct limit l;

	if (!read_limit(group, n->high, &l))
		return;
	if (!n->found || left(&l) < left(n->out)) {
		*n->out = l;
		if (n->folder)
			snprintf(n->folder, PATH_MAX, "%s", group);
	}
	n->found = true;
}

bool limit_of_cgroup(pid_t pid, struct limit *out)
{
	struct nearest n = { .out = out };

	cgroup_each(pid, "memory", consider, &n);
	return n.found;
}

bool limit_of_cgroup_high(pid_t pid, struct limit *out, char *folder)
{
	struct nearest n = { .out = out, .folder = folder, .high = true };

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
	*out = (struct limit){ .limit = total, .used = total - available };
	return true;
}
