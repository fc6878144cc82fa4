// SPDX-License-Identifier: Apache-2.0
#include "ops/container.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#define ID_LEN 64 /* hex digits, in Docker, containerd, CRI-O and Podman alike */
#define ID_SHOWN 12

static size_t hex_run(const char *s)
{
	return strspn(s, "0123456789abcdef");
}

static const char *find_id(const char *text)
{
	while (*text) {
		size_t n = hex_run(text);

		if (n == ID_LEN)
			return text;
		text += n ? n : 1;
	}
	return NULL;
}

/* The name after `marker`, up to the next slash or suffix. */
static int find_name(const char *text, const char *marker, char *buf, size_t size)
{
	const char *at = strstr(text, marker);
	size_t len;

	if (!at)
		return -1;
	at += strlen(marker);
	len = strcspn(at, "/\n");
	snprintf(buf, size, "%.*s", (int)(len < size ? len : size - 1), at);
	return len ? 0 : -1;
}

void container_parse(const char *cgroup, char *buf, size_t size)
{
	static const char *const markers[] = { "/lxc.payload.", "/lxc/", "/machine.slice/" };
	const char *id = find_id(cgroup);

	buf[0] = '\0';
	if (id) {
		snprintf(buf, size, "%.*s", ID_SHOWN, id);
		return;
	}
	for (size_t i = 0; i < sizeof(markers) / sizeof(markers[0]); i++) {
		if (!find_name(cgroup, markers[i], buf, size))
			return;
	}
	buf[0] = '\0';
}

/* Does `path`, of `len` bytes, hold these whole names, at its beginning or anywhere? */
static bool path_holds(const char *path, size_t len, const char *names, bool anywhere)
{
	size_t n = strlen(names);

	for (size_t i = 0; i + n <= len; i++) {
		if (path[i] == '/' && !memcmp(path + i, names, n) &&
		    (i + n == len || path[i + n] == '/'))
			return true;
		if (!anywhere)
			break;
	}
	return false;
}

/* Lines of "ID:CONTROLLERS:PATH" (cgroups(7)). */
bool cgroup_holds(const char *cgroup, const char *wanted)
{
	static const char mount[] = "/sys/fs/cgroup/";
	char names[PATH_MAX];
	bool found = false;

	if (!strncmp(wanted, mount, strlen(mount)))
		wanted += strlen(mount) - 1;
	snprintf(names, sizeof(names), "%s%s", *wanted == '/' ? "" : "/", wanted);
	for (size_t n = strlen(names); n > 0 && names[n - 1] == '/'; n--)
		names[n - 1] = '\0';
	for (const char *line = cgroup; line && *line && !found; line = strchr(line, '\n')) {
		const char *path;

		line += *line == '\n';
		path = strchr(line, ':');
		path = path ? strchr(path + 1, ':') : NULL;
		found = path &&
			path_holds(path + 1, strcspn(path + 1, "\n"), names, *wanted != '/');
	}
	return found;
}
