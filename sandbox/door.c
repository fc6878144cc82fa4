// SPDX-License-Identifier: Apache-2.0
#include "sandbox/door.h"

#include "base/cleanup.h"
#include "base/err.h"
#include "base/pack.h"
#include "sandbox/debuginfod.h"
#include "sandbox/vouch.h"

#include <ctype.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#define ID_MAX 64
#define NAME_SIZE 128 /* of files in /proc/PID, and of links in /etc */
#define PRELOAD "/etc/ld.so.preload"

enum op {
	OP_PROC,
	OP_PROC_FILE,
	OP_PROC_HANDLE,
	OP_PROC_LINK,
	OP_BELOW,
	OP_LINK_BELOW,
	OP_TEMPORARY,
	OP_DEBUGINFOD,
	OPS
};

struct request {
	uint32_t op;
	int32_t pid, tid;
	uint32_t id_len;
	uint64_t max;
	unsigned char id[ID_MAX];
	char name[NAME_SIZE];
	char root[PATH_MAX], path[PATH_MAX]; /* sent only if needed */
};

struct reply {
	int32_t sys; /* errno, 0 for success */
	uint32_t len;
	char text[PATH_MAX]; /* target of a link, or a packed error */
};

/* --- opening directly --- */

static void proc_path(char *buf, size_t size, const struct request *r)
{
	if (r->tid)
		snprintf(buf, size, "/proc/%d/task/%d/%s", r->pid, r->tid, r->name);
	else
		snprintf(buf, size, "/proc/%d/%s", r->pid, r->name);
}

/* Returns -1 with `sys` in errno. */
static int fails(int sys)
{
	errno = sys;
	return -1;
}

/*
 * The target controls what its paths refer to. So a handle is opened first: that has no effect on a
 * device and does not block on a FIFO.
 */
static int open_regular(int handle, uint64_t max)
{
	struct stat st;
	char path[64];

	if (handle < 0)
		return -1;
	if (fstat(handle, &st))
		return -1;
	if (!S_ISREG(st.st_mode))
		return fails(EINVAL);
	if ((uint64_t)st.st_size > max)
		return fails(EFBIG);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", handle);
	return open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
}

static int handle_below(const char *root, const char *path)
{
	struct open_how how = { .flags = O_PATH | O_CLOEXEC, .resolve = RESOLVE_IN_ROOT };
	_cleanup_(cleanup_close) int folder = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);

	return folder < 0 ? -1 : (int)syscall(SYS_openat2, folder, path, &how, sizeof(how));
}

static const char *temporary_folder(void)
{
	const char *folder = getenv("TMPDIR");

	return folder && *folder == '/' ? folder : "/var/tmp";
}

static int open_temporary(void)
{
	return open(temporary_folder(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
}

static int ask_server(const struct request *r, struct reply *reply)
{
	_cleanup_(pack_fini) struct pack p = { .max = sizeof(reply->text) };
	struct err err = ERR_INIT;
	int fd;

	if (!debuginfod_open(r->id, r->id_len, &fd, &err))
		return fd;
	pack_err(&p, &err);
	if (!p.failed)
		memcpy(reply->text, p.v, reply->len = (uint32_t)p.len);
	return fails(ENOENT);
}

/* Returns a descriptor, or 0 if the result is text, or -1 with errno. */
static int do_it(const struct request *r, struct reply *reply)
{
	_cleanup_(cleanup_close) int handle = -1;
	char path[PATH_MAX];
	ssize_t len = 0;

	proc_path(path, sizeof(path), r);
	switch ((enum op)r->op) {
	case OP_PROC:
		return open(path, O_RDONLY | O_CLOEXEC);
	case OP_PROC_FILE:
		handle = open(path, O_PATH | O_CLOEXEC);
		return open_regular(handle, r->max);
	case OP_PROC_HANDLE:
		return open(path, O_PATH | O_CLOEXEC);
	case OP_BELOW:
		handle = handle_below(r->root, r->path);
		return open_regular(handle, r->max);
	case OP_TEMPORARY:
		return open_temporary();
	case OP_DEBUGINFOD:
		return ask_server(r, reply);
	case OP_PROC_LINK:
		len = readlink(path, reply->text, sizeof(reply->text));
		break;
	case OP_LINK_BELOW:
		handle = handle_below(r->root, r->path);
		len = handle < 0 ? -1
				 : readlinkat(handle, r->name, reply->text, sizeof(reply->text));
		break;
	case OPS:
		return fails(EINVAL);
	}
	reply->len = len < 0 ? 0 : (uint32_t)len;
	return len < 0 ? -1 : 0;
}

/* --- the opener --- */

static bool is_one_of(const char *name, const char *const *names, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!strcmp(name, names[i]))
			return true;
	return false;
}

/* map_files/START-END */
static bool is_map_file(const char *name)
{
	static const char folder[] = "map_files/";
	static const char range[] = "0123456789abcdef-";

	if (strncmp(name, folder, strlen(folder)) != 0)
		return false;
	name += strlen(folder);
	return *name && name[strspn(name, range)] == '\0';
}

static bool may_name(const struct request *r)
{
	static const char *const files[] = { "auxv",   "cgroup",  "cmdline", "environ",
					     "maps",   "mem",	  "pagemap", "stat",
					     "status", "syscall", "task" };
	static const char *const links[] = { "cwd", "exe", "ns/mnt", "ns/user", "root" };

	switch ((enum op)r->op) {
	case OP_PROC:
		return is_one_of(r->name, files, sizeof(files) / sizeof(*files));
	case OP_PROC_FILE:
	case OP_PROC_HANDLE:
		return !strcmp(r->name, "exe") || is_map_file(r->name);
	case OP_PROC_LINK:
		return is_one_of(r->name, links, sizeof(links) / sizeof(*links));
	case OP_LINK_BELOW:
		return !strcmp(r->path, "/etc") && *r->name && !strchr(r->name, '/');
	default:
		return true;
	}
}

/* Is it a process allowed by the policy, or one of its threads? */
static bool may_pid(const struct door_policy *policy, pid_t pid)
{
	char path[64];

	if (pid <= 0)
		return false;
	if (!policy->pid || pid == policy->pid)
		return true;
	snprintf(path, sizeof(path), "/proc/%d/task/%d", policy->pid, pid);
	return !access(path, F_OK);
}

/*
 * The pid may be reused once this process has exited (pidfd_open(2)): files opened before that
 * belong to it. Returns -1 with ENOENT if it has, and with another errno if that is unknown.
 */
static int check_not_ended(const struct door_policy *policy)
{
	struct pollfd ended = { .fd = policy->pidfd, .events = POLLIN };
	int n = policy->pidfd > 0 ? poll(&ended, 1, 0) : 0;

	if (n > 0)
		return fails(ENOENT);
	return n;
}

static bool names_process(const struct request *r)
{
	switch ((enum op)r->op) {
	case OP_BELOW:
	case OP_LINK_BELOW:
		return !strncmp(r->root, "/proc/", strlen("/proc/"));
	case OP_TEMPORARY:
	case OP_DEBUGINFOD:
		return false;
	default:
		return true;
	}
}

static bool may_root(const struct door_policy *policy, const char *root)
{
	char expected[64];
	int pid;

	if (!strcmp(root, "/") || (policy->root && !strcmp(root, policy->root)))
		return true;
	if (sscanf(root, "/proc/%d/", &pid) != 1 || !may_pid(policy, pid))
		return false;
	snprintf(expected, sizeof(expected), "/proc/%d/root", pid);
	return !strcmp(root, expected);
}

static bool may(const struct door_policy *policy, const struct request *r)
{
	static const char *const memory[] = { "auxv", "cmdline", "environ", "mem", "syscall" };

	if (policy->no_memory && r->op == OP_PROC &&
	    is_one_of(r->name, memory, sizeof(memory) / sizeof(*memory)))
		return false;
	if (policy->has_handle && r->op != OP_PROC_FILE && r->op != OP_TEMPORARY &&
	    r->op != OP_DEBUGINFOD && (r->op != OP_BELOW || strcmp(r->root, "/") != 0))
		return false;
	switch ((enum op)r->op) {
	case OP_BELOW:
	case OP_LINK_BELOW:
		return may_root(policy, r->root) && may_name(r);
	case OP_TEMPORARY:
		return policy->temporary_max_bytes > 0;
	case OP_DEBUGINFOD:
		return policy->debuginfod && r->id_len <= ID_MAX;
	case OPS:
		return false;
	default:
		return may_pid(policy, r->pid) && may_name(r);
	}
}

/* Files opened by path must be ELF files, which files with secrets are not. */
static bool is_elf(int fd)
{
	char magic[SELFMAG];

	return pread(fd, magic, sizeof(magic), 0) == sizeof(magic) &&
	       !memcmp(magic, ELFMAG, SELFMAG);
}

/*
 * Source text is recognized by the name of the file, after links are followed: otherwise root's
 * privileges would give access to files with secrets. Files in procfs and sysfs are not source
 * text.
 */
static bool is_source(int fd)
{
	static const char *const suffixes[] = { ".c",	".cc",	".cpp", ".cxx", ".c++", ".C",
						".h",	".hh",	".hpp", ".hxx", ".h++", ".inc",
						".inl", ".ipp", ".tcc", ".m",	".mm",	".rs",
						".go",	".d",	".zig", ".s",	".S",	".f",
						".f90", ".y",	".l",	".adb" };
	char link[64], path[PATH_MAX];
	const char *suffix;
	struct statfs fs;
	ssize_t len;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	len = readlink(link, path, sizeof(path) - 1);
	if (len <= 0 || fstatfs(fd, &fs) || fs.f_type == PROC_SUPER_MAGIC ||
	    fs.f_type == SYSFS_MAGIC)
		return false;
	path[len] = '\0';
	suffix = strrchr(path, '.');
	return suffix && is_one_of(suffix, suffixes, sizeof(suffixes) / sizeof(*suffixes));
}

/*
 * Our own handles of lent temporary files. A flock(2) lock belongs to the open file description: it
 * is held until the borrower has closed its descriptors and mappings.
 */
static int lent[] = { -1, -1 };

static int lend_temporary(const struct door_policy *policy)
{
	_cleanup_(cleanup_close) int fd = -1;
	char path[64];
	struct statvfs fs;
	size_t n = 0; /* in use */
	int *slot = NULL;

	for (size_t i = 0; i < sizeof(lent) / sizeof(*lent); i++)
		if (lent[i] >= 0 && flock(lent[i], LOCK_SH | LOCK_NB))
			n++;
		else
			slot = &lent[i];
	if (!slot)
		return fails(EBUSY);
	cleanup_close(slot);
	*slot = -1;
	fd = open_temporary();
	if (fd < 0)
		return -1;
	/* Half of the free space must remain free at their maximum size. */
	if (fstatvfs(fd, &fs) ||
	    (uint64_t)fs.f_bavail / 2 < (n + 1) * policy->temporary_max_bytes / fs.f_frsize)
		return fails(ENOSPC);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	*slot = open(path, O_RDONLY | O_CLOEXEC);
	if (*slot < 0 || flock(fd, LOCK_EX | LOCK_NB))
		return -1;
	return take_fd(fd);
}

static int open_for(const struct door_policy *policy, const struct request *r, struct reply *reply)
{
	bool by_path = r->op == OP_BELOW || r->op == OP_PROC_FILE;
	int fd;

	if (r->op >= OPS || !may(policy, r))
		return fails(EPERM);
	if (r->op == OP_TEMPORARY)
		return lend_temporary(policy);
	if (!policy->has_handle || r->op != OP_PROC_FILE)
		fd = do_it(r, reply);
	else if (vouch_is_served(policy->handle))
		return fails(ENOTSUP);
	else
		fd = open_regular(policy->handle, r->max);
	if (fd >= 0 && names_process(r) && check_not_ended(policy)) {
		int sys = errno;

		if (fd > 0)
			close(fd);
		reply->len = 0;
		return fails(sys);
	}
	if (fd < 0 || !by_path)
		return fd;
	if ((!policy->vouched || vouch_file(fd, policy->caller)) &&
	    (is_elf(fd) || (r->op == OP_BELOW && !strcmp(r->path, PRELOAD)) ||
	     (policy->sources && r->op == OP_BELOW && is_source(fd))))
		return fd;
	close(fd);
	return fails(ENOEXEC);
}

bool door_needs_user(const struct door_policy *policy)
{
	struct stat st;

	return policy->debuginfod || (policy->temporary_max_bytes &&
				      !stat(temporary_folder(), &st) && !(st.st_mode & S_IWOTH));
}

/* One message with at most one descriptor; `fd` is -1 for none. */
static bool send_reply(int sock, const struct reply *reply, int fd)
{
	char control[CMSG_SPACE(sizeof(int))] = { 0 };
	struct iovec io = { (void *)reply, offsetof(struct reply, text) + reply->len };
	struct msghdr msg = { .msg_iov = &io, .msg_iovlen = 1 };
	struct cmsghdr *c;

	if (fd >= 0) {
		msg.msg_control = control;
		msg.msg_controllen = sizeof(control);
		c = CMSG_FIRSTHDR(&msg);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(c), &fd, sizeof(fd));
	}
	return sendmsg(sock, &msg, MSG_NOSIGNAL) >= 0;
}

static bool is_text(const struct request *r)
{
	return r->op == OP_PROC_LINK || r->op == OP_LINK_BELOW;
}

static size_t request_size(const struct request *r)
{
	return r->op == OP_BELOW || r->op == OP_LINK_BELOW ? sizeof(*r)
							   : offsetof(struct request, root);
}

/* Is it a complete request with terminated strings? */
static bool is_request(const struct request *r, ssize_t got)
{
	if (got < (ssize_t)offsetof(struct request, root) || (size_t)got != request_size(r))
		return false;
	return memchr(r->name, '\0', sizeof(r->name)) &&
	       ((size_t)got < sizeof(*r) ||
		(memchr(r->root, '\0', sizeof(r->root)) && memchr(r->path, '\0', sizeof(r->path))));
}

void door_serve(int sock, const struct door_policy *policy)
{
	static struct request r;
	static struct reply reply;

	for (bool sent = true; sent;) {
		ssize_t got = recv(sock, &r, sizeof(r), 0);
		int fd;

		if (got < 0 && errno == EINTR)
			continue;
		if (!is_request(&r, got))
			return;
		reply.len = 0;
		fd = open_for(policy, &r, &reply);
		reply.sys = fd < 0 ? errno : 0;
		fd = is_text(&r) ? -1 : fd;
		sent = send_reply(sock, &reply, fd);
		if (!sent && errno == ETOOMANYREFS) {
			reply.sys = ETOOMANYREFS;
			sent = send_reply(sock, &reply, -1);
		}
		cleanup_close(&fd);
	}
}

/* --- requests --- */

static int asked = -1; /* socket to the opener, see door_use() */
static bool lost;      /* replies can no longer be matched to requests */

static struct given {
	pid_t pid;
	char name[16];
	int fd;
} given[DOOR_GIVEN_MAX];
static size_t n_given;

void door_use(int sock)
{
	asked = sock;
}

bool door_in_use(void)
{
	return asked >= 0;
}

void door_give(pid_t pid, const char *name, int fd)
{
	if (n_given == DOOR_GIVEN_MAX) {
		close(fd);
		return;
	}
	given[n_given] = (struct given){ .pid = pid, .fd = fd };
	snprintf(given[n_given++].name, sizeof(given->name), "%s", name);
}

static int take_given(const struct request *r)
{
	for (size_t i = 0; i < n_given; i++) {
		int fd = given[i].fd;

		if (given[i].pid != r->pid || r->tid || strcmp(given[i].name, r->name) != 0)
			continue;
		given[i] = given[--n_given];
		return fd;
	}
	return -1;
}

/* The opener has exited; whether it left a request unread does not matter. */
static int fails_to_talk(void)
{
	return errno == ECONNRESET ? fails(EPIPE) : -1;
}

static int receive(struct reply *reply, int *fd)
{
	char control[CMSG_SPACE(sizeof(int))];
	struct iovec io = { reply, sizeof(*reply) };
	struct msghdr msg = { .msg_iov = &io,
			      .msg_iovlen = 1,
			      .msg_control = control,
			      .msg_controllen = sizeof(control) };
	ssize_t got = lost ? 0 : recvmsg(asked, &msg, MSG_CMSG_CLOEXEC);
	struct cmsghdr *c = CMSG_FIRSTHDR(&msg);

	*fd = -1;
	lost |= got < (ssize_t)offsetof(struct reply, text);
	if (lost)
		return got < 0 ? fails_to_talk() : fails(EPIPE);
	if (c && c->cmsg_type == SCM_RIGHTS && c->cmsg_len == CMSG_LEN(sizeof(int)))
		memcpy(fd, CMSG_DATA(c), sizeof(*fd));
	return reply->sys ? fails(reply->sys) : 0;
}

/* Files requested ahead of use, in the order of the opener's replies. */
static struct ahead {
	pid_t pid;
	char name[NAME_SIZE];
	int fd; /* -1: failed, or claimed */
} ahead[DOOR_AHEAD_MAX];
static size_t n_ahead, n_answered;

static void receive_ahead(size_t upto)
{
	struct reply reply;

	while (n_answered < upto)
		receive(&reply, &ahead[n_answered++].fd);
}

/* -1 if it was not requested ahead, or failed: then it is requested again. */
static int take_ahead(const struct request *r)
{
	for (size_t i = 0; i < n_ahead; i++) {
		if (ahead[i].pid != r->pid || strcmp(ahead[i].name, r->name) != 0)
			continue;
		receive_ahead(i + 1);
		return take_fd(ahead[i].fd);
	}
	return -1;
}

void door_forget(void)
{
	while (n_given)
		close(given[--n_given].fd);
	receive_ahead(n_ahead);
	while (n_ahead)
		cleanup_close(&ahead[--n_ahead].fd);
	n_answered = 0;
}

static int ask_opener(struct request *r, struct reply *reply)
{
	int fd = r->op == OP_PROC || r->op == OP_PROC_HANDLE ? take_given(r)
		 : r->op == OP_PROC_FILE		     ? take_ahead(r)
							     : -1;

	if (fd >= 0)
		return fd;
	receive_ahead(n_ahead);
	if (lost)
		return fails(EPIPE);
	if (send(asked, r, request_size(r), MSG_NOSIGNAL) < 0)
		return fails_to_talk();
	if (receive(reply, &fd))
		return -1;
	return is_text(r) ? 0 : fd;
}

/* As do_it(), directly or by the opener. */
static int ask(struct request *r, struct reply *reply)
{
	bool by_path = r->op == OP_BELOW || r->op == OP_LINK_BELOW;
	char path[PATH_MAX];
	int fd;

	reply->len = 0;
	fd = asked < 0 ? do_it(r, reply) : ask_opener(r, reply);
	if (fd >= 0 || r->op == OP_DEBUGINFOD)
		return fd;
	proc_path(path, sizeof(path), r);
	err_remember(errno, ERROR_OPEN_FAILED, .path = by_path ? r->path : path);
	return -1;
}

/* False with errno if it is too long. */
static bool fill(char *to, size_t size, const char *text)
{
	if (snprintf(to, size, "%s", text) < (int)size)
		return true;
	errno = ENAMETOOLONG;
	return false;
}

/* The common start of all requests; old strings remain in fields that are not sent. */
static struct request *begin(enum op op, pid_t pid, uint64_t max)
{
	static _Thread_local struct request r; /* large */

	r.op = op;
	r.pid = pid;
	r.tid = 0;
	r.max = max;
	r.name[0] = '\0';
	return &r;
}

static int ask_proc(enum op op, pid_t pid, pid_t tid, const char *name, uint64_t max,
		    struct reply *reply)
{
	struct request *r = begin(op, pid, max);

	r->tid = tid;
	return fill(r->name, sizeof(r->name), name) ? ask(r, reply) : -1;
}

static ssize_t copy_text(const struct reply *reply, char *buf, size_t size)
{
	size_t len = reply->len < size - 1 ? reply->len : size - 1;

	memcpy(buf, reply->text, len);
	return (ssize_t)len;
}

int door_proc(pid_t pid, pid_t tid, const char *name)
{
	struct reply reply;

	return ask_proc(OP_PROC, pid, tid, name, 0, &reply);
}

int door_proc_file(pid_t pid, const char *name, uint64_t max)
{
	struct reply reply;

	return ask_proc(OP_PROC_FILE, pid, 0, name, max, &reply);
}

void door_proc_file_ahead(pid_t pid, const char *name, uint64_t max)
{
	struct request *r = begin(OP_PROC_FILE, pid, max);
	struct ahead *a = &ahead[n_ahead];

	if (asked < 0 || n_ahead == DOOR_AHEAD_MAX || !fill(r->name, sizeof(r->name), name) ||
	    send(asked, r, request_size(r), MSG_NOSIGNAL) < 0)
		return;
	*a = (struct ahead){ .pid = pid, .fd = -1 };
	memcpy(a->name, r->name, sizeof(a->name));
	n_ahead++;
}

int door_proc_handle(pid_t pid, const char *name)
{
	struct reply reply;

	return ask_proc(OP_PROC_HANDLE, pid, 0, name, 0, &reply);
}

ssize_t door_proc_link(pid_t pid, const char *name, char *buf, size_t size)
{
	struct reply reply;

	if (ask_proc(OP_PROC_LINK, pid, 0, name, 0, &reply) < 0)
		return -1;
	return copy_text(&reply, buf, size);
}

int door_below(const char *root, const char *path, uint64_t max)
{
	struct request *r = begin(OP_BELOW, 0, max);
	struct reply reply;

	return fill(r->root, sizeof(r->root), root) && fill(r->path, sizeof(r->path), path)
		       ? ask(r, &reply)
		       : -1;
}

ssize_t door_link_below(const char *root, const char *dir, const char *name, char *buf, size_t size)
{
	struct request *r = begin(OP_LINK_BELOW, 0, 0);
	struct reply reply;

	if (!fill(r->root, sizeof(r->root), root) || !fill(r->path, sizeof(r->path), dir) ||
	    !fill(r->name, sizeof(r->name), name) || ask(r, &reply) < 0)
		return -1;
	return copy_text(&reply, buf, size);
}

int door_temporary(void)
{
	struct reply reply;

	return ask(begin(OP_TEMPORARY, 0, 0), &reply);
}

int door_debuginfod(const unsigned char *build_id, size_t len, struct err *err)
{
	struct request *r = begin(OP_DEBUGINFOD, 0, 0);
	struct unpack said;
	struct reply reply;
	int fd;

	if (len > ID_MAX)
		return err_raise(err, ERROR_BUILD_ID_TOO_LONG);
	r->id_len = (uint32_t)len;
	memcpy(r->id, build_id, len);
	fd = ask(r, &reply);
	if (fd >= 0)
		return fd;
	said = (struct unpack){ .at = (unsigned char *)reply.text,
				.end = (unsigned char *)reply.text + reply.len };
	if (!unpack_err(&said, err) || err->code == ERR_NONE)
		err_raise_sys(err, ERROR_DEBUGINFOD_FAILED, errno);
	return -1;
}
