// SPDX-License-Identifier: Apache-2.0
#include "sandbox/confined.h"

#include "base/clock.h"
#include "process/proc.h"
#include "sandbox/fence.h"
#include "tests/unit/said.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define ANSWER_MAX (1u << 20)
#define PATIENCE_MS 20000

static int secret = 4711;
static uid_t caller;

/* Run `fn` confined, and receive its only answer. */
static int ask_once(struct confined *c, confined_fn *fn, void *ctx,
		    const struct door_policy *policy, unsigned int timeout_ms, struct unpack *u,
		    int *fd, struct err *err)
{
	const struct confined_options options = { .what = "test it", .policy = *policy };

	assert_int_equal(confined_start(c, &options, fn, ctx, err), 0);
	return confined_answer(c, timeout_ms, ANSWER_MAX, u, fd, err);
}

static const struct door_policy anything;

/* --- messages --- */

static void echo(void *ctx)
{
	struct unpack u;
	int fd;

	(void)ctx;
	while (confined_next(&u, &fd)) {
		struct pack p = { 0 };

		pack_bytes(&p, u.at, (size_t)(u.end - u.at));
		confined_reply(false, NULL, &p, fd);
		pack_fini(&p);
		if (fd >= 0)
			close(fd);
	}
}

static void test_echo(void **state)
{
	const struct confined_options options = { .what = "echo" };
	struct confined c = CONFINED_INIT;
	struct err err = ERR_INIT;
	struct stat sent, got;
	struct pack p = { 0 };
	struct unpack u;
	int fd;

	(void)state;
	assert_int_equal(confined_start(&c, &options, echo, NULL, &err), 0);
	for (size_t len = 1; len < ANSWER_MAX; len = len * 7 + 1) {
		char *text = calloc(1, len);

		assert_non_null(text);
		p.len = 0;
		memset(text, (int)len, len);
		pack_bytes(&p, text, len);
		assert_int_equal(confined_ask(&c, &p, STDIN_FILENO, &err), 0);
		assert_int_equal(confined_answer(&c, PATIENCE_MS, ANSWER_MAX, &u, &fd, &err), 0);
		assert_int_equal(u.end - u.at, len);
		assert_memory_equal(u.at, text, len);
		assert_true(!fstat(STDIN_FILENO, &sent) && !fstat(fd, &got));
		assert_true(sent.st_dev == got.st_dev && sent.st_ino == got.st_ino);
		close(fd);
		free(text);
	}
	/* An answer longer than the limit is rejected. */
	assert_int_equal(confined_ask(&c, &p, -1, &err), 0);
	assert_int_equal(confined_answer(&c, PATIENCE_MS, 100, &u, &fd, &err), -1);
	assert_int_equal(err.code, ERR_FAILED);
	pack_fini(&p);
	confined_end(&c);
}

static void fail_rudely(void *ctx)
{
	struct err err = ERR_INIT;

	(void)ctx;
	err_raise_sys(&err, ERROR_OUTPUT_FAILED, EIO, .code = ERR_NOPROF, .what = "paint",
		      .path = "a \033[31mred\n line");
	err_advise(&err, FIX_MAKE_ROOM);
	confined_reply(true, &err, NULL, -1);
}

static void test_error(void **state)
{
	struct confined c = CONFINED_INIT;
	struct err err = ERR_INIT;
	struct unpack u;

	(void)state;
	assert_int_equal(ask_once(&c, fail_rudely, NULL, &anything, PATIENCE_MS, &u, NULL, &err),
			 -1);
	assert_int_equal(err.code, ERR_NOPROF);
	assert_int_equal(err.sys, EIO);
	assert_non_null(strstr(said(&err), "cannot paint a \\x1b[31mred\\x0a line"));
	assert_int_equal(err.fixes[0], FIX_MAKE_ROOM);
	confined_end(&c);
}

/* --- abnormal ends --- */

static void crash(void *ctx)
{
	(void)ctx;
	signal(SIGSEGV, SIG_DFL);
	raise(SIGABRT);
	abort();
}

static void test_crash(void **state)
{
	struct confined c = CONFINED_INIT;
	struct err err = ERR_INIT;
	struct unpack u;

	(void)state;
	assert_int_equal(ask_once(&c, crash, NULL, &anything, PATIENCE_MS, &u, NULL, &err), -1);
	assert_int_equal(err.code, ERR_FAILED);
	assert_int_equal(err.ids[0], ERROR_CHILD_KILLED);
	assert_string_equal(err.held.what, "test it");
	assert_true(err.held.signal);
	assert_int_equal(err.fixes[0], FIX_CHILD_MISLED);
	confined_end(&c);
}

#ifndef __SANITIZE_ADDRESS__ /* its shadow memory is larger than the limit */
/* A signal may be due to damaged data or to a memory limit, so the fix mentions both. */
static void test_crash_under_limits(void **state)
{
	struct confined c = CONFINED_INIT;
	struct err err = ERR_INIT;
	struct rlimit usual, low;
	struct unpack u;

	(void)state;
	assert_int_equal(getrlimit(RLIMIT_DATA, &usual), 0);
	low = (struct rlimit){ (rlim_t)3 << 30, usual.rlim_max };
	assert_int_equal(setrlimit(RLIMIT_DATA, &low), 0);
	assert_int_equal(ask_once(&c, crash, NULL, &anything, PATIENCE_MS, &u, NULL, &err), -1);
	assert_int_equal(setrlimit(RLIMIT_DATA, &usual), 0);
	assert_int_equal(err.fixes[0], FIX_CHILD_LIMITED);
	assert_string_equal(err.held.text, "RLIMIT_DATA is 3145728 KiB");
	confined_end(&c);
}
#endif

static void hang(void *ctx)
{
	(void)ctx;
	for (;;)
		pause();
}

static void test_deadline(void **state)
{
	struct confined c = CONFINED_INIT;
	struct err err = ERR_INIT;
	struct unpack u;
	uint64_t began = now_ms();
	pid_t child;

	(void)state;
	assert_int_equal(ask_once(&c, hang, NULL, &anything, 100, &u, NULL, &err), -1);
	assert_int_equal(err.code, ERR_UNSAFE);
	assert_true(now_ms() - began >= 100);
	child = c.child;
	confined_end(&c);
	for (int i = 0; i < 1000 && waitpid(child, NULL, WNOHANG) == 0; i++)
		usleep(1000);
	assert_true(kill(child, 0) && errno == ESRCH);
}

/* The kernel uses SIGKILL if a process used too much, so the fix does not mention damaged data. */
static void test_kill(void **state)
{
	const struct confined_options options = { .what = "test it" };
	struct confined c = CONFINED_INIT;
	struct err err = ERR_INIT;
	struct unpack u;

	(void)state;
	assert_int_equal(confined_start(&c, &options, hang, NULL, &err), 0);
	kill(c.child, SIGKILL);
	assert_int_equal(confined_answer(&c, PATIENCE_MS, ANSWER_MAX, &u, NULL, &err), -1);
	assert_int_equal(err.code, ERR_FAILED);
	assert_int_equal(err.fixes[0], FIX_CHILD_USED_UP);
	confined_end(&c);
}

/* --- restrictions --- */

static bool has_no_capability(void)
{
	char text[4096];
	int fd = door_proc(getpid(), 0, "status");
	ssize_t got = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);

	if (got < 0)
		return false;
	text[got] = '\0';
	return strstr(text, "CapPrm:\t0000000000000000") &&
	       strstr(text, "CapEff:\t0000000000000000") && strstr(text, "NoNewPrivs:\t1") &&
	       strstr(text, "Seccomp:\t2");
}

/* Only the commands of fcntl(2) that concern the process's own descriptors are allowed. */
static bool has_few_commands(void)
{
	for (int cmd = 0; cmd < 2048; cmd++) {
		bool own = cmd == F_DUPFD || cmd == F_DUPFD_CLOEXEC || cmd == F_GETFD ||
			   cmd == F_SETFD || cmd == F_GETFL;

		errno = 0;
		(void)syscall(SYS_fcntl, 0, cmd, 0);
		if ((errno == EPERM) == own)
			return false;
	}
	return true;
}

/* If started by root, it has a user that no other process has. */
static bool has_own_user(void)
{
	return geteuid() == (caller ? caller : FENCE_USER_FIRST + (uid_t)getpid());
}

/* The answer lists the restrictions that are not in effect. */
static void try_all(void *ctx)
{
	char name[] = "true", *const argv[] = { name, NULL };
	const struct {
		const char *name;
		bool refused;
	} tries[] = {
		{ "open", open("/dev/null", O_RDONLY) < 0 && errno == EPERM },
		{ "create", open("/tmp", O_TMPFILE | O_RDWR, 0600) < 0 && errno == EPERM },
		{ "exec", execv("/bin/true", argv) < 0 && errno == EPERM },
		{ "fork", fork() < 0 && errno == EPERM },
		{ "socket", socket(AF_INET, SOCK_STREAM, 0) < 0 && errno == EPERM },
		{ "kill", kill(*(pid_t *)ctx, 0) < 0 && errno == EPERM },
		{ "ptrace", ptrace(PTRACE_SEIZE, *(pid_t *)ctx, 0, 0) < 0 && errno == EPERM },
		{ "unlink", unlink("/tmp/jeprof-ctl-none") < 0 && errno == EPERM },
		{ "capabilities", has_no_capability() },
		{ "fcntl", has_few_commands() },
		{ "user", has_own_user() },
		{ "huge memory", memfd_create("x", MFD_HUGETLB) < 0 && errno == EPERM },
		{ "huge pages",
		  mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB, -1, 0) ==
				  MAP_FAILED &&
			  errno == EPERM },
		{ "merge", madvise(&secret, 1, MADV_MERGEABLE) < 0 && errno == EPERM },
		{ "dumpable", prctl(PR_SET_DUMPABLE, 1) < 0 && errno == EPERM },
	};
	struct pack p = { 0 };

	for (size_t i = 0; i < sizeof(tries) / sizeof(*tries); i++)
		if (!tries[i].refused)
			pack_text(&p, tries[i].name);
	confined_reply(false, NULL, &p, -1);
	pack_fini(&p);
}

static void test_fence(void **state)
{
	struct confined c = CONFINED_INIT;
	struct err err = ERR_INIT;
	pid_t self = getpid();
	struct unpack u;
	char name[32];

	(void)state;
	assert_int_equal(ask_once(&c, try_all, &self, &anything, PATIENCE_MS, &u, NULL, &err), 0);
	while (u.at != u.end) {
		unpack_into(&u, name, sizeof(name));
		fail_msg("a confined process may %s", name);
	}
	confined_end(&c);
}

static void take_memory(void *ctx)
{
	const size_t *size = ctx;
	struct pack p = { 0 };
	char *much = malloc(*size);

	pack_u64(&p, much != NULL);
	confined_reply(false, NULL, &p, -1);
}

static bool can_take(size_t size)
{
	struct confined c = CONFINED_INIT;
	struct err err = ERR_INIT;
	struct unpack u;
	bool taken;

	assert_int_equal(ask_once(&c, take_memory, &size, &anything, PATIENCE_MS, &u, NULL, &err),
			 0);
	taken = unpack_u64(&u);
	confined_end(&c);
	return taken;
}

static void test_memory(void **state)
{
	const size_t mib = 1 << 20;

	(void)state;
	assert_true(can_take(64 * mib));
	assert_true(!can_take(CONFINED_MEMORY + 16 * mib) || FENCE_SANITIZED);
	confined_limit_memory(32 * mib);
	assert_true(!can_take(64 * mib) || FENCE_SANITIZED);
	assert_true(can_take(16 * mib));
	confined_limit_memory(2 * CONFINED_MEMORY);
	assert_true(!can_take(CONFINED_MEMORY + 16 * mib) || FENCE_SANITIZED);
	confined_limit_memory(0);
	assert_true(can_take(64 * mib));
}

/* --- files that are opened for it --- */

static int errno_of(int fd)
{
	if (fd < 0)
		return errno;
	close(fd);
	return 0;
}

static void open_all(void *ctx)
{
	pid_t self = *(pid_t *)ctx;
	struct pack p = { 0 };
	struct err err = ERR_INIT;
	int value = 0;
	char link[8];

	pack_u64(&p, (uint64_t)errno_of(door_proc(self, 0, "maps")));
	pack_u64(&p, (uint64_t)errno_of(door_proc(self, self, "status")));
	pack_u64(&p, (uint64_t)errno_of(door_proc_file(self, "exe", UINT64_MAX)));
	pack_u64(&p, (uint64_t)errno_of(door_below("/", "/bin/true", UINT64_MAX)));
	pack_u64(&p, door_proc_link(self, "exe", link, sizeof(link)) == sizeof(link) - 1);
	pack_u64(&p, (uint64_t)errno_of(door_temporary()));
	if (proc_read(self, (uint64_t)(uintptr_t)&secret, &value, sizeof(value), &err))
		value = 0;
	pack_u64(&p, (uint64_t)value);
	pack_u64(&p, (uint64_t)errno_of(door_proc(self, 0, "clear_refs")));
	pack_u64(&p, (uint64_t)errno_of(door_proc(self, 0, "../1/status")));
	pack_u64(&p, (uint64_t)errno_of(door_proc(1, 0, "status")));
	pack_u64(&p, (uint64_t)errno_of(door_below("/proc/1/root", "/bin/true", UINT64_MAX)));
	pack_u64(&p, (uint64_t)errno_of(door_below("/etc", "hostname", UINT64_MAX)));
	pack_u64(&p, (uint64_t)errno_of(door_below("/", "/etc/passwd", UINT64_MAX)));
	pack_u64(&p, (uint64_t)errno_of(door_below("/", "/dev/null", UINT64_MAX)));
	pack_u64(&p, (uint64_t)errno_of(door_proc_file(self, "exe", 3)));
	pack_u64(&p, (uint64_t)errno_of(door_proc_file(self, "map_files/../exe", UINT64_MAX)));
	pack_u64(&p, (uint64_t)door_link_below("/", "/root", "x", link, sizeof(link)));
	confined_reply(false, NULL, &p, -1);
	pack_fini(&p);
}

static void open_sources(void *ctx)
{
	const char *folder = ctx;
	static const char *const names[] = { "a.c", "a.txt", "link.c", "proc.c", "null.c" };
	struct pack p = { 0 };
	char path[64];

	for (size_t i = 0; i < 5; i++) {
		snprintf(path, sizeof(path), "%s/%s", folder, names[i]);
		pack_u64(&p, (uint64_t)errno_of(door_below("/", path, UINT64_MAX)));
	}
	confined_reply(false, NULL, &p, -1);
	pack_fini(&p);
}

static void assert_sources(char *folder, bool sources, const int *expected)
{
	struct confined c = CONFINED_INIT;
	const struct door_policy policy = { .pid = -1, .sources = sources };
	struct err err = ERR_INIT;
	struct unpack u;

	assert_int_equal(ask_once(&c, open_sources, folder, &policy, PATIENCE_MS, &u, NULL, &err),
			 0);
	for (size_t i = 0; i < 5; i++)
		assert_int_equal(unpack_u64(&u), expected[i]);
	confined_end(&c);
}

/* Text files require a policy with sources. For a link, the name of its target counts. */
static void test_door_sources(void **state)
{
	static const int with[] = { 0, ENOEXEC, ENOEXEC, EXDEV, EINVAL };
	static const int without[] = { ENOEXEC, ENOEXEC, ENOEXEC, EXDEV, EINVAL };
	char folder[] = "/tmp/door.XXXXXX", command[512];

	(void)state;
	assert_non_null(mkdtemp(folder));
	snprintf(command, sizeof(command),
		 "cd %s && chmod 755 . && echo text >a.c && echo text >a.txt && ln -s a.txt link.c "
		 "&& "
		 "ln -s /proc/self/exe proc.c && ln -s /dev/null null.c",
		 folder);
	assert_int_equal(system(command), 0);
	assert_sources(folder, true, with);
	assert_sources(folder, false, without);
	snprintf(command, sizeof(command), "rm -r %s", folder);
	assert_int_equal(system(command), 0);
}

static void test_door(void **state)
{
	static const int64_t expected[] = { 0,	     0,	     0,	    0,	   1,	  0,
					    4711,    EPERM,  EPERM, EPERM, EPERM, EPERM,
					    ENOEXEC, EINVAL, EFBIG, EPERM, -1 };
	pid_t self = getpid();
	const struct door_policy mine = { .pid = self, .temporary_max_bytes = 1 };
	struct confined c = CONFINED_INIT;
	struct err err = ERR_INIT;
	struct unpack u;

	(void)state;
	assert_int_equal(ask_once(&c, open_all, &self, &mine, PATIENCE_MS, &u, NULL, &err), 0);
	for (size_t i = 0; i < sizeof(expected) / sizeof(*expected); i++) {
		int64_t got = (int64_t)unpack_u64(&u);

		if (got != expected[i])
			fail_msg("answer %zu is %lld, not %lld", i, (long long)got,
				 (long long)expected[i]);
	}
	assert_true(unpack_done(&u));
	confined_end(&c);
}

/* At most two at a time. A file that is only mapped counts as in use. */
static void borrow(void *ctx)
{
	int a = door_temporary(), b = door_temporary();
	struct pack p = { 0 };
	void *map;

	(void)ctx;
	pack_u64(&p, a >= 0 && b >= 0 && !ftruncate(a, 4096));
	pack_u64(&p, (uint64_t)errno_of(door_temporary()));
	map = mmap(NULL, 4096, PROT_READ, MAP_SHARED, a, 0);
	pack_u64(&p, map != MAP_FAILED && !close(a));
	pack_u64(&p, (uint64_t)errno_of(door_temporary()));
	pack_u64(&p, !munmap(map, 4096) && !close(b));
	a = door_temporary();
	b = door_temporary();
	pack_u64(&p, a >= 0 && b >= 0);
	confined_reply(false, NULL, &p, -1);
	pack_fini(&p);
}

static void test_temporaries(void **state)
{
	static const uint64_t expected[] = { 1, EBUSY, 1, EBUSY, 1, 1 };
	const struct door_policy two = { .pid = -1, .temporary_max_bytes = 1 };
	struct confined c = CONFINED_INIT;
	struct err err = ERR_INIT;
	struct unpack u;

	(void)state;
	assert_int_equal(ask_once(&c, borrow, NULL, &two, PATIENCE_MS, &u, NULL, &err), 0);
	for (size_t i = 0; i < sizeof(expected) / sizeof(*expected); i++)
		assert_int_equal(unpack_u64(&u), expected[i]);
	confined_end(&c);
}

static void borrow_one(void *ctx)
{
	struct pack p = { 0 };

	(void)ctx;
	pack_u64(&p, (uint64_t)errno_of(door_temporary()));
	confined_reply(false, NULL, &p, -1);
	pack_fini(&p);
}

static void assert_lends(uint64_t max_bytes, int expected)
{
	const struct door_policy policy = { .pid = -1, .temporary_max_bytes = max_bytes };
	struct confined c = CONFINED_INIT;
	struct err err = ERR_INIT;
	struct unpack u;

	assert_int_equal(ask_once(&c, borrow_one, NULL, &policy, PATIENCE_MS, &u, NULL, &err), 0);
	assert_int_equal(unpack_u64(&u), expected);
	confined_end(&c);
}

static void test_room(void **state)
{
	(void)state;
	assert_lends(1, 0);
	assert_lends(UINT64_MAX / 4, ENOSPC);
	assert_lends(0, EPERM);
}

/* The limit applies to temporary files, to its own memory files, and to files that it was given. */
static void write_much(void *ctx)
{
	const int fds[] = { door_temporary(), memfd_create("test", MFD_CLOEXEC), *(int *)ctx };
	struct pack p = { 0 };

	for (size_t i = 0; i < 3; i++) {
		pack_u64(&p, ftruncate(fds[i], (off_t)CONFINED_FILE + 1) ? (uint64_t)errno : 0);
		pack_u64(&p,
			 pwrite(fds[i], "x", 1, (off_t)CONFINED_FILE) < 0 ? (uint64_t)errno : 0);
		pack_u64(&p, pwrite(fds[i], "x", 1, (off_t)CONFINED_FILE - 1) == 1);
	}
	confined_reply(false, NULL, &p, -1);
	pack_fini(&p);
}

static void test_file_size(void **state)
{
	int fd = memfd_create("test", MFD_CLOEXEC);
	const struct confined_options options = {
		.what = "test it",
		.policy = { .pid = -1, .temporary_max_bytes = 1 },
		.fds = &fd,
		.n_fds = 1,
	};
	struct confined c = CONFINED_INIT;
	struct err err = ERR_INIT;
	struct unpack u;

	(void)state;
	assert_int_equal(confined_start(&c, &options, write_much, &fd, &err), 0);
	assert_int_equal(confined_answer(&c, PATIENCE_MS, ANSWER_MAX, &u, NULL, &err), 0);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(unpack_u64(&u), EFBIG);
		assert_int_equal(unpack_u64(&u), EFBIG);
		assert_int_equal(unpack_u64(&u), 1);
	}
	confined_end(&c);
	close(fd);
}

static void open_other(void *ctx)
{
	pid_t pid = *(pid_t *)ctx;
	struct pack p = { 0 };
	char root[64], link[8];

	snprintf(root, sizeof(root), "/proc/%d/root", pid);
	pack_u64(&p, (uint64_t)errno_of(door_proc(pid, 0, "maps")));
	pack_u64(&p, (uint64_t)errno_of(door_proc_file(pid, "exe", UINT64_MAX)));
	pack_u64(&p, door_proc_link(pid, "exe", link, sizeof(link)) < 0 ? (uint64_t)errno : 0);
	pack_u64(&p, (uint64_t)errno_of(door_below(root, "/bin/true", UINT64_MAX)));
	pack_u64(&p, (uint64_t)errno_of(door_below("/", "/bin/true", UINT64_MAX)));
	confined_reply(false, NULL, &p, -1);
	pack_fini(&p);
}

static void assert_opens(const struct door_policy *policy, uint64_t expected)
{
	struct confined c = CONFINED_INIT;
	struct err err = ERR_INIT;
	pid_t pid = policy->pid;
	struct unpack u;

	assert_int_equal(ask_once(&c, open_other, &pid, policy, PATIENCE_MS, &u, NULL, &err), 0);
	for (int i = 0; i < 4; i++)
		assert_int_equal(unpack_u64(&u), expected);
	assert_int_equal(unpack_u64(&u), 0);
	confined_end(&c);
}

static int unpolled; /* poll(2) fails for it */

int __real_poll(struct pollfd *fds, nfds_t n, int timeout_ms);
int __wrap_poll(struct pollfd *fds, nfds_t n, int timeout_ms);
int __wrap_poll(struct pollfd *fds, nfds_t n, int timeout_ms)
{
	if (!unpolled || fds->fd != unpolled)
		return __real_poll(fds, n, timeout_ms);
	errno = ENOMEM;
	return -1;
}

/* The process that was examined has ended, and its id is in use again: here by this process. */
static void test_other(void **state)
{
	struct door_policy policy = { .pid = getpid() };
	struct confined c = CONFINED_INIT;
	struct err err = ERR_INIT;
	pid_t ended = fork();
	struct unpack u;

	(void)state;
	if (ended == 0)
		_exit(0);
	policy.pidfd = (int)syscall(SYS_pidfd_open, ended, 0);
	assert_true(ended > 0 && policy.pidfd > 0);
	assert_int_equal(waitpid(ended, NULL, 0), ended);
	assert_opens(&policy, ENOENT);
	unpolled = policy.pidfd; /* whether it has ended is unknown */
	assert_int_equal(
		ask_once(&c, open_other, &policy.pid, &policy, PATIENCE_MS, &u, NULL, &err), -1);
	assert_true(err.own && err.sys == ENOMEM);
	confined_end(&c);
	unpolled = 0;
	close(policy.pidfd);
	policy.pidfd = 0; /* control: only the id */
	assert_opens(&policy, 0);
}

static void open_only(void *ctx)
{
	pid_t self = *(pid_t *)ctx;
	struct pack p = { 0 };
	struct stat st = { 0 };
	int fd = door_proc_file(self, "exe", UINT64_MAX);

	pack_u64(&p, fd >= 0 && !fstat(fd, &st) ? st.st_ino : 0);
	pack_u64(&p, (uint64_t)errno_of(door_proc(self, 0, "mem")));
	pack_u64(&p, (uint64_t)errno_of(door_below("/proc/self/root", "/bin/true", UINT64_MAX)));
	confined_reply(false, NULL, &p, -1);
	pack_fini(&p);
}

/* With a handle, that file is the only one of the process that is opened, whatever is requested. */
static void test_handle(void **state)
{
	int handle = open("/bin/true", O_PATH | O_CLOEXEC);
	pid_t self = getpid();
	struct door_policy only = { .pid = self, .has_handle = true, .handle = handle };
	struct confined c = CONFINED_INIT;
	struct err err = ERR_INIT;
	struct stat st;
	struct unpack u;

	(void)state;
	assert_true(handle >= 0 && !fstat(handle, &st));
	assert_int_equal(ask_once(&c, open_only, &self, &only, PATIENCE_MS, &u, NULL, &err), 0);
	assert_true(unpack_u64(&u) == st.st_ino);
	assert_true(unpack_u64(&u) == EPERM && unpack_u64(&u) == EPERM);
	confined_end(&c);
	close(handle);
}

/* A descriptor that was handed over is used once, without asking the opener. */
static void use_given(void *ctx)
{
	struct pack p = { 0 };
	struct stat st;
	int fd;

	door_give(1, "maps", *(int *)ctx);
	fd = door_proc(1, 0, "maps");
	pack_u64(&p, fd == *(int *)ctx && !fstat(fd, &st));
	pack_u64(&p, door_proc(1, 0, "maps") < 0);
	door_give(1, "maps", fd);
	door_forget();
	pack_u64(&p, fstat(fd, &st) < 0);
	confined_reply(false, NULL, &p, -1);
	pack_fini(&p);
}

static void test_given(void **state)
{
	int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
	const struct confined_options options = {
		.what = "use it", .policy = { .pid = getpid() }, .fds = &fd, .n_fds = 1
	};
	struct confined c = CONFINED_INIT;
	struct err err = ERR_INIT;
	struct unpack u;

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(confined_start(&c, &options, use_given, &fd, &err), 0);
	assert_int_equal(confined_answer(&c, PATIENCE_MS, ANSWER_MAX, &u, NULL, &err), 0);
	for (int i = 0; i < 3; i++)
		assert_true(unpack_u64(&u) == 1);
	assert_true(unpack_done(&u));
	confined_end(&c);
	close(fd);
}

/* Requests more files ahead than there is room for. One of them fails, and is requested again. */
static void use_ahead(void *ctx)
{
	pid_t pid = *(pid_t *)ctx;
	struct pack p = { 0 };
	struct unpack u;

	door_proc_file_ahead(pid, "map_files/0-1000", UINT64_MAX);
	for (int i = 0; i < DOOR_AHEAD_MAX + 5; i++)
		door_proc_file_ahead(pid, "exe", UINT64_MAX);
	pack_u64(&p, door_proc(pid, 0, "maps") >= 0);
	confined_reply(false, NULL, &p, -1);
	p.len = 0;
	/* The process has ended: only files that were opened before are available. */
	if (!confined_next(&u, NULL))
		return;
	pack_u64(&p, errno_of(door_proc_file(pid, "exe", UINT64_MAX)) == 0);
	pack_u64(&p, (uint64_t)errno_of(door_proc_file(pid, "exe", UINT64_MAX)));
	pack_u64(&p, (uint64_t)errno_of(door_proc_file(pid, "map_files/0-1000", UINT64_MAX)));
	confined_reply(false, NULL, &p, -1);
	pack_fini(&p);
}

static void test_ahead(void **state)
{
	struct confined c = CONFINED_INIT;
	struct door_policy policy = { 0 };
	struct err err = ERR_INIT;
	struct pack nothing = { 0 };
	struct unpack u;
	pid_t pid = fork();

	(void)state;
	if (pid == 0) {
		pause();
		_exit(0);
	}
	assert_true(pid > 0);
	policy.pid = pid;
	assert_int_equal(ask_once(&c, use_ahead, &pid, &policy, PATIENCE_MS, &u, NULL, &err), 0);
	assert_true(unpack_u64(&u) == 1);
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_int_equal(confined_ask(&c, &nothing, -1, &err), 0);
	assert_int_equal(confined_answer(&c, PATIENCE_MS, ANSWER_MAX, &u, NULL, &err), 0);
	assert_true(unpack_u64(&u) == 1);
	assert_true(unpack_u64(&u) == ENOENT);
	assert_true(unpack_u64(&u) == ENOENT);
	confined_end(&c);
}

/* A stop request ends the wait for an answer, for the next child, too. */
static void test_stop(void **state)
{
	const struct confined_options options = { .what = "echo" };
	struct err err = ERR_INIT;
	struct confined c;
	struct unpack u;
	int stop[2];

	(void)state;
	assert_int_equal(pipe2(stop, O_CLOEXEC), 0);
	assert_int_equal(write(stop[1], "", 1), 1);
	c = (struct confined)CONFINED_UNTIL(stop[0]);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(confined_start(&c, &options, echo, NULL, &err), 0);
		assert_int_equal(confined_answer(&c, PATIENCE_MS, ANSWER_MAX, &u, NULL, &err), -1);
		assert_int_equal(err.ids[0], ERROR_INTERRUPTED);
		assert_true(c.broken);
		confined_end(&c);
	}
	close(stop[0]);
	close(stop[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_echo),
		cmocka_unit_test(test_error),
		cmocka_unit_test(test_crash),
		cmocka_unit_test(test_deadline),
#ifndef __SANITIZE_ADDRESS__
		cmocka_unit_test(test_crash_under_limits),
#endif
		cmocka_unit_test(test_kill),
		cmocka_unit_test(test_fence),
		cmocka_unit_test(test_memory),
		cmocka_unit_test(test_door),
		cmocka_unit_test(test_door_sources),
		cmocka_unit_test(test_temporaries),
		cmocka_unit_test(test_room),
		cmocka_unit_test(test_file_size),
		cmocka_unit_test(test_other),
		cmocka_unit_test(test_handle),
		cmocka_unit_test(test_given),
		cmocka_unit_test(test_ahead),
		cmocka_unit_test(test_stop),
	};

	caller = geteuid();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
