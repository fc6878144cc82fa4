// SPDX-License-Identifier: Apache-2.0
#include "ops/inside.h"

#include "base/cleanup.h"
#include "base/text.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#define ROOM_MIN 65536
#define SAFE_PATH_SIZE 600

static int bad(const struct inside *in, int sys, const char *what, struct err *err)
{
	char safe[SAFE_PATH_SIZE];

	return err_sys(err, ERR_OUTPUT, sys, "%s %s in the target", what,
		       output_safe(in->path, safe, sizeof(safe)));
}

static int open_root(pid_t pid)
{
	char link[64];

	snprintf(link, sizeof(link), "/proc/%d/root", pid);
	return open(link, O_PATH | O_DIRECTORY | O_CLOEXEC);
}

static int open_in_root(int root, const char *path, uint64_t flags)
{
	const struct open_how how = {
		.flags = flags | O_CLOEXEC,
		.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS,
	};

	return (int)syscall(SYS_openat2, root, path, &how, sizeof(how));
}

static int read_link(pid_t pid, const char *name, char *buf, size_t size)
{
	char link[64];
	ssize_t n;

	snprintf(link, sizeof(link), "/proc/%d/%s", pid, name);
	n = readlink(link, buf, size - 1);
	if (n < 0)
		return -1;
	buf[n] = '\0';
	return 0;
}

/* The working directory as the target names it: the kernel shows it from our root, not from its. */
static int working_dir(pid_t pid, char *buf, size_t size)
{
	char root[PATH_MAX], cwd[PATH_MAX];
	size_t len;

	if (read_link(pid, "root", root, sizeof(root)) || read_link(pid, "cwd", cwd, sizeof(cwd)))
		return -1;
	len = strcmp(root, "/") ? strlen(root) : 0;
	if (strncmp(cwd, root, len) || (cwd[len] && cwd[len] != '/'))
		return -1;
	return snprintf(buf, size, "%s", cwd[len] ? cwd + len : "/") < (int)size ? 0 : -1;
}

static int make_absolute(struct inside *in, const struct proc *p, const char *path, struct err *err)
{
	char cwd[PATH_MAX], whole[PATH_MAX * 2];

	if (*path == '/') {
		in->path = strdup(path);
	} else {
		if (working_dir(p->mm_pid, cwd, sizeof(cwd)))
			return err_set(err, ERR_OUTPUT,
				       "the target's working directory is not known; give an "
				       "absolute path");
		snprintf(whole, sizeof(whole), "%s/%s", strcmp(cwd, "/") ? cwd : "", path);
		in->path = strdup(whole);
	}
	if (!in->path)
		return err_sys(err, ERR_FAILED, ENOMEM, "cannot keep a path");
	return 0;
}

int inside_open(struct inside *in, const struct proc *p, const char *path, struct err *err)
{
	_cleanup_(cleanup_close) int root = -1;
	_cleanup_(cleanup_free) char *folder = NULL;
	const char *slash;

	if (make_absolute(in, p, path, err))
		return -1;
	slash = strrchr(in->path, '/');
	in->name = strdup(slash + 1);
	folder = strndup(in->path, (size_t)(slash + 1 - in->path));
	if (!in->name || !folder)
		return err_sys(err, ERR_FAILED, ENOMEM, "cannot keep a path");
	if (strlen(in->path) >= PATH_MAX)
		return bad(in, ENAMETOOLONG, "cannot write", err);
	root = open_root(p->mm_pid);
	if (root < 0)
		return err_sys(err, ERR_PERM, errno, "cannot open the root of %d", p->pid);
	in->dir = open_in_root(root, folder, O_RDONLY | O_DIRECTORY);
	if (in->dir < 0) {
		bad(in, errno, "cannot open the folder of", err);
		return err_fix(err, "name a folder that exists where the target runs");
	}
	return 0;
}

void inside_close(struct inside *in)
{
	cleanup_close(&in->dir);
	free(in->path);
	free(in->name);
	*in = (struct inside)INSIDE_INIT;
}

/* Groups and ACLs are left to the kernel: only a sure refusal is one here. */
static bool surely_refused(const struct stat *st, uid_t euid)
{
	if (euid == 0)
		return false;
	if (st->st_uid == euid)
		return (st->st_mode & 0300) != 0300;
	return (st->st_mode & 0030) != 0030 && (st->st_mode & 0003) != 0003;
}

int inside_may_write(const struct inside *in, const struct proc *p, struct err *err)
{
	struct statvfs vfs;
	struct stat st;

	if (fstat(in->dir, &st) || fstatvfs(in->dir, &vfs))
		return bad(in, errno, "cannot look at the folder of", err);
	if (vfs.f_flag & ST_RDONLY)
		return bad(in, EROFS, "cannot write", err);
	if (surely_refused(&st, p->status.euid)) {
		bad(in, EACCES, "cannot write", err);
		return err_fix(err,
			       "name a folder that uid %u, which the target runs as, may write to",
			       p->status.euid);
	}
	if ((vfs.f_blocks && (uint64_t)vfs.f_bavail * vfs.f_frsize < ROOM_MIN) ||
	    (vfs.f_files && !vfs.f_favail)) {
		bad(in, ENOSPC, "cannot write", err);
		return err_fix(err, "make room there, or name another place");
	}
	return 0;
}

int inside_absent(const struct inside *in, bool force, struct err *err)
{
	char safe[SAFE_PATH_SIZE];
	struct stat st;

	output_safe(in->path, safe, sizeof(safe));
	if (!*in->name)
		return bad(in, EISDIR, "cannot write", err);
	if (fstatat(in->dir, in->name, &st, AT_SYMLINK_NOFOLLOW))
		return errno == ENOENT ? 0 : bad(in, errno, "cannot look at", err);
	if (!S_ISREG(st.st_mode)) {
		err_set(err, ERR_OUTPUT, "%s exists in the target and is %s", safe,
			S_ISDIR(st.st_mode) ? "a directory" : "not a regular file");
		return err_fix(err, "choose another name");
	}
	if (force)
		return 0;
	err_set(err, ERR_OUTPUT, "%s exists in the target", safe);
	return err_fix(err, "choose another name, or replace it with --force");
}

bool inside_size(const struct inside *in, uint64_t *bytes)
{
	struct stat st;

	if (fstatat(in->dir, in->name, &st, AT_SYMLINK_NOFOLLOW) || !S_ISREG(st.st_mode))
		return false;
	*bytes = (uint64_t)st.st_size;
	return true;
}

/* NAME.PID.SEQ.mN.heap, with a namespace number between in some versions. */
static bool is_manual_dump(const char *file, const char *start)
{
	size_t len = strlen(start);
	const char *end = file + strlen(file);

	return !strncmp(file, start, len) && strstr(file + len, ".m") && end - file > 5 &&
	       !strcmp(end - 5, ".heap");
}

static bool older(const struct timespec *a, const struct timespec *b)
{
	return a->tv_sec != b->tv_sec ? a->tv_sec < b->tv_sec : a->tv_nsec < b->tv_nsec;
}

bool inside_newest_dump(const struct inside *in, const struct proc *p, struct inside_dump *dump)
{
	_cleanup_(cleanup_closedir) DIR *dir = NULL;
	char start[PATH_MAX];
	const struct dirent *e;
	int fd = openat(in->dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	*dump = (struct inside_dump){ 0 };
	if (fd < 0)
		return false;
	dir = fdopendir(fd);
	if (!dir)
		close(fd);
	snprintf(start, sizeof(start), "%s.%d.", in->name, p->status.ns_pid);
	while (dir && (e = readdir(dir))) {
		struct stat st;

		if (!is_manual_dump(e->d_name, start) ||
		    fstatat(in->dir, e->d_name, &st, AT_SYMLINK_NOFOLLOW) || !S_ISREG(st.st_mode) ||
		    older(&st.st_mtim, &dump->written))
			continue;
		snprintf(dump->name, sizeof(dump->name), "%s", e->d_name);
		dump->written = st.st_mtim;
	}
	return dump->name[0] != '\0';
}

bool inside_has_proc(const struct proc *p)
{
	_cleanup_(cleanup_close) int root = open_root(p->mm_pid);
	struct stat st;

	if (root < 0)
		return true;
	/* The link itself: it leads nowhere for a reader in another pid namespace. */
	return !fstatat(root, "proc/self", &st, AT_SYMLINK_NOFOLLOW) || errno != ENOENT;
}
