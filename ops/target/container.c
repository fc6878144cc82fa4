// SPDX-License-Identifier: Apache-2.0
#include "ops/target/container.h"

#include "base/cleanup.h"
#include "base/text.h"

#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/vfs.h>
#include <unistd.h>

#define ID_SHOWN 12
#define ID_GIVEN_MIN 4
#define ECS_TASK_LEN 32
#define STATIC_POD_LEN 32  /* for pods unknown to the API server: a hash */
#define HANDLE_KERNFS 0xfe /* FILEID_KERNFS: the handle of a group is its id */

static size_t hex_run(const char *s)
{
	return strspn(s, "0123456789abcdef");
}

static const char *find_id(const char *text)
{
	while (*text) {
		size_t n = hex_run(text);

		if (n == CONTAINER_ID_LEN)
			return text;
		text += n ? n : 1;
	}
	return NULL;
}

static bool has_word(const char *from, const char *to, const char *word)
{
	return memmem(from, (size_t)(to - from), word, strlen(word));
}

static size_t name_len(const char *name)
{
	return strcspn(name, "/\n");
}

/* The monitor of a container runs beside it: crio-conmon-ID.scope, libpod-conmon-ID.scope. */
static bool is_monitor(const char *name, size_t len)
{
	return has_word(name, name + len, "conmon");
}

static bool is_ecs(const char *name, size_t len)
{
	return len <= CONTAINER_ID_LEN && hex_run(name) == ECS_TASK_LEN &&
	       name[ECS_TASK_LEN] == '-' && len > ECS_TASK_LEN + 1 &&
	       strspn(name + ECS_TASK_LEN + 1, "0123456789") == len - ECS_TASK_LEN - 1;
}

/* The id in one component of a path, `*n` long; NULL if there is none. */
static const char *id_in_name(const char *name, size_t len, size_t *n)
{
	*n = len;
	if (is_ecs(name, len))
		return name;
	if (is_monitor(name, len))
		return NULL;
	for (size_t i = 0; i < len; i += *n ? *n : 1) {
		*n = hex_run(name + i);
		if (*n == CONTAINER_ID_LEN)
			return name + i;
	}
	return NULL;
}

/* The innermost id of the first line that has any: containers may be nested. */
static const char *innermost_id(const char *cgroup, size_t *n)
{
	const char *found = NULL;

	for (const char *name = cgroup; *name;) {
		size_t len = name_len(name), id_len;
		const char *id = id_in_name(name, len, &id_len);

		if (id) {
			found = id;
			*n = id_len;
		}
		name += len;
		if (*name == '\n' && found)
			break;
		name += *name != '\0';
	}
	return found;
}

void container_id_parse(const char *cgroup, char id[CONTAINER_ID_LEN + 1])
{
	size_t n = 0;
	const char *at = innermost_id(cgroup, &n);

	snprintf(id, CONTAINER_ID_LEN + 1, "%.*s", (int)n, at ? at : "");
}

static bool hex_digit(char c, unsigned int *value)
{
	static const char digits[] = "0123456789abcdef";
	const char *at = c ? strchr(digits, c) : NULL;

	if (at)
		*value = (unsigned int)(at - digits);
	return at;
}

/* "\x2d" is "-" in the names of units. Escapes of unprintable bytes are kept. */
static void unescape(char *name)
{
	unsigned int high, low;
	char *to = name;

	for (const char *from = name; *from; to++) {
		if (text_begins(from, "\\x") && hex_digit(from[2], &high) &&
		    hex_digit(from[3], &low) && high >= 2 && high < 8 && high * 16 + low != 0x7f) {
			*to = (char)(high * 16 + low);
			from += 4;
		} else {
			*to = *from++;
		}
	}
	*to = '\0';
}

/* The name after `marker`, up to the next slash. */
static int find_name(const char *text, const char *marker, char *buf, size_t size)
{
	const char *at = strstr(text, marker);
	size_t len;

	if (!at)
		return -1;
	at += strlen(marker);
	len = name_len(at);
	if (!len || is_monitor(at, len))
		return -1;
	snprintf(buf, size, "%.*s", (int)(len < size ? len : size - 1), at);
	return 0;
}

/* The machine that a unit runs: "machine-NAME.scope", "systemd-nspawn@NAME.service". */
static void machine_name(char *unit)
{
	static const char *const forms[][2] = { { "machine-", ".scope" },
						{ "systemd-nspawn@", ".service" } };

	for (size_t i = 0; i < sizeof(forms) / sizeof(*forms); i++) {
		size_t start = strlen(forms[i][0]), end = text_stem(unit, forms[i][1]);

		if (!text_begins(unit, forms[i][0]) || !unit[end] || end <= start)
			continue;
		unit[end] = '\0';
		memmove(unit, unit + start, end - start + 1);
		unescape(unit);
		return;
	}
}

void container_parse(const char *cgroup, char *buf, size_t size)
{
	static const char machines[] = "/machine.slice/";
	size_t n = 0;
	const char *id = innermost_id(cgroup, &n);

	buf[0] = '\0';
	if (id)
		snprintf(buf, size, "%.*s", ID_SHOWN, id);
	else if (find_name(cgroup, "/lxc.payload.", buf, size) &&
		 find_name(cgroup, "/lxc/", buf, size) && !find_name(cgroup, machines, buf, size))
		machine_name(buf);
}

/* The length of the uid at `s`, if it ends there or before a separator; 0 if there is none. */
static size_t uid_len(const char *s)
{
	static const char form[] = "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx", ends[] = "/.:\n";
	unsigned int digit;
	size_t n = 0;

	_Static_assert(sizeof(form) - 1 == POD_UID_LEN, "it is a UUID");
	while (n < POD_UID_LEN &&
	       (form[n] == '-' ? s[n] == '-' || s[n] == '_' : hex_digit(s[n], &digit)))
		n++;
	if (n == POD_UID_LEN && strchr(ends, s[n]))
		return n;
	n = hex_run(s);
	return n == STATIC_POD_LEN && strchr(ends, s[n]) ? n : 0;
}

/* The innermost pod; *root is set to the name of the group of all pods above it. */
static const char *find_pod(const char *cgroup, const char **root)
{
	const char *pod = NULL, *pods = NULL;

	for (const char *at = cgroup; *at; at++) {
		if (*at == '\n' && pod)
			break;
		if (*at == '\n')
			pods = NULL;
		else if (text_begins(at, "kubepods"))
			pods = at;
		else if (pods && (*at == '/' || *at == '-') && text_begins(at + 1, "pod") &&
			 uid_len(at + 4)) {
			pod = at + 4;
			*root = pods;
		}
	}
	return pod;
}

bool pod_parse(const char *cgroup, char uid[POD_UID_LEN + 1], const char **qos_class)
{
	const char *root = NULL, *pod = find_pod(cgroup, &root);

	uid[0] = '\0';
	*qos_class = NULL;
	if (!pod)
		return false;
	snprintf(uid, POD_UID_LEN + 1, "%.*s", (int)uid_len(pod), pod);
	for (char *c = strchr(uid, '_'); c; c = strchr(c, '_'))
		*c = '-';
	*qos_class = has_word(root, pod, "besteffort")	? "BestEffort"
		     : has_word(root, pod, "burstable") ? "Burstable"
							: "Guaranteed";
	return true;
}

/* Does `path`, of `len` bytes, hold these whole components, at its beginning or anywhere? */
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
static bool is_below(const char *cgroup, const char *wanted)
{
	/* The second is a prefix of the first. */
	static const char *const mounts[] = { "/sys/fs/cgroup/unified/", "/sys/fs/cgroup/" };
	char names[PATH_MAX];
	bool found = false;

	for (size_t i = 0; i < sizeof(mounts) / sizeof(*mounts); i++) {
		if (text_begins(wanted, mounts[i]))
			wanted += strlen(mounts[i]) - 1;
	}
	snprintf(names, sizeof(names), "%s%s", *wanted == '/' ? "" : "/", wanted);
	for (size_t n = strlen(names); n > 0 && names[n - 1] == '/'; n--)
		names[n - 1] = '\0';
	for (const char *line = cgroup; line && *line && !found; line = text_next_line(line)) {
		const char *path = strchr(line, ':');

		path = path ? strchr(path + 1, ':') : NULL;
		found = path &&
			path_holds(path + 1, strcspn(path + 1, "\n"), names, *wanted != '/');
	}
	return found;
}

bool container_matches(const char *cgroup, const char *wanted, char id[CONTAINER_ID_LEN + 1])
{
	size_t len = strlen(wanted);

	if (len < ID_GIVEN_MIN || hex_run(wanted) != len)
		return false;
	for (const char *at = find_id(cgroup); at; at = find_id(at + CONTAINER_ID_LEN)) {
		if (len <= CONTAINER_ID_LEN && !memcmp(at, wanted, len)) {
			snprintf(id, CONTAINER_ID_LEN + 1, "%.*s", CONTAINER_ID_LEN, at);
			return true;
		}
	}
	return false;
}

void cgroup_pick(const char *text, char *buf, size_t size)
{
	static const char unified[] = "0::", systemd[] = ":name=systemd:";
	const char *at = NULL;

	for (const char *line = text; line && *line; line = text_next_line(line)) {
		const char *hit = strstr(line, systemd);

		if (text_begins(line, unified) && line[sizeof(unified) - 1] &&
		    line[sizeof(unified)] != '\n')
			at = line + sizeof(unified) - 1;
		if (!at && hit && hit < strchrnul(line, '\n'))
			at = hit + sizeof(systemd) - 1;
	}
	at = at ? at : "/";
	snprintf(buf, size, "%.*s", (int)strcspn(at, "\n"), at);
}

bool cgroup_holds(const char *cgroup, const char *wanted)
{
	char name[CONTAINER_ID_LEN + 1];

	if (is_below(cgroup, wanted) || container_matches(cgroup, wanted, name))
		return true;
	container_parse(cgroup, name, sizeof(name));
	return *name && !strcmp(name, wanted);
}

/* Does it end in `suffix`, after something else? */
static bool name_ends(const char *name, size_t len, const char *suffix)
{
	size_t n = strlen(suffix);

	return len > n && !memcmp(name + len - n, suffix, n);
}

static bool is_unit(const char *name, size_t len)
{
	static const char *const suffixes[] = { ".service", ".scope", ".socket", ".mount",
						".swap" };

	for (size_t i = 0; i < sizeof(suffixes) / sizeof(*suffixes); i++) {
		if (name_ends(name, len, suffixes[i]))
			return true;
	}
	return false;
}

/* The next unit from *at; false if there is none, with `buf` unchanged. */
static bool next_unit(const char **at, char *buf, size_t size)
{
	while (**at) {
		const char *name = *at;
		size_t len = strcspn(name, "/\n");

		*at += len + (name[len] != '\0');
		if (!is_unit(name, len))
			continue;
		snprintf(buf, size, "%.*s", (int)(len < size ? len : size - 1), name);
		return true;
	}
	return false;
}

void unit_parse(const char *cgroup, char *buf, size_t size)
{
	buf[0] = '\0';
	while (next_unit(&cgroup, buf, size))
		;
}

void service_parse(const char *cgroup, char *buf, size_t size)
{
	char path[PATH_MAX];
	size_t n;
	bool contained = innermost_id(cgroup, &n);

	buf[0] = '\0';
	cgroup_pick(cgroup, path, sizeof(path));
	for (const char *name = path; *name;) {
		size_t len = name_len(name);

		if (id_in_name(name, len, &n)) {
			buf[0] = '\0'; /* the services above it run containers */
			contained = false;
		} else if (!contained && !text_begins(name, "user@") &&
			   name_ends(name, len, ".service")) {
			snprintf(buf, size, "%.*s", (int)len, name);
		}
		name += len + (name[len] != '\0');
	}
	unescape(buf);
}

enum starter starter_parse(const char *cgroup, char *name, size_t size)
{
	static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
				    "0123456789:-_.@";
	bool of_user;

	container_parse(cgroup, name, size);
	if (strstr(cgroup, "/kubepods"))
		return STARTER_POD;
	if (*name)
		return strstr(cgroup, "/libpod-")  ? STARTER_PODMAN
		       : strstr(cgroup, "/docker") ? STARTER_DOCKER
						   : STARTER_CONTAINER;
	/* The first is the system's. That service may name the ones below as it likes. */
	next_unit(&cgroup, name, size);
	of_user = text_begins(name, "user@");
	if (of_user && !next_unit(&cgroup, name, size))
		return STARTER_UNKNOWN;
	/* Users will copy it into a command line. */
	if (text_stem(name, ".service") == strlen(name) || name[strspn(name, plain)])
		return STARTER_UNKNOWN;
	return of_user ? STARTER_USER_SERVICE : STARTER_SERVICE;
}

/* The path of a handle within this hierarchy; -1 if it has none. */
static int handle_path(int root, const char *folder, uint64_t id, char *buf, size_t size)
{
	_Alignas(struct file_handle) char room[sizeof(struct file_handle) + sizeof(id)] = { 0 };
	struct file_handle *handle = (struct file_handle *)room;
	_cleanup_(cleanup_close) int fd = -1;
	char link[64], path[PATH_MAX];
	size_t len = strlen(folder);
	ssize_t n;

	handle->handle_bytes = sizeof(id);
	handle->handle_type = HANDLE_KERNFS;
	memcpy(handle->f_handle, &id, sizeof(id));
	fd = open_by_handle_at(root, handle, O_PATH | O_CLOEXEC);
	if (fd < 0)
		return -1;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = readlink(link, path, sizeof(path) - 1);
	if (n < 0)
		return -1;
	path[n] = '\0';
	if (strncmp(path, folder, len) != 0 || (path[len] && path[len] != '/'))
		return -1;
	snprintf(buf, size, "%s", path[len] ? path + len : "/");
	return 0;
}

bool cgroup_by_id(uint64_t id, char *buf, size_t size)
{
	/* Where systemd mounts it, alone or beside the v1 hierarchies. */
	static const char *const folders[] = { "/sys/fs/cgroup", "/sys/fs/cgroup/unified" };

	for (size_t i = 0; id && i < sizeof(folders) / sizeof(*folders); i++) {
		_cleanup_(cleanup_close) int root =
			open(folders[i], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		struct statfs fs;

		if (root >= 0 && !fstatfs(root, &fs) && fs.f_type == CGROUP2_SUPER_MAGIC)
			return !handle_path(root, folders[i], id, buf, size);
	}
	return false;
}
