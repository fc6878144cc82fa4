// SPDX-License-Identifier: Apache-2.0
/*
 * usurper WAY PROGRAM FILE: has its own jemalloc, and its own pthread_create, in order to make a
 * tracer with root privileges set registers in PROGRAM, which is set-user-ID
 * (tests/target/usurped.c). WAY says who calls execve(2) while it is traced:
 *
 *	process		the child of pthread_create, which is a process in the same memory
 *	borrowed	the borrowed thread itself, in pthread_create
 *	thread		a real thread, in its first call of mallctl
 *
 * The program then gets SIGSEGV from here. jeprof-ctl would send a crashed thread to addresses that
 * are chosen here, at which the other program has code of its own.
 */
#include "tests/target/bare.h"

#include <fcntl.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#define DELAY_NS 300000000

enum way { PROCESS = 'p', BORROWED = 'b', THREAD = 't' };
static enum way way;
static char *program, *file;

/* Where the crashed thread would be sent: getppid(2), and the code that returns from a signal. */
__asm__(".section .meet,\"ax\",@progbits\n"
	".globl getppid\n"
	".type getppid,@function\n"
	"getppid: mov $110,%eax\n syscall\n ret\n"
	".size getppid,.-getppid\n"
	".balign 32\n"
	"mov $15,%rax\n syscall\n"
	".balign 32\n"
	"mov %rax,(%rdi)\n ret\n pop %rdi\n ret\n"
	".text\n");

/*
 * Run the other program, and send it SIGSEGV once it is there, which is when the pipe closes.
 * Repeat that while it is there, as a signal may be lost with a tracer that exits.
 */
static void usurp(void)
{
	int tries = 50;
	const struct timespec delay = { .tv_nsec = DELAY_NS };
	char *argv[] = { program, file, NULL };
	uint64_t none = 0;
	long self = call(SYS_getpid, 0, 0, 0, 0);
	int ends[2];

	call(SYS_rt_sigprocmask, SIG_SETMASK, (long)&none, 0, sizeof(none));
	call(SYS_pipe2, (long)ends, O_CLOEXEC, 0, 0);
	if (call(SYS_fork, 0, 0, 0, 0) == 0) {
		call(SYS_close, ends[1], 0, 0, 0);
		call(SYS_read, ends[0], (long)ends, 1, 0);
		do
			call(SYS_nanosleep, (long)&delay, 0, 0, 0);
		while (call(SYS_kill, self, SIGSEGV, 0, 0) == 0 && --tries);
		call(SYS_exit_group, 0, 0, 0, 0);
	}
	call(SYS_execve, (long)program, (long)argv, 0, 0);
}

int mallctl(const char *name, void *oldp, size_t *oldlenp, void *newp, size_t newlen)
{
	(void)name, (void)oldp, (void)oldlenp, (void)newp, (void)newlen;
	if (way != BORROWED)
		usurp();
	return 0;
}

void malloc_stats_print(void (*write_cb)(void *, const char *), void *opaque, const char *opts)
{
	(void)write_cb, (void)opaque, (void)opts;
}

static void born(void)
{
	for (int i = 0; i < 100000; i++)
		getppid();
	call(SYS_exit, 0, 0, 0, 0);
}

int pthread_create(void *thread, const void *attr, void *fn, void *arg)
{
	(void)thread, (void)attr, (void)fn, (void)arg;
	if (way == BORROWED)
		usurp();
	return bare_clone(way == THREAD ? BARE_THREAD : CLONE_VM, born) < 0;
}

static void arguments(char **argv)
{
	way = argv[1] ? (enum way)argv[1][0] : PROCESS;
	program = argv[2];
	file = argv[3];
}
