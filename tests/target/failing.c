// SPDX-License-Identifier: Apache-2.0
/*
 * failing log FILE COMMAND...: log each system call of COMMAND and its children.
 * failing PROCESS SYSCALL N ERRNO COMMAND...: make the N-th SYSCALL of one of these processes fail.
 *
 * A line of the log is "PROCESS SYSCALL SITE": the process as its path of descent (0 is COMMAND,
 * 0.2 is its second child), the number of the call, and the place of the call, as a hash of the
 * addresses in COMMAND's own code that are next on the stack. Exits with COMMAND's status, or 200
 * if the call to fail never came.
 *
 * Only seccomp_unotify(2) reaches all calls of all these processes, and no call of a process that
 * one of them traces; strace(1) counts the calls of each process, but makes them all fail together.
 */
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#define PROCESSES 64
#define NR_MAX 512
#define STACK_WORDS 1024
#define SITE_DEPTH 3
#define UNSEEN_MS 1000
#define NEVER_CAME 200

struct process {
	pid_t pid;
	char name[32];
	unsigned int children, calls;
	bool unseen;	    /* its youngest child has made no call so far */
	uint64_t waiting;   /* the id of a fork that waits for this call, or 0 */
	uint64_t low, high; /* the code of its program */
};

static struct process processes[PROCESSES];
static size_t n_processes;
static int listener;
static FILE *log_file;
static const char *fail_process;
static int fail_nr, fail_errno;
static unsigned int fail_at;
static bool failed;

/* --- the command --- */

static int filter_all(void)
{
#define PASS(nr) \
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, nr, 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		PASS(SYS_rt_sigreturn),
		PASS(SYS_exit),
		PASS(SYS_exit_group),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF),
	};
	struct sock_fprog prog = { sizeof(filter) / sizeof(*filter), filter };

	return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER,
			    &prog);
}

/* Fetch the listener from the child: each of its own calls waits for the listener. */
static pid_t start(char *const argv[])
{
	atomic_int *fd =
		mmap(NULL, sizeof(*fd), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid_t pid, parent = getpid();
	int pidfd;

	if (fd == MAP_FAILED)
		err(1, "mmap");
	atomic_store(fd, -1);
	pid = fork();
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() != parent)
			_exit(1);
		atomic_store(fd, filter_all());
		execv(argv[0], argv);
		_exit(127);
	}
	pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	while (pid > 0 && pidfd >= 0 && atomic_load(fd) < 0 && !waitpid(pid, NULL, WNOHANG))
		usleep(100);
	listener = (int)syscall(SYS_pidfd_getfd, pidfd, atomic_load(fd), 0);
	if (listener < 0)
		err(1, "no listener");
	close(pidfd);
	return pid;
}

/* --- processes and call sites --- */

static struct process *find(pid_t pid)
{
	for (size_t i = 0; i < n_processes; i++)
		if (processes[i].pid == pid)
			return &processes[i];
	return NULL;
}

static pid_t parent_of(pid_t pid)
{
	char path[64], line[256];
	pid_t parent = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	f = fopen(path, "re");
	while (f && fgets(line, sizeof(line), f) && sscanf(line, "PPid: %d", &parent) != 1)
		;
	if (f)
		fclose(f);
	return parent;
}

/* The first executable mapping is the program's. */
static void find_code(struct process *p)
{
	char path[64], line[4352], rights[8];
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/maps", p->pid);
	f = fopen(path, "re");
	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "%lx-%lx %7s", &p->low, &p->high, rights) == 3 &&
		    strchr(rights, 'x'))
			break;
	if (f)
		fclose(f);
}

static void resume(uint64_t id)
{
	struct seccomp_notif_resp resp = { .id = id, .flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE };

	ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &resp);
}

static struct process *meet(pid_t pid)
{
	struct process *p = find(pid), *parent;

	if (p || n_processes == PROCESSES)
		return p;
	parent = find(parent_of(pid));
	p = &processes[n_processes++];
	p->pid = pid;
	snprintf(p->name, sizeof(p->name), "?");
	if (n_processes == 1)
		snprintf(p->name, sizeof(p->name), "0");
	if (!parent)
		return p;
	snprintf(p->name, sizeof(p->name), "%.20s.%u", parent->name, parent->children);
	p->low = parent->low;
	p->high = parent->high;
	parent->unseen = false;
	if (parent->waiting) {
		resume(parent->waiting);
		parent->waiting = 0;
		parent->unseen = true;
		parent->children++;
	}
	return p;
}

static uint64_t site_of(const struct process *p)
{
	uint64_t stack[STACK_WORDS], sp = 0, hash = 14695981039346656037u;
	struct iovec to = { stack, sizeof(stack) }, from = { NULL, sizeof(stack) };
	unsigned int depth = 0;
	char path[64], text[256];
	ssize_t n = -1;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/syscall", p->pid);
	f = fopen(path, "re");
	if (f && fgets(text, sizeof(text), f) && strrchr(text, ' ')) {
		*strrchr(text, ' ') = '\0'; /* the program counter */
		sp = strtoull(strrchr(text, ' '), NULL, 16);
	}
	if (f)
		fclose(f);
	from.iov_base = (void *)sp;
	/* The stack may have less than that left. */
	while (sp && n < 0 && from.iov_len >= 512) {
		n = process_vm_readv(p->pid, &to, 1, &from, 1, 0);
		from.iov_len /= 2;
	}
	for (ssize_t i = 0; i < n / 8 && depth < SITE_DEPTH; i++) {
		if (stack[i] < p->low || stack[i] >= p->high)
			continue;
		hash = (hash ^ (stack[i] - p->low)) * 1099511628211u;
		depth++;
	}
	return hash;
}

/* --- each call --- */

static bool is_fork(int nr)
{
	return nr == SYS_clone || nr == SYS_clone3 || nr == SYS_fork || nr == SYS_vfork;
}

static void answer(const struct seccomp_notif *call)
{
	struct seccomp_notif_resp resp = { .id = call->id, .error = -fail_errno };
	struct process *p = meet((pid_t)call->pid);

	if (p && log_file) {
		if (p->calls++ < 2)
			find_code(p); /* the first one is execve(2) itself */
		fprintf(log_file, "%s %d %llx\n", p->name, call->data.nr,
			(unsigned long long)site_of(p));
	}
	if (p && fail_process && call->data.nr == fail_nr && !strcmp(p->name, fail_process) &&
	    !--fail_at) {
		failed = true;
		ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &resp);
		return;
	}
	if (p && is_fork(call->data.nr)) {
		if (p->unseen) {
			p->waiting = call->id;
			return;
		}
		p->unseen = true;
		p->children++;
	}
	resume(call->id);
}

/* Stop waiting for the first call of children that must have exited before it. */
static void give_up_waiting(void)
{
	for (size_t i = 0; i < n_processes; i++) {
		struct process *p = &processes[i];

		if (!p->waiting)
			continue;
		resume(p->waiting);
		p->waiting = 0;
		p->children++;
	}
}

static void listen_to_all(void)
{
	struct pollfd fd = { .fd = listener, .events = POLLIN };
	struct seccomp_notif call;

	for (;;) {
		int n = poll(&fd, 1, UNSEEN_MS);

		if (n < 0 && errno != EINTR)
			err(1, "poll");
		if (n == 0)
			give_up_waiting();
		if (n <= 0)
			continue;
		if (fd.revents & POLLHUP)
			return;
		memset(&call, 0, sizeof(call));
		if (!ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &call))
			answer(&call);
	}
}

int main(int argc, char **argv)
{
	bool logs = argc > 3 && !strcmp(argv[1], "log");
	int status;
	pid_t pid;

	if (argc < 4 || (!logs && argc < 6))
		errx(2, "wrong arguments");
	if (logs) {
		log_file = fopen(argv[2], "we");
		if (!log_file)
			err(1, "%s", argv[2]);
	} else {
		fail_process = argv[1];
		fail_nr = atoi(argv[2]);
		fail_at = (unsigned int)atoi(argv[3]);
		fail_errno = atoi(argv[4]);
	}
	pid = start(argv + (logs ? 3 : 5));
	listen_to_all();
	if (waitpid(pid, &status, 0) != pid)
		err(1, "waitpid");
	if (log_file && fclose(log_file))
		err(1, "%s", argv[2]);
	if (!logs && !failed)
		return NEVER_CAME;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
