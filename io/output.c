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

/* With less free space than this, the target is not touched. */
#define ROOM_MIN 65536
#define TEMP_TRIES 16
#define SAFE_PATH_SIZE 600
/* A heap profile reveals the memory layout of its process: readable only by the owner. */
#define OUTPUT_MODE 0600

static int bad(const struct output *o, int sys, const char *what, struct err *err)
{
	return err_raise_sys(err, ERROR_OUTPUT_FAILED, sys, .what = what, .path = o->path);
}

static int split(struct output *o, const char *path, bool force, struct err *err)
{
	const char *slash = strrchr(path, '/');
	const char *name = slash ? slash + 1 : path;

	o->force = force;
	o->path = strdup(path);
	o->name = strdup(name);
	if (!o->path || !o->name)
		return err_no_memory(err);
	if (!*name || !strcmp(name, ".") || !strcmp(name, ".."))
		return bad(o, EISDIR, "write", err);
	return 0;
}

static int open_folder(struct output *o, struct err *err)
{
	_cleanup_(cleanup_free) char *folder = NULL;
	size_t len = strlen(o->path) - strlen(o->name);

	folder = len ? strndup(o->path, len) : strdup(".");
	if (!folder)
		return err_no_memory(err);
	o->dir = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (o->dir < 0)
		o->dir = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (o->dir < 0) {
		bad(o, errno, "open the folder of", err);
		return err_advise(err, FIX_NAME_A_FOLDER);
	}
	return 0;
}

static int check_absent(const struct output *o, struct err *err)
{
	char safe[SAFE_PATH_SIZE];
	struct stat st;

	if (fstatat(o->dir, o->name, &st, AT_SYMLINK_NOFOLLOW))
		return errno == ENOENT ? 0 : bad(o, errno, "look at", err);
	output_safe(o->path, safe, sizeof(safe));
	if (!S_ISREG(st.st_mode)) {
		err_raise(err,
			  S_ISDIR(st.st_mode) ? ERROR_OUTPUT_IS_FOLDER : ERROR_OUTPUT_NOT_A_FILE,
			  .path = o->path);
		return err_advise(err, FIX_CHOOSE_ANOTHER_NAME);
	}
	if (o->force)
		return 0;
	err_raise(err, ERROR_OUTPUT_EXISTS, .path = o->path);
	return err_advise(err, FIX_CHOOSE_OR_FORCE);
}

int output_room(const struct output *o, uint64_t bytes, struct err *err)
{
	struct statvfs vfs;

	if (bytes < ROOM_MIN)
		bytes = ROOM_MIN;
	if (fstatvfs(o->dir, &vfs))
		return bad(o, errno, "look at the file system of", err);
	if (vfs.f_flag & ST_RDONLY)
		return bad(o, EROFS, "write", err);
	if ((vfs.f_blocks && (uint64_t)vfs.f_bavail * vfs.f_frsize < bytes) ||
	    (vfs.f_files && !vfs.f_favail)) {
		bad(o, ENOSPC, "write", err);
		return err_advise(err, FIX_MAKE_ROOM);
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
	bad(o, errno, "write", err);
	return err_advise(err, FIX_NAME_A_WRITABLE_FOLDER);
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

int output_copy(int to, const char *what, int from, uint64_t len, uint64_t deadline_ms,
		struct err *err)
{
	char buf[65536];
	uint64_t at = 0;

	while (at < len) {
		size_t want = len - at < sizeof(buf) ? (size_t)(len - at) : sizeof(buf);
		ssize_t n = pread(from, buf, want, (off_t)at);

		if (deadline_ms && now_ms() >= deadline_ms) {
			err_raise(err, ERROR_OUTPUT_LATE, .path = what);
			return err_advise(err, FIX_LONGER_TIMEOUT);
		}
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return err_raise_sys(err, ERROR_HANDED_UNREADABLE, n ? errno : EIO);
		if (!write_all(to, buf, (size_t)n))
			return err_raise_sys(err, ERROR_OUTPUT_FAILED, errno, .what = "write",
					     .path = what);
		at += (uint64_t)n;
	}
	return 0;
}

static int link_nameless(const struct output *o, const char *name)
{
	char self[64];

	snprintf(self, sizeof(self), "/proc/self/fd/%d", o->fd);
	return linkat(AT_FDCWD, self, o->dir, name, AT_SYMLINK_FOLLOW);
}

/* Give the file a temporary name: link the unnamed file, or create a named one. */
static int make_temp(struct output *o, char *name, size_t size, struct err *err)
{
	const int flags = O_CREAT | O_EXCL | O_NOFOLLOW | O_WRONLY | O_CLOEXEC;

	for (unsigned int i = 0; i < TEMP_TRIES; i++) {
		struct timespec ts;

		/* An unpredictable name in the same directory. */
		clock_gettime(CLOCK_REALTIME, &ts);
		if (snprintf(name, size, ".%.200s.%d.%lx.%u", o->name, getpid(),
			     (unsigned long)ts.tv_nsec, i) >= (int)size)
			return bad(o, ENAMETOOLONG, "write", err);
		if (o->fd >= 0) {
			if (!link_nameless(o, name))
				return 0;
		} else {
			o->fd = openat(o->dir, name, flags, OUTPUT_MODE);
			if (o->fd >= 0)
				return 0;
		}
		if (errno != EEXIST)
			break;
	}
	return bad(o, errno, "write", err);
}

static int name_taken(const struct output *o, struct err *err)
{
	bool taken = errno == EEXIST;

	bad(o, errno, "write", err);
	if (taken)
		return err_advise(err, FIX_CHOOSE_OR_FORCE);
	return -1;
}

static int rename_temp(struct output *o, const char *temp, struct err *err)
{
	unsigned int flags = o->force ? 0 : RENAME_NOREPLACE;

	if (!renameat2(o->dir, temp, o->dir, o->name, flags))
		return 0;
	/* NFS and others lack RENAME_NOREPLACE; link(2) does not replace either. */
	if (errno == EINVAL && flags && !linkat(o->dir, temp, o->dir, o->name, 0)) {
		unlinkat(o->dir, temp, 0);
		return 0;
	}
	name_taken(o, err);
	unlinkat(o->dir, temp, 0);
	return -1;
}

static int commit(struct output *o, int from, uint64_t len, uint64_t deadline_ms, struct err *err)
{
	bool nameless = o->fd >= 0;
	char temp[256];

	if (nameless) {
		if (output_copy(o->fd, o->path, from, len, deadline_ms, err))
			return -1;
		if (!o->force && !link_nameless(o, o->name))
			return 0;
		if (!o->force && errno == EEXIST)
			return name_taken(o, err);
	}
	if (make_temp(o, temp, sizeof(temp), err))
		return -1;
	if (!nameless && (output_copy(o->fd, o->path, from, len, deadline_ms, err) ||
			  (fsync(o->fd) && bad(o, errno, "write", err)))) {
		unlinkat(o->dir, temp, 0);
		return -1;
	}
	return rename_temp(o, temp, err);
}

/* Signals are blocked while a temporary name exists, so that it is not left behind. */
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
