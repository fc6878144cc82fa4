// SPDX-License-Identifier: Apache-2.0
#include "ops/target/inside.h"

#include "base/cleanup.h"
#include "sandbox/confined.h"

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
#define ANSWER_MAX 8192

static int bad(const struct inside *in, int sys, const char *what, struct err *err)
{
	return err_raise_sys(err, ERROR_INSIDE_FAILED, sys, .what = what, .path = in->path);
}

static int open_root(pid_t pid)
{
	char link[64];

	snprintf(link, sizeof(link), "/proc/%d/root", pid);
	return open(link, O_PATH | O_DIRECTORY | O_CLOEXEC);
}

static int read_link(pid_t pid, const char *name, char *buf, size_t size)
{
	char link[64];
	ssize_t n;

	snprintf(link, sizeof(link), "/proc/%d/%s", pid, name);
	n = readlink(link, buf, size - 1);
	if (n < 0) {
		err_remember(errno, ERROR_LINK_UNREADABLE, .path = link);
		return -1;
	}
	buf[n] = '\0';
	return 0;
}

/* The working directory as the target names it: the kernel shows it relative to our root. */
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

/* --- questions for a child --- */

/* A question, and what the child found. */
struct question {
	const struct inside *in;
	int (*find)(struct question *q, struct err *err); /* in the child */
	bool force, to_write;
	bool stoppable; /* nothing was written yet */
	int fd;
	bool found;
	uint64_t bytes;
	struct inside_dump dump;
};

static int enter(void *ctx, struct err *err)
{
	struct question *q = ctx;

	return q->find(q, err);
}

static void tell(void *ctx)
{
	_cleanup_(pack_fini) struct pack p = { 0 };
	const struct question *q = ctx;

	pack_u64(&p, q->found);
	pack_u64(&p, q->bytes);
	pack_bytes(&p, &q->dump, sizeof(q->dump));
	confined_reply(false, NULL, &p, q->fd);
}

/* What the target wrote is inspected, or removed, even if the command is to end early. */
static int ask(struct question *q, struct err *err)
{
	const struct confined_options options = {
		.what = "look at the target's folder",
		.fds = &q->in->dir,
		.n_fds = 1,
		.no_door = true,
		.enter = enter,
	};
	_cleanup_(confined_end) struct confined c =
		CONFINED_UNTIL(q->stoppable ? q->in->s->options->stop_fd : -1);
	struct unpack answer;
	int fd = -1;

	q->fd = -1;
	if (confined_start(&c, &options, tell, q, err) ||
	    confined_answer(&c, session_left_ms(q->in->s), ANSWER_MAX, &answer, &fd, err))
		return -1;
	q->found = unpack_bool(&answer);
	q->bytes = unpack_u64(&answer);
	unpack_bytes(&answer, &q->dump, sizeof(q->dump));
	q->dump.name[sizeof(q->dump.name) - 1] = '\0';
	if (!unpack_done(&answer)) {
		cleanup_close(&fd);
		return err_raise(err, ERROR_CHILD_MALFORMED, .what = options.what);
	}
	q->fd = fd;
	return 0;
}

/* Groups and ACLs are left to the kernel: only a definite refusal counts here. */
static bool surely_refused(const struct stat *st, uid_t euid)
{
	if (euid == 0)
		return false;
	if (st->st_uid == euid)
		return (st->st_mode & 0300) != 0300;
	return (st->st_mode & 0030) != 0030 && (st->st_mode & 0003) != 0003;
}

static int may_write(const struct inside *in, int folder, struct err *err)
{
	uid_t euid = in->s->proc.status.euid;
	struct statvfs vfs;
	struct stat st;

	if (fstat(folder, &st) || fstatvfs(folder, &vfs))
		return bad(in, errno, "look at the folder of", err);
	if (vfs.f_flag & ST_RDONLY)
		return bad(in, EROFS, "write", err);
	if (surely_refused(&st, euid)) {
		bad(in, EACCES, "write", err);
		return err_advise(err, FIX_NAME_A_FOLDER_FOR_UID, .uid = euid);
	}
	if ((vfs.f_blocks && (uint64_t)vfs.f_bavail * vfs.f_frsize < ROOM_MIN) ||
	    (vfs.f_files && !vfs.f_favail)) {
		bad(in, ENOSPC, "write", err);
		return err_advise(err, FIX_MAKE_ROOM);
	}
	return 0;
}

static int open_folder(struct question *q, struct err *err)
{
	const struct open_how how = {
		.flags = O_PATH | O_DIRECTORY | O_CLOEXEC,
		.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS,
	};
	const struct inside *in = q->in;
	_cleanup_(cleanup_free) char *folder =
		strndup(in->path, strlen(in->path) - strlen(in->name));
	_cleanup_(cleanup_close) int root = open_root(in->s->proc.mm_pid);

	if (!folder)
		return err_no_memory(err);
	if (root < 0)
		return err_raise_sys(err, ERROR_ROOT_UNOPENED, errno, .pid = in->s->proc.pid);
	q->fd = (int)syscall(SYS_openat2, root, folder, &how, sizeof(how));
	if (q->fd >= 0)
		return q->to_write ? may_write(in, q->fd, err) : 0;
	bad(in, errno, "open the folder of", err);
	return err_advise(err, FIX_NAME_A_FOLDER_IN_TARGET);
}

int inside_open(struct inside *in, const struct session *s, const char *path, bool to_write,
		struct err *err)
{
	struct question q = {
		.in = in, .find = open_folder, .to_write = to_write, .stoppable = true
	};

	char cwd[PATH_MAX], whole[PATH_MAX * 2];

	in->s = s;
	if (*path == '/') {
		in->path = strdup(path);
	} else if (working_dir(s->proc.mm_pid, cwd, sizeof(cwd))) {
		err_raise(err, ERROR_NO_WORKING_DIRECTORY);
		return err_explain(err);
	} else {
		snprintf(whole, sizeof(whole), "%s/%s", strcmp(cwd, "/") ? cwd : "", path);
		in->path = strdup(whole);
	}
	if (!in->path)
		return err_no_memory(err);
	in->name = strdup(strrchr(in->path, '/') + 1);
	if (!in->name)
		return err_no_memory(err);
	if (strlen(in->path) >= PATH_MAX)
		return bad(in, ENAMETOOLONG, "write", err);
	if (ask(&q, err))
		return -1;
	in->dir = q.fd;
	return 0;
}

void inside_close(struct inside *in)
{
	cleanup_close(&in->dir);
	free(in->path);
	free(in->name);
	*in = (struct inside)INSIDE_INIT;
}

static int look_for_file(struct question *q, struct err *err)
{
	const struct inside *in = q->in;
	struct stat st;

	if (!*in->name)
		return bad(in, EISDIR, "write", err);
	if (fstatat(in->dir, in->name, &st, AT_SYMLINK_NOFOLLOW))
		return errno == ENOENT ? 0 : bad(in, errno, "look at", err);
	if (!S_ISREG(st.st_mode)) {
		err_raise(err,
			  S_ISDIR(st.st_mode) ? ERROR_INSIDE_IS_FOLDER : ERROR_INSIDE_NOT_A_FILE,
			  .path = in->path);
		return err_advise(err, FIX_CHOOSE_ANOTHER_NAME);
	}
	if (q->force)
		return 0;
	err_raise(err, ERROR_INSIDE_EXISTS, .path = in->path);
	return err_advise(err, FIX_CHOOSE_OR_FORCE);
}

int inside_absent(const struct inside *in, bool force, struct err *err)
{
	struct question q = { .in = in, .find = look_for_file, .force = force, .stoppable = true };

	return ask(&q, err);
}

static int find_size(struct question *q, struct err *err)
{
	struct stat st;

	(void)err;
	q->found =
		!fstatat(q->in->dir, q->in->name, &st, AT_SYMLINK_NOFOLLOW) && S_ISREG(st.st_mode);
	q->bytes = q->found ? (uint64_t)st.st_size : 0;
	return 0;
}

bool inside_size(const struct inside *in, uint64_t *bytes)
{
	struct question q = { .in = in, .find = find_size };
	struct err ignored = ERR_INIT;

	if (ask(&q, &ignored) || !q.found)
		return false;
	*bytes = q.bytes;
	return true;
}

static int remove_it(struct question *q, struct err *err)
{
	(void)err;
	unlinkat(q->in->dir, q->in->name, 0);
	return 0;
}

void inside_remove(const struct inside *in)
{
	struct question q = { .in = in, .find = remove_it };
	struct err ignored = ERR_INIT;

	if (ask(&q, &ignored))
		return;
}

static int open_handle(struct question *q, struct err *err)
{
	q->fd = openat(q->in->dir, q->in->name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	return q->fd < 0 ? err_raise_sys(err, ERROR_TARGET_DUMP_UNOPENED, errno) : 0;
}

int inside_handle(const struct inside *in, int *handle, struct err *err)
{
	struct question q = { .in = in, .find = open_handle };

	if (ask(&q, err))
		return -1;
	*handle = q.fd;
	return 0;
}

/* NAME.PID.SEQ.mN.heap, with a namespace number in between in some versions. */
static bool is_manual_dump(const char *file, const char *start)
{
	size_t len = strlen(start);
	const char *end = file + strlen(file);

	return !strncmp(file, start, len) && strstr(file + len, ".m") && end - file > 5 &&
	       !strcmp(end - 5, ".heap");
}

static int find_newest(struct question *q, struct err *err)
{
	_cleanup_(cleanup_closedir) DIR *dir = NULL;
	const struct inside *in = q->in;
	struct inside_dump *dump = &q->dump;
	char start[PATH_MAX];
	const struct dirent *e;
	int fd = openat(in->dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	(void)err;
	if (fd < 0)
		return 0;
	dir = fdopendir(fd);
	if (!dir)
		close(fd);
	snprintf(start, sizeof(start), "%s.%d.", in->name, in->s->proc.status.ns_pid);
	while (dir && (e = readdir(dir))) {
		struct stat st;

		if (!is_manual_dump(e->d_name, start) ||
		    fstatat(in->dir, e->d_name, &st, AT_SYMLINK_NOFOLLOW) || !S_ISREG(st.st_mode) ||
		    st.st_mtim.tv_sec < dump->written.tv_sec ||
		    (st.st_mtim.tv_sec == dump->written.tv_sec &&
		     st.st_mtim.tv_nsec < dump->written.tv_nsec))
			continue;
		snprintf(dump->name, sizeof(dump->name), "%s", e->d_name);
		dump->written = st.st_mtim;
	}
	return 0;
}

bool inside_newest_dump(const struct inside *in, struct inside_dump *dump)
{
	struct question q = { .in = in, .find = find_newest };
	struct err ignored = ERR_INIT;

	*dump = (struct inside_dump){ 0 };
	if (ask(&q, &ignored) || strchr(q.dump.name, '/'))
		return false;
	*dump = q.dump;
	return dump->name[0] != '\0';
}

static int find_proc(struct question *q, struct err *err)
{
	_cleanup_(cleanup_close) int root = open_root(q->in->s->proc.mm_pid);
	struct stat st;

	(void)err;
	/* The link itself: for a reader in another pid namespace it leads nowhere. */
	q->found = root < 0 || !fstatat(root, "proc/self", &st, AT_SYMLINK_NOFOLLOW) ||
		   errno != ENOENT;
	return 0;
}

/* From what the kernel has in memory: no file system is asked. */
static bool same_root(pid_t pid)
{
	_cleanup_(cleanup_close) int root = open_root(pid);
	const unsigned int want = STATX_INO | STATX_MNT_ID;
	struct statx ours, its;

	return root >= 0 && !statx(AT_FDCWD, "/", AT_STATX_DONT_SYNC, want, &ours) &&
	       !statx(root, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, want, &its) &&
	       (ours.stx_mask & its.stx_mask & STATX_MNT_ID) && ours.stx_mnt_id == its.stx_mnt_id &&
	       ours.stx_ino == its.stx_ino;
}

bool inside_has_proc(const struct session *s)
{
	const struct inside in = { .s = s, .dir = -1 };
	struct question q = { .in = &in, .find = find_proc };
	struct err ignored = ERR_INIT;

	return (same_root(s->proc.mm_pid) && !access("/proc/self", F_OK)) || ask(&q, &ignored) ||
	       q.found;
}
