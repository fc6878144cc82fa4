// SPDX-License-Identifier: Apache-2.0
#include "process/hierarchy.h"

#include "base/cleanup.h"
#include "base/err.h"
#include "process/proc.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

bool hierarchy_lists(const char *list, const char *name)
{
	size_t len = strlen(name), n;

	for (; *list && *list != ':'; list += n + (list[n] == ',')) {
		n = strcspn(list, ",:");
		if (n == len && strncmp(list, name, len) == 0)
			return true;
	}
	return false;
}

/* "..a" is a valid name of a group, ".." is not. */
static bool leads_out(const char *path, size_t len)
{
	for (const char *at = path; at + 3 <= path + len; at++)
		if (strncmp(at, "/..", 3) == 0 && (at + 3 == path + len || at[3] == '/'))
			return true;
	return false;
}

/* --- mounts --- */

/* Octal escapes, such as "\040" for a space. */
static void unescape(char *text)
{
	char *to = text;

	for (const char *from = text; *from; to++) {
		if (*from == '\\' && strspn(from + 1, "01234567") >= 3) {
			*to = (char)((from[1] - '0') << 6 | (from[2] - '0') << 3 | (from[3] - '0'));
			from += 4;
		} else {
			*to = *from++;
		}
	}
	*to = '\0';
}

static void fini(struct hierarchy *h)
{
	free(h->options);
	free(h->root);
	free(h->folder);
	free(h->shown);
}

void hierarchies_fini(struct hierarchies *all)
{
	for (size_t i = 0; i < all->n; i++)
		fini(&all->v[i]);
	all->n = 0;
}

void hierarchies_add(struct hierarchies *all, char *line)
{
	char *tail = strstr(line, " - cgroup"), *at = line, *fields[5] = { NULL }, *type, *options;
	struct hierarchy h = { 0 };

	if (!tail || all->n == HIERARCHIES_MAX)
		return;
	*tail = '\0';
	tail += strlen(" - ");
	tail[strcspn(tail, "\n")] = '\0';
	for (size_t i = 0; i < 5; i++)
		fields[i] = strsep(&at, " ");
	type = strsep(&tail, " ");
	strsep(&tail, " ");
	options = tail;
	h.v2 = !strcmp(type, "cgroup2");
	if (!fields[4] || !options || (!h.v2 && strcmp(type, "cgroup") != 0))
		return;
	unescape(fields[3]);
	unescape(fields[4]);
	h.mount_id = atoi(fields[0]);
	h.options = strdup(options);
	h.root = strdup(fields[3]);
	h.folder = strdup(fields[4]);
	h.shown = strdup(fields[4]);
	if (h.options && h.root && h.folder && h.shown)
		all->v[all->n++] = h;
	else
		fini(&h);
}

/* The part of `path` below `root`, or NULL. */
static const char *below(const char *root, const char *path, size_t len)
{
	size_t n = strcmp(root, "/") != 0 ? strlen(root) : 0;

	if (len < n || strncmp(path, root, n) != 0 || (len > n && path[n] != '/') ||
	    leads_out(path + n, len - n))
		return NULL;
	return len - n == 1 ? path + len : path + n;
}

const struct hierarchy *hierarchies_find(const struct hierarchies *all, const char *controller,
					 const char *path, size_t len, const char **rest)
{
	const struct hierarchy *found = NULL;

	for (size_t i = 0; i < all->n; i++) {
		const struct hierarchy *h = &all->v[i];
		const char *at = below(h->root, path, len);

		if (!at || h->v2 == !!controller || (found && !h->whole) ||
		    (controller && !hierarchy_lists(h->options, controller)))
			continue;
		found = h;
		*rest = at;
		if (h->whole)
			break;
	}
	return found;
}

/* --- those here --- */

#define HANDLE_KERNFS 0xfe /* FILEID_KERNFS: the handle of a group is its id */
#define ROOT_ID 1	   /* of every hierarchy; also its inode */

static struct hierarchies here;

/* A failure of our own does not mean that a hierarchy is not mounted. */
static void failed(void)
{
	if (err_is_own(errno))
		here.sys = errno;
}

/*
 * Open the root of a hierarchy of which only one group is mounted, as in containers: file handles
 * are not confined to the mount. The alternatives are worse: if process 1 is in a container, its
 * files may be hostile; and a mount of our own in the initial namespace would reset options such as
 * nsdelegate for all mounts (apply_cgroup_root_flags()).
 */
static int open_root(const char *folder)
{
	const uint64_t id = ROOT_ID;
	_Alignas(struct file_handle) char room[sizeof(struct file_handle) + sizeof(id)] = { 0 };
	struct file_handle *handle = (struct file_handle *)room;
	_cleanup_(cleanup_close) int mount = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	handle->handle_bytes = sizeof(id);
	handle->handle_type = HANDLE_KERNFS;
	memcpy(handle->f_handle, &id, sizeof(id));
	return mount < 0 ? -1 : open_by_handle_at(mount, handle, O_PATH | O_CLOEXEC);
}

/* If our names start at that root, the mounted group has the same inode under its name there. */
static void widen(struct hierarchy *h, uint64_t inode)
{
	_cleanup_(cleanup_close) int root = -1;
	char *folder;
	struct stat st;

	if (!strcmp(h->root, "/") || leads_out(h->root, strlen(h->root)))
		return;
	root = open_root(h->folder);
	if (root < 0 || fstatat(root, h->root + 1, &st, 0)) {
		failed();
		return;
	}
	if (st.st_ino != inode || asprintf(&folder, "/proc/self/fd/%d", root) < 0)
		return;
	free(h->folder);
	h->folder = folder;
	h->root[1] = '\0';
	h->whole = true;
	take_fd(root); /* kept until exit */
}

static void look(void)
{
	_cleanup_(cleanup_fclose) FILE *f = fopen(HIERARCHIES_FILE, "re");
	_cleanup_(cleanup_free) char *line = NULL;
	size_t room = 0, kept = 0;

	while (f && getline(&line, &room, f) >= 0)
		hierarchies_add(&here, line);
	if (!f || ferror(f))
		failed();
	for (size_t i = 0; i < here.n; i++) {
		struct hierarchy *h = &here.v[i];
		struct statx st = { 0 };

		if (statx(AT_FDCWD, h->folder, 0, STATX_INO | STATX_MNT_ID, &st))
			failed();
		/* Another mount may hide it. */
		if (!(st.stx_mask & STATX_MNT_ID) || st.stx_mnt_id != (uint64_t)h->mount_id) {
			fini(h);
			continue;
		}
		h->whole = st.stx_ino == ROOT_ID;
		if (!h->whole)
			widen(h, st.stx_ino);
		here.v[kept++] = *h;
	}
	here.n = kept;
}

const struct hierarchies *hierarchies_here(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, look);
	return &here;
}

/* --- their names --- */

static bool names_us(void)
{
	char text[PROC_CGROUP_SIZE];

	proc_cgroup(getpid(), text, sizeof(text));
	for (const char *line = text, *end; *line; line = *end ? end + 1 : end) {
		end = line + strcspn(line, "\n");
		if (leads_out(line, (size_t)(end - line)))
			return false;
	}
	return *text;
}

void hierarchies_join(void)
{
	_cleanup_(cleanup_close) int own = open("/proc/self/ns/cgroup", O_RDONLY | O_CLOEXEC);
	_cleanup_(cleanup_close) int first = open("/proc/1/ns/cgroup", O_RDONLY | O_CLOEXEC);
	struct stat a, b;

	if (own < 0 || first < 0 || fstat(own, &a) || fstat(first, &b) || a.st_ino == b.st_ino ||
	    setns(first, CLONE_NEWCGROUP))
		return;
	/* If we share the PID namespace of a container, its process 1 names only its own groups. */
	if (!names_us())
		(void)!setns(own, CLONE_NEWCGROUP);
}
