// SPDX-License-Identifier: Apache-2.0
#include "process/cgroup.h"

#include "base/cleanup.h"
#include "process/proc.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MOUNT "/sys/fs/cgroup"
#define FILE_SIZE 4096 /* memory.stat, the longest, has 2 kB */

static bool read_text(const char *folder, const char *file, char *text, size_t size)
{
	char path[PATH_MAX + 64];
	_cleanup_(cleanup_close) int fd = -1;
	ssize_t n;

	snprintf(path, sizeof(path), "%s/%s", folder, file);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? -1 : read(fd, text, size - 1);
	text[n > 0 ? n : 0] = '\0';
	return n > 0;
}

static bool parse(const char *text, uint64_t *number)
{
	char *end;

	errno = 0;
	*number = strtoull(text, &end, 10);
	return end != text && !errno;
}

bool cgroup_number(const char *folder, const char *file, uint64_t *number)
{
	char text[32];

	return read_text(folder, file, text, sizeof(text)) && parse(text, number);
}

bool cgroup_keyed(const char *folder, const char *file, const char *key, uint64_t *number)
{
	char text[FILE_SIZE];
	size_t len = strlen(key);

	if (!read_text(folder, file, text, sizeof(text)))
		return false;
	for (const char *line = text; line; line = strchr(line, '\n'), line += line ? 1 : 0)
		if (strncmp(line, key, len) == 0 && line[len] == ' ')
			return parse(line + len + 1, number);
	return false;
}

/* Is `name` one of "a,b,c", which ends at ':'? */
static bool is_among(const char *list, const char *name)
{
	size_t len = strlen(name), n;

	for (; *list && *list != ':'; list += n + (list[n] == ',')) {
		n = strcspn(list, ",:");
		if (n == len && strncmp(list, name, len) == 0)
			return true;
	}
	return false;
}

/*
 * The folder of a line "ID:CONTROLLERS:PATH". Names of groups are text from others: no ".." leads
 * out. Where version 2 is mounted beside version 1 it has no such controller.
 */
static bool folder_of(const char *line, const char *controller, char *folder, size_t size,
		      size_t *mount_len)
{
	const char *list = strchr(line, ':'), *path = list ? strchr(list + 1, ':') : NULL;
	bool unified = list && list[1] == ':';
	int len;

	if (!path || path[1] != '/' || (!unified && !is_among(list + 1, controller)))
		return false;
	len = unified ? snprintf(folder, size, MOUNT)
		      : snprintf(folder, size, MOUNT "/%.*s", (int)(path - list - 1), list + 1);
	*mount_len = (size_t)len;
	path++;
	/* Of a name that has no room the beginning may be another group's. */
	if (*mount_len + strcspn(path, "\n") >= size)
		return false;
	snprintf(folder + len, size - *mount_len, "%.*s", (int)strcspn(path, "\n"), path);
	return !strstr(folder + len, "/..");
}

void cgroup_each(pid_t pid, const char *controller, cgroup_fn *fn, void *ctx)
{
	char text[PROC_CGROUP_SIZE], folder[PATH_MAX];
	const char *line = text;
	size_t mount_len;

	proc_cgroup(pid, text, sizeof(text));
	for (; line && *line; line = strchr(line, '\n'), line += line ? 1 : 0) {
		if (!folder_of(line, controller, folder, sizeof(folder), &mount_len))
			continue;
		for (;;) {
			char *slash = strrchr(folder + mount_len, '/');

			fn(ctx, folder);
			if (!slash)
				break;
			*slash = '\0';
		}
	}
}
