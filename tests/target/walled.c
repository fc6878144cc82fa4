// SPDX-License-Identifier: Apache-2.0
/*
 * walled BOARD ACTION CALL...: two threads that sleep and allocate a little, and then raise a
 * seccomp filter around themselves, so that even what it takes to start a program can be forbidden.
 * ACTION: kill-process, kill-thread, trap, eperm or enosys, for the CALLs named. The words
 *
 *	services ACTION		forbid everything but what systemd calls @system-service
 *	no-exec			no memory may become executable
 *	strict			SECCOMP_MODE_STRICT
 *	mdwe			PR_SET_MDWE; nothing where the kernel does not know it
 *	second ACTION CALL...	only the second thread is walled; the first blocks in write(2)
 *
 * are walls as well. With "prove" for BOARD, the program makes the first CALL itself and, if it
 * survives that, exits with 0.
 */
#include "tests/target/victim.h"

#include <errno.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <seccomp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define SET_MDWE 65 /* PR_SET_MDWE, Linux 6.3 */
#define NAP_NS 2000000
#define KEPT 64

static const struct {
	const char *name;
	uint32_t action;
} actions[] = {
	{ "kill-process", SCMP_ACT_KILL_PROCESS },
	{ "kill-thread", SCMP_ACT_KILL_THREAD },
	{ "trap", SCMP_ACT_TRAP },
	{ "eperm", SCMP_ACT_ERRNO(EPERM) },
	{ "enosys", SCMP_ACT_ERRNO(ENOSYS) },
};

/* The relevant calls of systemd.exec(5)'s @system-service; restart_syscall is in its @default. */
static const char *const service_calls[] = { "brk",
					     "mmap",
					     "mprotect",
					     "munmap",
					     "madvise",
					     "mremap",
					     "futex",
					     "sched_yield",
					     "clone",
					     "clone3",
					     "fork",
					     "vfork",
					     "execve",
					     "exit",
					     "exit_group",
					     "wait4",
					     "waitid",
					     "getpid",
					     "getppid",
					     "gettid",
					     "getuid",
					     "geteuid",
					     "kill",
					     "tgkill",
					     "rt_sigaction",
					     "rt_sigprocmask",
					     "rt_sigreturn",
					     "rt_sigtimedwait",
					     "sigaltstack",
					     "set_robust_list",
					     "get_robust_list",
					     "set_tid_address",
					     "rseq",
					     "arch_prctl",
					     "prctl",
					     "prlimit64",
					     "open",
					     "openat",
					     "creat",
					     "read",
					     "write",
					     "readv",
					     "writev",
					     "pread64",
					     "pwrite64",
					     "close",
					     "close_range",
					     "lseek",
					     "dup",
					     "dup2",
					     "dup3",
					     "fstat",
					     "stat",
					     "newfstatat",
					     "fcntl",
					     "ftruncate",
					     "memfd_create",
					     "pipe2",
					     "eventfd2",
					     "epoll_wait",
					     "epoll_ctl",
					     "poll",
					     "select",
					     "nanosleep",
					     "clock_nanosleep",
					     "clock_gettime",
					     "restart_syscall",
					     "membarrier",
					     "getrandom",
					     "sched_getaffinity",
					     "socket",
					     "connect",
					     "sendto",
					     "recvfrom",
					     NULL };

static unsigned int settled; /* threads */
static bool alone;	     /* the second thread is the only one that beats */

static void bad(const char *what)
{
	fprintf(stderr, "walled: %s\n", what);
	exit(2);
}

static uint32_t action_of(const char *name)
{
	for (size_t i = 0; name && i < sizeof(actions) / sizeof(*actions); i++)
		if (strcmp(name, actions[i].name) == 0)
			return actions[i].action;
	bad("no such action");
	return 0;
}

static void rule(scmp_filter_ctx ctx, uint32_t action, const char *name)
{
	int nr = seccomp_syscall_resolve_name(name);

	if (nr == __NR_SCMP_ERROR || seccomp_rule_add(ctx, action, nr, 0) != 0)
		bad(name);
}

static scmp_filter_ctx forbid(char **words)
{
	scmp_filter_ctx ctx = seccomp_init(SCMP_ACT_ALLOW);

	for (char **call = words + 1; *call; call++)
		rule(ctx, action_of(words[0]), *call);
	return ctx;
}

static scmp_filter_ctx services(const char *action)
{
	scmp_filter_ctx ctx = seccomp_init(action_of(action));

	for (const char *const *call = service_calls; *call; call++)
		rule(ctx, SCMP_ACT_ALLOW, *call);
	return ctx;
}

static scmp_filter_ctx no_exec(void)
{
	const struct scmp_arg_cmp exec = SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, PROT_EXEC);
	scmp_filter_ctx ctx = seccomp_init(SCMP_ACT_ALLOW);

	if (seccomp_rule_add(ctx, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(mmap), 1, exec) != 0 ||
	    seccomp_rule_add(ctx, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(mprotect), 1, exec) != 0)
		bad("no-exec");
	return ctx;
}

static void raise_wall(char **words, bool everywhere)
{
	scmp_filter_ctx ctx;

	if (strcmp(words[0], "mdwe") == 0) {
		prctl(SET_MDWE, 1, 0, 0, 0);
		return;
	}
	if (strcmp(words[0], "strict") == 0) {
		prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT);
		return;
	}
	ctx = strcmp(words[0], "services") == 0	 ? services(words[1])
	      : strcmp(words[0], "no-exec") == 0 ? no_exec()
						 : forbid(words);
	if (everywhere && seccomp_attr_set(ctx, SCMP_FLTATR_CTL_TSYNC, 1) != 0)
		bad("no TSYNC");
	if (seccomp_load(ctx) != 0)
		bad("cannot load the filter");
}

static void churn(char **kept, unsigned int round)
{
	free(kept[round % KEPT]);
	kept[round % KEPT] = malloc(200);
}

/* Do everything that takes other calls than sleeping, before these are forbidden. */
static void settle(char **kept)
{
	victim_altstack_set();
	for (unsigned int round = 0; round < 100 * KEPT; round++)
		churn(kept, round);
	__atomic_fetch_add(&settled, 1, __ATOMIC_SEQ_CST);
}

static void work(unsigned int id, char **kept)
{
	static const struct timespec nap = { .tv_nsec = NAP_NS };

	for (unsigned int round = 0;; round++) {
		errno = KEPT_ERRNO;
		if (syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, &nap, NULL) != 0)
			FOUND(eintr);
		if (errno != KEPT_ERRNO)
			FOUND(corrupt);
		churn(kept, round);
		victim_beat(id);
	}
}

static void *second(void *arg)
{
	char *kept[KEPT] = { NULL };

	settle(kept);
	if (arg)
		raise_wall(arg, false);
	work(alone ? 0 : 1, kept);
	return NULL;
}

/*
 * The first thread: in a system call that is never interrupted, or in one that strict mode allows.
 */
static void stand(char **strict)
{
	char block[65536] = { 0 };
	int fds[2];

	if (pipe(fds) != 0)
		bad("no pipe");
	victim_ready(1);
	if (strict)
		raise_wall(strict, false);
	for (;;) {
		if (strict ? read(fds[0], block, 1) != 1 : write(fds[1], block, sizeof(block)) < 0)
			FOUND(eintr);
	}
}

static int prove(char **words)
{
	const char *call = strcmp(words[0], "services") == 0 ? "ptrace" : words[1];

	raise_wall(words, true);
	syscall(seccomp_syscall_resolve_name(call), -1, -1, -1, -1, -1, -1);
	return 0;
}

int main(int argc, char **argv)
{
	char **wall = argv + 2, *kept[KEPT] = { NULL };
	bool lone = argc > 3 && strcmp(argv[2], "second") == 0;
	pthread_t thread;

	if (argc < 3)
		bad("usage: walled BOARD WALL...");
	if (strcmp(argv[1], "prove") == 0)
		_exit(prove(wall));
	alone = lone || strcmp(wall[0], "strict") == 0;
	victim_open(argv[1]);
	settle(kept);
	if (pthread_create(&thread, NULL, second, lone ? wall + 1 : NULL) != 0)
		return 2;
	while (__atomic_load_n(&settled, __ATOMIC_SEQ_CST) < 2)
		sched_yield();
	if (alone)
		stand(lone ? NULL : wall);
	raise_wall(wall, true);
	victim_ready(2);
	work(0, kept);
}
