// SPDX-License-Identifier: Apache-2.0
#include "process/cgroup.h"

#include "base/cleanup.h"
#include "base/err.h"
#include "base/text.h"
#include "process/hierarchy.h"
#include "process/proc.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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
	for (const char *line = text; line; line = text_next_line(line))
		if (strncmp(line, key, len) == 0 && line[len] == ' ')
			return parse(line + len + 1, number);
	return false;
}

/* The group and its ancestors, up to the mount; false if some are not visible. */
static bool each_above(const char *controller, const char *path, size_t len, cgroup_fn *fn,
		       void *ctx)
{
	const char *rest;
	const struct hierarchy *h =
		hierarchies_find(hierarchies_here(), controller, path, len, &rest);
	char folder[PATH_MAX];
	size_t mount_len, rest_len;
	bool all;

	if (!h || !h->whole)
		err_remember(hierarchies_here()->sys, ERROR_OPEN_FAILED, .path = HIERARCHIES_FILE);
	if (!h)
		return false;
	mount_len = strlen(h->folder);
	rest_len = len - (size_t)(rest - path);
	/* A truncated name could be that of another group. */
	if (mount_len + rest_len >= sizeof(folder))
		return false;
	snprintf(folder, sizeof(folder), "%s%.*s", h->folder, (int)rest_len, rest);
	all = h->whole && !access(folder, F_OK);
	if (h->whole && !all)
		err_remember(errno, ERROR_OPEN_FAILED, .path = folder);
	for (;;) {
		char *slash = strrchr(folder + mount_len, '/');

		fn(ctx, folder);
		if (!slash)
			return all;
		*slash = '\0';
	}
}

/*
 * Lines of "ID:CONTROLLERS:PATH". A controller that version 1 has is not available in version 2.
 */
bool cgroup_each(pid_t pid, const char *controller, cgroup_fn *fn, void *ctx)
{
	bool all_v1 = true, all_v2 = true, has_v1 = false;
	char text[PROC_CGROUP_SIZE];

	proc_cgroup(pid, text, sizeof(text));
	for (const char *line = text; line && *line; line = text_next_line(line)) {
		const char *list = line + strcspn(line, ":\n");
		const char *path = *list == ':' ? list + 1 + strcspn(list + 1, ":\n") : list;
		bool unified = path == list + 1;

		if (*path != ':' || path[1] != '/' ||
		    (!unified && !hierarchy_lists(list + 1, controller)))
			continue;
		path++;
		if (unified) {
			all_v2 = each_above(NULL, path, strcspn(path, "\n"), fn, ctx);
		} else {
			has_v1 = true;
			all_v1 = each_above(controller, path, strcspn(path, "\n"), fn, ctx);
		}
	}
	return has_v1 ? all_v1 : all_v2;
}

const char *cgroup_shown(const char *folder, char *buf, size_t size)
{
	const struct hierarchies *all = hierarchies_here();

	for (size_t i = 0; i < all->n; i++) {
		const struct hierarchy *h = &all->v[i];
		size_t len = strlen(h->folder);

		if (strncmp(folder, h->folder, len) == 0 && (!folder[len] || folder[len] == '/')) {
			snprintf(buf, size, "%s%s", h->shown, folder + len);
			return buf;
		}
	}
	snprintf(buf, size, "%s", folder);
	return buf;
}
