// SPDX-License-Identifier: Apache-2.0
#include "io/output.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/text.h"
#include "base/write.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

/* Less room than this and the target is not even asked. */
#define ROOM_MIN 65536
#define TEMP_TRIES 16
#define SAFE_PATH_SIZE 600
/* A heap profile shows the memory layout of its process: for the owner's eyes. */
#define OUTPUT_MODE 0600

static int bad(const struct output *o, int sys, const char *what, struct err *err)
{
	char safe[SAFE_PATH_SIZE];

	return err_sys(err, ERR_OUTPUT, sys, "%s %s", what,
		       output_safe(o->path, safe, sizeof(safe)));
}

static int split(struct output *o, const char *path, bool force, struct err *err)
{
	const char *slash = strrchr(path, '/');
	const char *name = slash ? slash + 1 : path;

	o->force = force;
	o->path = strdup(path);
	o->name = strdup(name);
	if (!o->path || !o->name)
		return err_sys(err, ERR_FAILED, ENOMEM, "cannot keep the name of the output");
	if (!*name || !strcmp(name, ".") || !strcmp(name, ".."))
		return bad(o, EISDIR, "cannot write", err);
	return 0;
}

static int open_folder(struct output *o, struct err *err)
{
	_cleanup_(cleanup_free) char *folder = NULL;
	size_t len = strlen(o->path) - strlen(o->name);

	folder = len ? strndup(o->path, len) : strdup(".");
	if (!folder)
		return err_sys(err, ERR_FAILED, ENOMEM, "cannot keep the name of the output");
	o->dir = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (o->dir < 0)
		o->dir = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (o->dir < 0) {
		bad(o, errno, "cannot open the folder of", err);
		return err_fix(err, "name a folder that exists");
	}
	return 0;
}

static int check_absent(const struct output *o, struct err *err)
{
	char safe[SAFE_PATH_SIZE];
	struct stat st;

	if (fstatat(o->dir, o->name, &st, AT_SYMLINK_NOFOLLOW))
		return errno == ENOENT ? 0 : bad(o, errno, "cannot look at", err);
	output_safe(o->path, safe, sizeof(safe));
	if (!S_ISREG(st.st_mode)) {
		err_set(err, ERR_OUTPUT, "%s exists and is %s", safe,
			S_ISDIR(st.st_mode) ? "a directory" : "not a regular file");
		return err_fix(err, "choose another name");
	}
	if (o->force)
		return 0;
	err_set(err, ERR_OUTPUT, "%s exists", safe);
	return err_fix(err, "choose another name, or replace it with --force");
}

int output_room(const struct output *o, uint64_t bytes, struct err *err)
{
	struct statvfs vfs;

	if (bytes < ROOM_MIN)
		bytes = ROOM_MIN;
	if (fstatvfs(o->dir, &vfs))
		return bad(o, errno, "cannot look at the file system of", err);
	if (vfs.f_flag & ST_RDONLY)
		return bad(o, EROFS, "cannot write", err);
	if ((vfs.f_blocks && (uint64_t)vfs.f_bavail * vfs.f_frsize < bytes) ||
	    (vfs.f_files && !vfs.f_favail)) {
		bad(o, ENOSPC, "cannot write", err);
		return err_fix(err, "make room there, or name another place");
	}
	return 0;
}

static int open_nameless(struct output *o, struct err *err)
{
	o->fd = openat(o->dir, ".", O_TMPFILE | O_WRONLY | O_CLOEXEC, OUTPUT_MODE);
	if (o->fd >= 0)
		return 0;
	if ((errno == EOPNOTSUPP || errno == EISDIR || errno == EINVAL || errno == ENOENT) &&
	    !faccessat(o->dir, ".", W_OK | X_OK, AT_EACCESS))
		return 0;
	bad(o, errno, "cannot write", err);
	return err_fix(err, "name a folder you may write to");
}

int output_open(struct output *o, const char *path, bool force, struct err *err)
{
	if (split(o, path, force, err) || open_folder(o, err) || check_absent(o, err) ||
	    output_room(o, ROOM_MIN, err))
		return -1;
	return open_nameless(o, err);
}

void output_close(struct output *o)
{
	cleanup_close(&o->fd);
	cleanup_close(&o->dir);
	free(o->path);
	free(o->name);
	*o = (struct output)OUTPUT_INIT;
}

static int too_late(const char *what, struct err *err)
{
	char safe[SAFE_PATH_SIZE];

	err_set(err, ERR_UNSAFE, "timed out writing %s", output_safe(what, safe, sizeof(safe)));
	return err_fix(err, "a longer --timeout gives it more");
}

int output_copy(int to, const char *what, int from, uint64_t len, uint64_t deadline_ms,
		struct err *err)
{
	char buf[65536], safe[SAFE_PATH_SIZE];
	uint64_t at = 0;

	while (at < len) {
		size_t want = len - at < sizeof(buf) ? (size_t)(len - at) : sizeof(buf);
		ssize_t n = pread(from, buf, want, (off_t)at);

		if (deadline_ms && now_ms() >= deadline_ms)
			return too_late(what, err);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return err_sys(err, ERR_LOST, n ? errno : EIO,
				       "cannot read what the target wrote");
		if (!write_all(to, buf, (size_t)n))
			return err_sys(err, ERR_OUTPUT, errno, "cannot write %s",
				       output_safe(what, safe, sizeof(safe)));
		at += (uint64_t)n;
	}
	return 0;
}

/* A name next to the file's own that nobody can have planted. */
static int temp_name(const struct output *o, char *buf, size_t size, unsigned int attempt)
{
	struct timespec ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	return snprintf(buf, size, ".%.200s.%d.%lx.%u", o->name, getpid(),
			(unsigned long)ts.tv_nsec, attempt) < (int)size
		       ? 0
		       : -1;
}

static int link_nameless(const struct output *o, const char *name)
{
	char self[64];

	snprintf(self, sizeof(self), "/proc/self/fd/%d", o->fd);
	return linkat(AT_FDCWD, self, o->dir, name, AT_SYMLINK_FOLLOW);
}

static int create_temp(struct output *o, const char *name)
{
	o->fd = openat(o->dir, name, O_CREAT | O_EXCL | O_NOFOLLOW | O_WRONLY | O_CLOEXEC,
		       OUTPUT_MODE);
	return o->fd < 0 ? -1 : 0;
}

/* Give the file a temporary name: the nameless one by a link, else by making one. */
static int make_temp(struct output *o, char *name, size_t size, struct err *err)
{
	for (unsigned int i = 0; i < TEMP_TRIES; i++) {
		if (temp_name(o, name, size, i))
			return bad(o, ENAMETOOLONG, "cannot write", err);
		if (!(o->fd >= 0 ? link_nameless(o, name) : create_temp(o, name)))
			return 0;
		if (errno != EEXIST)
			break;
	}
	return bad(o, errno, "cannot write", err);
}

static int name_taken(const struct output *o, struct err *err)
{
	bool taken = errno == EEXIST;

	bad(o, errno, "cannot write", err);
	if (taken)
		return err_fix(err, "choose another name, or replace it with --force");
	return -1;
}

static int rename_temp(struct output *o, const char *temp, struct err *err)
{
	unsigned int flags = o->force ? 0 : RENAME_NOREPLACE;

	if (!renameat2(o->dir, temp, o->dir, o->name, flags))
		return 0;
	/* NFS and others know no RENAME_NOREPLACE; link(2) never replaces either. */
	if (errno == EINVAL && flags && !linkat(o->dir, temp, o->dir, o->name, 0)) {
		unlinkat(o->dir, temp, 0);
		return 0;
	}
	name_taken(o, err);
	unlinkat(o->dir, temp, 0);
	return -1;
}

static int commit_by_rename(struct output *o, int from, uint64_t len, uint64_t deadline_ms,
			    struct err *err)
{
	bool nameless = o->fd >= 0;
	char temp[256];

	if (make_temp(o, temp, sizeof(temp), err))
		return -1;
	if (!nameless && (output_copy(o->fd, o->path, from, len, deadline_ms, err) ||
			  (fsync(o->fd) && bad(o, errno, "cannot write", err)))) {
		unlinkat(o->dir, temp, 0);
		return -1;
	}
	return rename_temp(o, temp, err);
}

static int commit(struct output *o, int from, uint64_t len, uint64_t deadline_ms, struct err *err)
{
	if (o->fd >= 0) {
		if (output_copy(o->fd, o->path, from, len, deadline_ms, err))
			return -1;
		if (!o->force && !link_nameless(o, o->name))
			return 0;
		if (!o->force && errno == EEXIST)
			return name_taken(o, err);
	}
	return commit_by_rename(o, from, len, deadline_ms, err);
}

/* While a temporary name exists, no signal that ends us may leave it behind. */
int output_commit(struct output *o, int from, uint64_t len, uint64_t deadline_ms, struct err *err)
{
	sigset_t block, before;
	int ret;

	if (output_room(o, len, err))
		return -1;
	sigemptyset(&block);
	sigaddset(&block, SIGINT);
	sigaddset(&block, SIGTERM);
	sigaddset(&block, SIGHUP);
	sigprocmask(SIG_BLOCK, &block, &before);
	ret = commit(o, from, len, deadline_ms, err);
	sigprocmask(SIG_SETMASK, &before, NULL);
	return ret;
}
