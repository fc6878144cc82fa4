// SPDX-License-Identifier: Apache-2.0
/*
 * births [extra]: create threads like jeprof-ctl has a target create them, trace that, and compare
 * it with what jeprof-ctl knows about the C library (injector/libc.h). Print a line for each
 * observation, "known" or "UNKNOWN". With `extra`, the threads do one more thing, and a field of
 * struct pthread is looked for beside its place.
 */
#include "injector/libc.h"
#include "tests/target/symbols.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#ifdef __GLIBC__
static const struct libc *const lib = &libc_glibc;
#define FIRST_SIGNAL (SIG_SETXID + 1)
#define COMPARED_ATTR offsetof(struct glibc_attr, reserved)
#else
static const struct libc *const lib = &libc_musl;
#define FIRST_SIGNAL (MUSL_SIGSYNCCALL + 1)
#define COMPARED_ATTR sizeof(pthread_attr_t)
#endif

#define MARK 0x6a70 /* getpgid(MARK) marks the beginning; getpgid(MARK + 1) marks the end */
#define ROUNDS 3

/* The arguments that a filter could tell apart: no pointers, no sizes. */
static const struct {
	long nr;
	unsigned int args; /* bits */
} telling[] = {
	{ SYS_mmap, 1u << 2 | 1u << 3 },  { SYS_mprotect, 1u << 2 },
	{ SYS_futex, 1u << 1 },		  { SYS_rt_sigprocmask, 1u << 0 },
	{ SYS_madvise, 1u << 2 },	  { SYS_clone, 1u << 0 },
	{ SYS_rt_sigaction, 1u << 0 },	  { SYS_rseq, 1u << 3 },
	{ SYS_set_robust_list, 1u << 1 },
};

static void nap(void)
{
	const struct timespec ts = { .tv_nsec = 20000000 };

	nanosleep(&ts, NULL);
}

static void *born(void *extra)
{
	return (void *)(uintptr_t)(extra ? getuid() + (unsigned int)getppid()
					 : (unsigned int)getppid());
}

static _Noreturn void be_traced(void *extra)
{
	pthread_attr_t attr;
	pthread_t thread;
	void *volatile used;

	used = malloc(1); /* otherwise, the first use of malloc would show: getrandom(2), brk(2) */
	free(used);
	ptrace(PTRACE_TRACEME, 0, 0, 0);
	raise(SIGSTOP);
	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	pthread_attr_setstacksize(&attr, STACK_SIZE);
	pthread_attr_setguardsize(&attr, GUARD_SIZE);
	for (int i = 0; i < ROUNDS; i++) {
		syscall(SYS_getpgid, MARK);
		pthread_create(&thread, &attr, born, extra);
		syscall(SYS_getpgid, MARK + 1);
		nap();
	}
	_exit(0);
}

static int is_known(long nr, const uint64_t args[6])
{
	unsigned int mask = 0;

	for (size_t i = 0; i < sizeof(telling) / sizeof(*telling); i++)
		if (telling[i].nr == nr)
			mask = telling[i].args;
	if (nr == SYS_getppid) /* what a thread without a task does: libc_homes */
		return 1;
	for (size_t i = 0; i < lib->n_calls; i++) {
		const struct checked_call *c = &lib->calls[i];
		int same = c->nr == nr && (c->uses & USE_THREAD);

		for (int a = 0; a < 6; a++)
			if (mask & 1u << a)
				same &= (uint32_t)c->args[a] == (uint32_t)args[a];
		if (same)
			return 1;
	}
	return 0;
}

/* The entry of a system call, in the first thread or in one that it created. */
static void see(int first, const struct user_regs_struct *r)
{
	static int between;
	const uint64_t args[6] = { r->rdi, r->rsi, r->rdx, r->r10, r->r8, r->r9 };
	long nr = (long)r->orig_rax;

	if (first && nr == SYS_getpgid && (args[0] == MARK || args[0] == MARK + 1))
		between = args[0] == MARK;
	else if (!first || between)
		printf("%s %s: system call %ld (%#lx, %#lx, %#lx, %#lx)\n",
		       is_known(nr, args) ? "known" : "UNKNOWN", first ? "maker" : "made", nr,
		       args[0], args[1], args[2], args[3]);
}

static int trace(pid_t pid)
{
	static unsigned char inside[1 << 22]; /* by thread: whether its next stop is an exit */
	const long options = PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACECLONE | PTRACE_O_EXITKILL;
	struct user_regs_struct regs;
	int status, sig;
	pid_t tid;

	if (waitpid(pid, &status, 0) != pid || ptrace(PTRACE_SETOPTIONS, pid, 0, options) < 0 ||
	    ptrace(PTRACE_SYSCALL, pid, 0, 0) < 0)
		return 2;
	while ((tid = waitpid(-1, &status, __WALL)) > 0) {
		if (!WIFSTOPPED(status))
			continue;
		sig = WSTOPSIG(status);
		if (sig == (SIGTRAP | 0x80)) {
			inside[tid] ^= 1;
			if (inside[tid] && ptrace(PTRACE_GETREGS, tid, 0, &regs) == 0)
				see(tid == pid, &regs);
		}
		/*
		 * Suppress these signals: SIGTRAP and SIGSTOP are our own, or the first stop of a
		 * new thread.
		 */
		sig = sig == SIGTRAP || sig == (SIGTRAP | 0x80) || sig == SIGSTOP ? 0 : sig;
		ptrace(PTRACE_SYSCALL, tid, 0, (long)sig);
	}
	return 0;
}

/* Compare pthread_attr_t with the one that jeprof-ctl writes itself. */
static void compare_attr(void)
{
	union {
		pthread_attr_t attr;
		unsigned char bytes[ATTR_SIZE];
	} u;

	memset(&u, 0, sizeof(u));
	pthread_attr_init(&u.attr);
	pthread_attr_setdetachstate(&u.attr, PTHREAD_CREATE_DETACHED);
	pthread_attr_setstacksize(&u.attr, STACK_SIZE);
	pthread_attr_setguardsize(&u.attr, GUARD_SIZE);
	printf("%s pthread_attr_t: %zu bytes, ours %zu\n",
	       memcmp(u.bytes, lib->attr, COMPARED_ATTR) ? "UNKNOWN" : "known", sizeof(u.attr),
	       lib->attr_size);
}

/* Compare the limits of a stack with those in struct pthread. */
static void *compare_limits(void *unused)
{
	const uint64_t *w = (const uint64_t *)pthread_self(); /* NOLINT: like the C library */
	uint64_t sp = (uint64_t)__builtin_frame_address(0);
	struct range map = { 0, UINT64_MAX }, found = { 0 };
	pthread_attr_t attr;
	void *addr = NULL;
	size_t size = 0;
	bool same;

	pthread_getattr_np(pthread_self(), &attr);
	pthread_attr_getstack(&attr, &addr, &size);
	map.start = (uint64_t)addr;
	same = lib->stack(w, TCB_MAX / 2 / sizeof(*w), (uint64_t)w, sp, &map, &found) &&
	       found.end == (uint64_t)addr + size;
	/* glibc before 2.37 counts the guard as a part of the stack. */
	same &= found.start == (uint64_t)addr || found.start == (uint64_t)addr + GUARD_SIZE;
	printf("%s struct pthread: itself at 0: %d, limits of its stack: %#lx, %#lx\n",
	       same ? "known" : "UNKNOWN", w[0] == (uint64_t)w, found.start, found.end);
	return unused;
}

static uint32_t cancel_field[3], tcb_size;

static void find_field(const char *name, uint64_t addr, const Elf64_Sym *sym, bool exported)
{
	const void *at = (const void *)addr;

	(void)sym, (void)exported;
	if (!strcmp(name, GLIBC_CANCEL_SYMBOL))
		memcpy(cancel_field, at, sizeof(cancel_field));
	if (!strcmp(name, "_thread_db_sizeof_pthread"))
		memcpy(&tcb_size, at, sizeof(tcb_size));
}

static int find_fields(struct dl_phdr_info *info, size_t size, void *ctx)
{
	(void)size, (void)ctx;
	if (symbols_is_libc(info))
		symbols_each(info->dlpi_name, info->dlpi_addr, find_field);
	return 0;
}

static uint32_t cancel_word(uint32_t offset)
{
	uint32_t word;

	memcpy(&word, (const char *)pthread_self() + offset, sizeof(word)); /* NOLINT */
	return word;
}

#ifdef __GLIBC__
static bool find_cancel(uint32_t *offset)
{
	return glibc_cancel_offset(cancel_field, offset);
}
#else
/* The field's place is confirmed by the places of errno and the tid. */
static bool find_cancel(uint32_t *offset)
{
	const char *self = (const char *)pthread_self(); /* NOLINT */
	int tid;

	memcpy(&tid, self + MUSL_TID, sizeof(tid));
	*offset = MUSL_CANCEL;
	tcb_size = MUSL_MAP_BASE + 5 * sizeof(uint64_t);
	return self + MUSL_ERRNO == (const char *)&errno && tid == gettid();
}
#endif

/* Compare the pending cancellation: injector/safepoint.c, would_be_cancelled(). */
static void *compare_cancel(void *wrong)
{
	uint32_t offset = 0, seen[4] = { 0 };
	bool found = find_cancel(&offset), same;
	int old;

	offset += wrong ? sizeof(uint32_t) : 0;
	if (found)
		seen[0] = cancel_word(offset);
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &old);
	if (found)
		seen[1] = cancel_word(offset);
	pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, &old);
	pthread_setcanceltype(PTHREAD_CANCEL_DEFERRED, &old);
	if (found)
		seen[2] = cancel_word(offset);
	pthread_cancel(pthread_self());
	if (found)
		seen[3] = cancel_word(offset);
	same = found && !((seen[0] | seen[1] | seen[2]) & lib->cancel_pending) &&
	       (seen[3] & lib->cancel_pending);
	printf("%s cancellation: at %u: %#x, disabled %#x, deferred %#x, pending %#x\n",
	       same ? "known" : "UNKNOWN", offset, seen[0], seen[1], seen[2], seen[3]);
	return NULL;
}

/* Compare what else is taken for granted. */
static void compare_numbers(void)
{
	printf("%s struct pthread: %u bytes\n",
	       tcb_size && tcb_size <= TCB_MAX ? "known" : "UNKNOWN", tcb_size);
	printf("%s signals: the first that programs have is %d\n",
	       SIGRTMIN == FIRST_SIGNAL ? "known" : "UNKNOWN", SIGRTMIN);
}

int main(int argc, char **argv)
{
	pthread_t thread;
	pid_t pid;
	int ret;

	pid = fork(); /* before the first thread, which makes more calls than later ones */
	if (pid == 0)
		be_traced(argc > 1 ? argv[1] : NULL);
	ret = pid < 0 ? 2 : trace(pid);
	compare_attr();
	if (pthread_create(&thread, NULL, compare_limits, NULL) == 0)
		pthread_join(thread, NULL);
	dl_iterate_phdr(find_fields, NULL);
	if (pthread_create(&thread, NULL, compare_cancel, argc > 1 ? argv[1] : NULL) == 0)
		pthread_join(thread, NULL);
	compare_numbers();
	return ret;
}
