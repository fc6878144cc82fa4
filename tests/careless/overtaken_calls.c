// SPDX-License-Identifier: Apache-2.0
#include "tests/careless/overtaken_calls.h"

#include "base/cleanup.h"
#include "base/err.h"
#include "sandbox/door.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <signal.h>
#include <stdint.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PAGE 4096
#define FDS 64
#define LARGE ((off_t)64 << 30)

/* The arguments of the attempts. */
struct with {
	pid_t victim;
	int sock, file, memory; /* to the controller; for reading; its own memory file */
	void *pages;		/* of `file`, shared */
	const char *secret, *secret_folder;
};

static bool owner(const struct with *w)
{
	return !fcntl(w->sock, F_SETOWN, w->victim) && !fcntl(w->sock, F_SETOWN, 0);
}

static bool owner_ex(const struct with *w)
{
	const struct f_owner_ex victim = { F_OWNER_PID, w->victim };

	return !fcntl(w->sock, F_SETOWN_EX, &victim) && !fcntl(w->sock, F_SETOWN, 0);
}

static bool signal_number(const struct with *w)
{
	return !fcntl(w->sock, F_SETSIG, SIGUSR1) && !fcntl(w->sock, F_SETSIG, 0);
}

static bool async(const struct with *w)
{
	int flags = fcntl(w->sock, F_GETFL);

	return !fcntl(w->sock, F_SETFL, flags | O_ASYNC) && !fcntl(w->sock, F_SETFL, flags);
}

static bool lease(const struct with *w)
{
	return !fcntl(w->file, F_SETLEASE, F_RDLCK) && !fcntl(w->file, F_SETLEASE, F_UNLCK);
}

static bool record_lock(const struct with *w)
{
	const struct flock whole = { .l_type = F_RDLCK };

	return !fcntl(w->file, F_SETLK, &whole);
}

static bool open_lock(const struct with *w)
{
	const struct flock whole = { .l_type = F_RDLCK };

	return !fcntl(w->file, F_OFD_SETLK, &whole);
}

static bool file_lock(const struct with *w)
{
	return !flock(w->file, LOCK_SH | LOCK_NB);
}

static bool null_signal(const struct with *w)
{
	return !kill(w->victim, 0);
}

static bool thread_signal(const struct with *w)
{
	return !syscall(SYS_tgkill, w->victim, w->victim, 0);
}

static bool pidfd(const struct with *w)
{
	_cleanup_(cleanup_close) int fd = (int)syscall(SYS_pidfd_open, w->victim, 0);

	return fd >= 0;
}

static bool priority(const struct with *w)
{
	return !setpriority(PRIO_PROCESS, (id_t)w->victim, 1);
}

static bool limits(const struct with *w)
{
	const struct rlimit none = { 0, 0 };

	return !prlimit(w->victim, RLIMIT_CORE, &none, NULL);
}

static bool wake(const struct with *w)
{
	return w->pages != MAP_FAILED &&
	       syscall(SYS_futex, w->pages, FUTEX_WAKE, 1, NULL, NULL, 0) >= 0;
}

static bool page_out(const struct with *w)
{
	return w->pages != MAP_FAILED && !madvise(w->pages, PAGE, MADV_PAGEOUT);
}

static bool code(const struct with *w)
{
	void *page = mmap(NULL, PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	(void)w;
	return page != MAP_FAILED && !munmap(page, PAGE);
}

static bool made_code(const struct with *w)
{
	void *page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	bool made = !mprotect(page, PAGE, PROT_READ | PROT_EXEC);

	(void)w;
	munmap(page, PAGE);
	return made;
}

static bool locked(const struct with *w)
{
	void *page = mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_LOCKED, -1, 0);

	(void)w;
	return page != MAP_FAILED && !munmap(page, PAGE);
}

static bool copy(const struct with *w)
{
	off_t from = 0, to = 1;

	return pwrite(w->memory, "x", 1, from) == 1 &&
	       copy_file_range(w->memory, &from, w->memory, &to, 1, 0) == 1;
}

/* Allocate blocks beyond the end, to which RLIMIT_FSIZE does not apply. */
static bool allocate(const struct with *w)
{
	return !fallocate(w->memory, FALLOC_FL_KEEP_SIZE, 0, PAGE);
}

static bool mode(const struct with *w)
{
	return !fchmod(w->file, 0700);
}

static bool times(const struct with *w)
{
	return !futimens(w->file, NULL);
}

static bool control(const struct with *w)
{
	int n;

	return !ioctl(w->sock, FIONREAD, &n);
}

static bool name(const struct with *w)
{
	(void)w;
	return !prctl(PR_SET_NAME, "overtaken");
}

static bool segment(const struct with *w)
{
	int id = shmget(IPC_PRIVATE, PAGE, 0600);

	(void)w;
	return id >= 0 && !shmctl(id, IPC_RMID, NULL);
}

static bool watch(const struct with *w)
{
	_cleanup_(cleanup_close) int fd = inotify_init1(IN_CLOEXEC);

	(void)w;
	return fd >= 0;
}

static bool large_memory(const struct with *w)
{
	return !ftruncate(w->memory, LARGE) && !ftruncate(w->memory, 0);
}

struct attempt {
	const char *name;
	bool (*works)(const struct with *w);
};

static const struct attempt calls[] = {
	{ "allocate", allocate },
	{ "async", async },
	{ "code", code },
	{ "control", control },
	{ "copy", copy },
	{ "file_lock", file_lock },
	{ "large_memory", large_memory },
	{ "lease", lease },
	{ "limits", limits },
	{ "locked", locked },
	{ "made_code", made_code },
	{ "mode", mode },
	{ "name", name },
	{ "null_signal", null_signal },
	{ "open_lock", open_lock },
	{ "owner", owner },
	{ "owner_ex", owner_ex },
	{ "page_out", page_out },
	{ "pidfd", pidfd },
	{ "priority", priority },
	{ "record_lock", record_lock },
	{ "segment", segment },
	{ "signal_number", signal_number },
	{ "thread_signal", thread_signal },
	{ "times", times },
	{ "wake", wake },
	{ "watch", watch },
};

/* --- requests to the opener --- */

static bool is_opened(int fd)
{
	cleanup_close(&fd);
	return fd >= 0;
}

static bool no_elf(const struct with *w)
{
	return is_opened(door_below("/", w->secret, UINT64_MAX));
}

static bool other_root(const struct with *w)
{
	return is_opened(door_below(w->secret_folder, "program", UINT64_MAX));
}

static bool other_memory(const struct with *w)
{
	return is_opened(door_proc(w->victim, 0, "mem"));
}

static bool other_name(const struct with *w)
{
	return is_opened(door_proc(w->victim, 0, "limits"));
}

static bool other_path(const struct with *w)
{
	return is_opened(door_proc(w->victim, 0, "../self/stat"));
}

static bool other_link(const struct with *w)
{
	char link[256];

	return door_proc_link(w->victim, "fd/0", link, sizeof(link)) > 0;
}

static bool third_temporary(const struct with *w)
{
	int fds[] = { door_temporary(), door_temporary(), door_temporary() };
	bool works = fds[2] >= 0;

	(void)w;
	for (size_t i = 0; i < sizeof(fds) / sizeof(*fds); i++)
		cleanup_close(&fds[i]);
	return works;
}

static bool large_temporary(const struct with *w)
{
	_cleanup_(cleanup_close) int fd = door_temporary();

	(void)w;
	return !ftruncate(fd, LARGE);
}

static const struct attempt requests[] = {
	{ "no_elf", no_elf },
	{ "other_root", other_root },
	{ "other_memory", other_memory },
	{ "other_name", other_name },
	{ "other_path", other_path },
	{ "other_link", other_link },
	{ "third_temporary", third_temporary },
	{ "large_temporary", large_temporary },
};

/* --- all of it --- */

static bool is_socket(int fd)
{
	struct stat st;

	return !fstat(fd, &st) && S_ISSOCK(st.st_mode);
}

/* Data that arrive at a socket signal its owner, for example the opener's answer. */
static void signal_by_fcntl(pid_t victim, const char *program)
{
	_cleanup_(cleanup_close) int answer = -1;
	int flags[FDS];

	for (int fd = 3; fd < FDS; fd++) {
		if (!is_socket(fd))
			continue;
		flags[fd] = fcntl(fd, F_GETFL);
		fcntl(fd, F_SETOWN, victim);
		fcntl(fd, F_SETSIG, SIGUSR1);
		fcntl(fd, F_SETFL, flags[fd] | O_ASYNC);
	}
	answer = door_below("/", program, UINT64_MAX);
	for (int fd = 3; fd < FDS; fd++)
		if (is_socket(fd))
			fcntl(fd, F_SETFL, flags[fd]);
}

static void make(const struct attempt *attempts, size_t n, const struct with *w,
		 void (*gained)(const char *name))
{
	for (size_t i = 0; i < n; i++)
		if (attempts[i].works(w))
			gained(attempts[i].name);
}

void overtaken_requests(const char *folder, const char *secret, void (*gained)(const char *name))
{
	const struct with w = { .victim = 1, .secret = secret, .secret_folder = folder };

	make(requests, sizeof(requests) / sizeof(*requests), &w, gained);
	err_forget();
}

void overtaken_calls(pid_t victim, const char *program, void (*gained)(const char *name))
{
	_cleanup_(cleanup_close) int file = door_below("/", program, UINT64_MAX);
	_cleanup_(cleanup_close) int memory = memfd_create("overtaken", MFD_CLOEXEC);
	struct with w = { .victim = victim, .sock = 3, .file = file, .memory = memory };

	while (w.sock < FDS && !is_socket(w.sock))
		w.sock++;
	w.pages = mmap(NULL, PAGE, PROT_READ, MAP_SHARED, file, 0);
	make(calls, sizeof(calls) / sizeof(*calls), &w, gained);
	if (w.pages != MAP_FAILED)
		munmap(w.pages, PAGE);
	if (door_in_use())
		signal_by_fcntl(victim, program);
}
