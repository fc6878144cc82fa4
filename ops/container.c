// SPDX-License-Identifier: Apache-2.0
#include "ops/container.h"

#include "base/cleanup.h"

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

void container_of_process(pid_t pid, char *buf, size_t size)
{
	_cleanup_(cleanup_fclose) FILE *f = NULL;
	char path[64], text[8192];
	size_t n;

	buf[0] = '\0';
	snprintf(path, sizeof(path), "/proc/%d/cgroup", pid);
	f = fopen(path, "re");
	if (!f)
		return;
	n = fread(text, 1, sizeof(text) - 1, f);
	text[n] = '\0';
	container_parse(text, buf, size);
}
