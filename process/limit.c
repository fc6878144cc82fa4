// SPDX-License-Identifier: Apache-2.0
#include "process/limit.h"

#include "base/cleanup.h"
#include "process/proc.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MOUNT "/sys/fs/cgroup"

/* The number that a file of a control group holds; "max" is none. */
static bool read_number(const char *group, const char *name, uint64_t *number)
{
	char path[PATH_MAX + 64], text[32] = "", *end;
	_cleanup_(cleanup_close) int fd = -1;
	ssize_t n;

	snprintf(path, sizeof(path), MOUNT "%s/%s", group, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	if (n <= 0)
		return false;
	errno = 0;
	*number = strtoull(text, &end, 10);
	return end != text && !errno;
}

/* The line "0::/path" of cgroup v2. Names of groups are text from others: no ".." leads out. */
static bool group_of(pid_t pid, char *group, size_t size)
{
	char text[PROC_CGROUP_SIZE];
	const char *line = text;

	proc_cgroup(pid, text, sizeof(text));
	for (; line && *line; line = strchr(line, '\n'), line += line ? 1 : 0) {
		if (strncmp(line, "0::/", 4) != 0)
			continue;
		snprintf(group, size, "%.*s", (int)strcspn(line + 3, "\n"), line + 3);
		return !strstr(group, "/..");
	}
	return false;
}

bool limit_of_cgroup(pid_t pid, struct limit *out)
{
	char group[PATH_MAX], *slash;
	bool found = false;

	if (!group_of(pid, group, sizeof(group)))
		return false;
	for (; (slash = strrchr(group, '/')); *slash = '\0') {
		struct limit l;

		if (!read_number(group, "memory.max", &l.limit) ||
		    !read_number(group, "memory.current", &l.used))
			continue;
		if (!found || l.limit - l.used < out->limit - out->used)
			*out = l;
		found = true;
	}
	return found;
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
