// SPDX-License-Identifier: Apache-2.0
/*
 * holders [debug] [anywhere] [-NAME]...: find out which functions of the installed C library hold a
 * lock that a call of ours takes, by running them one instruction after the other.
 *
 * First a thread does what a borrowed thread is made to do: the locks that it takes are those that
 * matter. Then it runs functions that take locks; whenever it holds a lock that matters, the lists
 * of injector/libc.h must say that it may not be borrowed there. They are applied like in
 * injector/safepoint.c and injector/callsite.c. Prints a line for each function that was run,
 * "known" or "UNKNOWN", and one for each name of the list that this C library does not have.
 * HOLDERS_LIBRARY is the library for dlopen(). With `debug`, the symbols of the debug file are used
 * as well. With -NAME, that name is taken off the list, and the first UNKNOWN ends the program.
 * With `anywhere`, musl is treated like glibc, whose functions that hold a lock are all on a list.
 */
#include "injector/callsite.h"
#include "injector/libc.h"
#include "injector/search.h"
#include "injector/tracer.h"
#include "tests/target/symbols.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <iconv.h>
#include <link.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

#ifdef __GLIBC__
#include <execinfo.h>
static const struct libc *const lib = &libc_glibc;
#else
static const struct libc *const lib = &libc_musl;
/* musl does not have these. */
#define pvalloc valloc
#define dlvsym(handle, name, version) dlsym(handle, name)
#define malloc_trim(size) ((void)(size))
#define malloc_info(options, file) ((void)(file))
#define malloc_stats() ((void)0)
#define mallopt(what, value) ((void)(value))
#endif

#define MARK 0x6a70    /* getpgid(MARK, N): action N begins; getpgid(MARK + 1): it ends */
#define BIG (8u << 10) /* more than a thread caches, less than is mapped */
#define STEPS_MAX 3000000

/* --- the actions --- */

static void *end_at_once(void *unused)
{
	return unused;
}

static void *wait_for_ever(void *unused)
{
	for (;;)
		pause();
	return unused;
}

static void mark(long what, long n)
{
	syscall(SYS_getpgid, MARK + what, n);
}

static _Atomic(pid_t) ending;

/* The thread ends, and with it the observation. */
static void *end_marked(void *n)
{
	void *volatile used = malloc(BIG);

	free(used);
	ending = gettid();
	mark(0, (long)(intptr_t)n);
	return NULL;
}

static pthread_t make(size_t stack, void *(*fn)(void *), void *arg, int detached)
{
	pthread_attr_t attr;
	pthread_t thread = 0;

	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, detached);
	pthread_attr_setstacksize(&attr, stack);
	pthread_attr_setguardsize(&attr, GUARD_SIZE);
	if (pthread_create(&thread, &attr, fn, arg))
		perror("pthread_create");
	pthread_attr_destroy(&attr);
	return thread;
}

#define BIG_STACK (96u << 20) /* more than glibc caches for the next thread */

static pthread_t other; /* for the functions that need one */

static void other_waits(void)
{
	other = make(STACK_SIZE, wait_for_ever, NULL, PTHREAD_CREATE_JOINABLE);
}

static void other_ends(void)
{
	other = make(STACK_SIZE, end_at_once, NULL, PTHREAD_CREATE_JOINABLE);
	usleep(20000);
}

static void other_is_big(void)
{
	other = make(BIG_STACK, end_at_once, NULL, PTHREAD_CREATE_JOINABLE);
	usleep(20000);
}

static int visit(struct dl_phdr_info *info, size_t size, void *ctx)
{
	(void)info, (void)size, (void)ctx;
	return 0;
}

static void use_create(void)
{
	make(STACK_SIZE, end_at_once, NULL, PTHREAD_CREATE_DETACHED);
}

static void use_create_big(void)
{
	make(BIG_STACK, end_at_once, NULL, PTHREAD_CREATE_DETACHED);
}

static void use_malloc(void)
{
	void *volatile used = malloc(BIG);

	free(used);
}

static void use_iterate(void)
{
	dl_iterate_phdr(visit, NULL);
}

static void use_backtrace(void)
{
#ifdef __GLIBC__
	void *frames[16];

	backtrace(frames, 16);
#endif
}

static void use_join(void)
{
	pthread_join(other, NULL);
}

static void use_tryjoin(void)
{
	pthread_tryjoin_np(other, NULL);
}

static void use_timedjoin(void)
{
	const struct timespec till = { .tv_sec = time(NULL) + 10 };

	pthread_timedjoin_np(other, NULL, &till);
}

static void use_detach(void)
{
	pthread_detach(other);
}

static void use_cancel(void)
{
	pthread_cancel(other);
}

static void use_getattr(void)
{
	pthread_attr_t attr;

	pthread_getattr_np(pthread_self(), &attr);
	pthread_attr_destroy(&attr);
}

static void use_default_attr(void)
{
	pthread_attr_t attr;

	pthread_getattr_default_np(&attr);
	pthread_setattr_default_np(&attr);
	pthread_attr_destroy(&attr);
}

static void use_realloc(void)
{
	char *used = malloc(BIG), *more = realloc(used, 2 * BIG);

	if (more)
		used = more;
	free(used);
}

static void use_calloc(void)
{
	void *volatile used = calloc(BIG, 1);

	free(used);
}

static void use_aligned(void)
{
	void *volatile a = memalign(4096, BIG), *volatile b = aligned_alloc(4096, BIG);
	void *c = NULL;

	if (posix_memalign(&c, 4096, BIG))
		perror("posix_memalign");
	free(a);
	free(b);
	free(c);
}

static void use_pages(void)
{
	void *volatile a = valloc(BIG), *volatile b = pvalloc(BIG);

	free(a);
	free(b);
}

static void use_trim(void)
{
	malloc_trim(0);
}

static void use_malloc_info(void)
{
	static FILE *nowhere;

	nowhere = nowhere ? nowhere : fopen("/dev/null", "w");
	malloc_info(0, nowhere);
}

static void use_malloc_stats(void)
{
	malloc_stats();
}

/* Either may be missing from the C library or from its headers. */
struct numbers {
	size_t v[10];
};
struct numbers call_mallinfo(void) __asm__("mallinfo") __attribute__((weak));
struct numbers call_mallinfo2(void) __asm__("mallinfo2") __attribute__((weak));

static void use_mallinfo(void)
{
	if (call_mallinfo)
		call_mallinfo();
}

static void use_mallinfo2(void)
{
	if (call_mallinfo2)
		call_mallinfo2();
}

static void use_mallopt(void)
{
	mallopt(M_TOP_PAD, 1 << 17);
}

static void use_dlopen(void)
{
#ifndef STATIC
	const char *other = getenv("HOLDERS_LIBRARY");
	void *library = dlopen(other ? other : "libanl.so.1", RTLD_NOW);

	if (library)
		dlclose(library);
#endif
}

static void use_dlsym(void)
{
	Dl_info info;
	void *volatile found = dlsym(RTLD_DEFAULT, "getppid");

	found = dlvsym(RTLD_DEFAULT, "getppid", "GLIBC_2.2.5");
	dladdr(found, &info);
	dlerror();
}

static void use_fork(void)
{
	pid_t pid = fork();

	if (pid == 0)
		_exit(0);
	waitpid(pid, NULL, 0);
}

static void use_vfork(void)
{
	pid_t pid = vfork();

	if (pid == 0)
		_exit(0);
	waitpid(pid, NULL, 0);
}

static void use_spawn(void)
{
	char *argv[] = { (char *)"true", NULL };
	pid_t pid = 0;

	posix_spawnp(&pid, "true", NULL, NULL, argv, environ);
	waitpid(pid, NULL, 0);
}

static void use_popen(void)
{
	FILE *f = popen("true", "r");

	if (f)
		pclose(f);
}

static void use_system(void)
{
	if (system("true"))
		perror("system");
}

static void nothing(void)
{
}

static void use_atexit(void)
{
	(void)atexit(nothing);
	(void)at_quick_exit(nothing);
	pthread_atfork(nothing, nothing, nothing);
}

static void use_setuid(void)
{
	if (setuid(0) || seteuid(0) || setreuid(0, 0) || setresuid(0, 0, 0))
		perror("setuid");
}

static void use_setgid(void)
{
	if (setgid(0) || setegid(0) || setregid(0, 0) || setresgid(0, 0, 0))
		perror("setgid");
}

static void use_setgroups(void)
{
	if (setgroups(0, NULL))
		perror("setgroups");
}

static void use_sched(void)
{
	struct sched_param param;
	cpu_set_t set;
	char name[16];
	int policy;

	pthread_getschedparam(other, &policy, &param);
	pthread_setschedparam(other, policy, &param);
	pthread_getaffinity_np(other, sizeof(set), &set);
	pthread_setaffinity_np(other, sizeof(set), &set);
	pthread_getname_np(other, name, sizeof(name));
	pthread_setname_np(other, name);
	pthread_kill(other, 0);
}

static void use_keys(void)
{
	pthread_key_t key;
	clockid_t clock;

	if (pthread_key_create(&key, free))
		return;
	pthread_setspecific(key, NULL);
	pthread_key_delete(key);
	pthread_getcpuclockid(other, &clock);
	pthread_setconcurrency(2);
	pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, NULL);
}

static void notified(union sigval value)
{
	(void)value;
}

static void use_timer(void)
{
	struct sigevent event = { .sigev_notify = SIGEV_THREAD, .sigev_notify_function = notified };
	timer_t timer;

	if (timer_create(CLOCK_MONOTONIC, &event, &timer) == 0)
		timer_delete(timer);
}

static int end_c11(void *unused)
{
	return unused != NULL;
}

static void use_c11(void)
{
	thrd_t thread;

	if (thrd_create(&thread, end_c11, NULL) == thrd_success)
		thrd_join(thread, NULL);
	if (thrd_create(&thread, end_c11, NULL) == thrd_success) {
		usleep(20000);
		thrd_detach(thread);
	}
}

static void use_iconv(void)
{
	iconv_t cd = iconv_open("UTF-16", "ISO-8859-15");

	if (cd != (iconv_t)-1)
		iconv_close(cd);
}

static void use_stdio(void)
{
	FILE *f = fopen("/dev/null", "w");

	if (!f)
		return;
	setvbuf(f, NULL, _IOFBF, BIG);
	fprintf(f, "%d %f\n", 4711, 1.5);
	fclose(f);
}

static void use_environment(void)
{
	setenv("HOLDERS", "1", 1);
	unsetenv("HOLDERS");
	tzset();
}

static const struct action {
	const char *name;
	void (*before)(void); /* not observed; or NULL */
	void (*use)(void);    /* NULL: the end of a thread */
	bool ours;	      /* a borrowed thread has to do it */
	size_t stack;
} actions[] = {
	{ "a call of pthread_create", NULL, use_create, true, 0 },
	{ "another one", NULL, use_create, true, 0 },
	{ "a call of pthread_create for a big stack", NULL, use_create_big, true, 0 },
	{ "malloc and free", NULL, use_malloc, true, 0 },
	{ "dl_iterate_phdr", NULL, use_iterate, true, 0 },
	{ "backtrace", NULL, use_backtrace, true, 0 },
	{ "the end of a thread", NULL, NULL, false, STACK_SIZE },
	{ "the end of a thread with a big stack", NULL, NULL, false, BIG_STACK },
	{ "pthread_join", other_ends, use_join, false, 0 },
	{ "pthread_join of a big stack", other_is_big, use_join, false, 0 },
	{ "pthread_tryjoin_np", other_is_big, use_tryjoin, false, 0 },
	{ "pthread_timedjoin_np", other_is_big, use_timedjoin, false, 0 },
	{ "pthread_detach", other_is_big, use_detach, false, 0 },
	{ "pthread_cancel", other_waits, use_cancel, false, 0 },
	{ "pthread_getattr_np", NULL, use_getattr, false, 0 },
	{ "the default attributes", NULL, use_default_attr, false, 0 },
	{ "threads of C11", NULL, use_c11, false, 0 },
	{ "scheduling", other_waits, use_sched, false, 0 },
	{ "keys", NULL, use_keys, false, 0 },
	{ "timer_create", NULL, use_timer, false, 0 },
	{ "realloc", NULL, use_realloc, false, 0 },
	{ "calloc", NULL, use_calloc, false, 0 },
	{ "memalign, aligned_alloc, posix_memalign", NULL, use_aligned, false, 0 },
	{ "valloc, pvalloc", NULL, use_pages, false, 0 },
	{ "malloc_trim", NULL, use_trim, false, 0 },
	{ "malloc_info", NULL, use_malloc_info, false, 0 },
	{ "malloc_stats", NULL, use_malloc_stats, false, 0 },
	{ "mallinfo", NULL, use_mallinfo, false, 0 },
	{ "mallinfo2", NULL, use_mallinfo2, false, 0 },
	{ "mallopt", NULL, use_mallopt, false, 0 },
	{ "dlopen, dlclose", NULL, use_dlopen, false, 0 },
	{ "dlsym, dlvsym, dladdr, dlerror", NULL, use_dlsym, false, 0 },
	{ "fork", NULL, use_fork, false, 0 },
	{ "vfork", NULL, use_vfork, false, 0 },
	{ "posix_spawnp", NULL, use_spawn, false, 0 },
	{ "popen", NULL, use_popen, false, 0 },
	{ "system", NULL, use_system, false, 0 },
	{ "atexit, pthread_atfork", NULL, use_atexit, false, 0 },
	{ "setuid and its kin", NULL, use_setuid, false, 0 },
	{ "setgid and its kin", NULL, use_setgid, false, 0 },
	{ "setgroups", NULL, use_setgroups, false, 0 },
	{ "iconv_open", NULL, use_iconv, false, 0 },
	{ "stdio", NULL, use_stdio, false, 0 },
	{ "the environment", NULL, use_environment, false, 0 },
};
#define ACTIONS (sizeof(actions) / sizeof(*actions))

/* Nobody joins the thread: it frees its stack itself. */
static void look_at_end(size_t i)
{
	ending = 0;
	make(actions[i].stack, end_marked, (void *)i, PTHREAD_CREATE_DETACHED);
	while (!ending || !syscall(SYS_tgkill, getpid(), ending, 0))
		usleep(10000);
}

static _Noreturn void be_traced(void)
{
	int nowhere = open("/dev/null", O_WRONLY);

	dup2(nowhere, STDERR_FILENO); /* for malloc_stats() */
	use_backtrace();	      /* it loads a library the first time */
	ptrace(PTRACE_TRACEME, 0, 0, 0);
	raise(SIGSTOP);
	other_waits(); /* a single-threaded program takes no locks */
	for (size_t i = 0; i < ACTIONS; i++) {
		if (actions[i].before)
			actions[i].before();
		if (!actions[i].use) {
			look_at_end(i);
			continue;
		}
		mark(0, (long)i);
		actions[i].use();
		mark(1, 0);
	}
	_exit(0);
}

/* --- what is known --- */

struct places {
	struct range v[1 << 16];
	size_t n;
};
static struct places danger, named, libc_code, data;
#ifdef __GLIBC__
static const char *const *const holders = glibc_holders;
#define n_holders n_glibc_holders
#else
static const char *const *const holders = musl_holders;
#define n_holders n_musl_holders
#endif
static bool anywhere, use_debug, has_debug, is_static = true; /* until a shared C library is seen */
static const char *without = "";
static bool has_name[256];

static void add_place(struct places *p, uint64_t start, uint64_t end)
{
	if (p->n == sizeof(p->v) / sizeof(*p->v)) {
		fprintf(stderr, "holders: too many symbols\n");
		exit(2);
	}
	p->v[p->n++] = (struct range){ start, end };
}

static bool lies_in(const struct places *p, uint64_t addr)
{
	for (size_t i = 0; i < p->n; i++)
		if (addr >= p->v[i].start && addr < p->v[i].end)
			return true;
	return false;
}

static void add_symbol(const char *name, uint64_t start, const Elf64_Sym *sym, bool exported)
{
	uint64_t size = sym->st_size;

	if (ELF64_ST_TYPE(sym->st_info) != STT_FUNC)
		return;
	if (lib->holds_locks(name) && (!*without || strncmp(name, without, strlen(without)) != 0))
		add_place(&danger, start, start + (size ? size : 1));
	for (size_t i = 0; i < n_holders; i++)
		has_name[i] |= !strcmp(name, holders[i]);
	if (size && exported)
		add_place(&named, start, start + size);
}

static int look_at_image(struct dl_phdr_info *info, size_t size, void *ctx)
{
	const char *slash = strrchr(info->dlpi_name, '/'), *name = slash ? slash + 1 : "";
	bool is_libc = symbols_is_libc(info);

	(void)size, (void)ctx;
	is_static &= !is_libc;
	if (is_libc)
		symbols_each(info->dlpi_name, info->dlpi_addr, add_symbol);
	if (is_libc && use_debug)
		has_debug |= symbols_each_of_debug_file(info, add_symbol);
	for (size_t i = 0; i < info->dlpi_phnum; i++) {
		const Elf64_Phdr *p = &info->dlpi_phdr[i];
		uint64_t start = info->dlpi_addr + p->p_vaddr, end = start + p->p_memsz;

		if (p->p_type != PT_LOAD)
			continue;
		if (p->p_flags & PF_W)
			add_place(&data, start, end);
		if ((p->p_flags & PF_X) && is_libc)
			add_place(&libc_code, start, end);
		if ((p->p_flags & PF_X) && libc_image_holds_locks(name))
			add_place(&danger, start, end);
	}
	return 0;
}

/* --- single-stepping --- */

struct frame {
	uint64_t at, to; /* the place on the stack, and the return address */
};

struct thread {
	pid_t tid;
	bool stepping;
	const struct action *action;
	struct user_regs_struct before; /* before the current instruction */
	uint64_t wanted;		/* the lock that it tries to take; 0: none */
	uint64_t held[16];
	struct frame frames[256];
	size_t n_held, n_frames;
	unsigned long steps, while_held;
	bool failed;
};
static struct thread threads[128];
static uint64_t needed[64]; /* locks that our calls take */
static size_t n_needed;
static pid_t child;

static bool peek(uint64_t addr, void *buf, size_t len)
{
	struct iovec to = { buf, len }, from = { (void *)addr, len };

	return process_vm_readv(child, &to, 1, &from, 1, 0) == (ssize_t)len;
}

static uint64_t by_number(const struct user_regs_struct *r, unsigned int n)
{
	const uint64_t v[] = { r->rax, r->rcx, r->rdx, r->rbx, r->rsp, r->rbp, r->rsi, r->rdi,
			       r->r8,  r->r9,  r->r10, r->r11, r->r12, r->r13, r->r14, r->r15 };

	return v[n & 15];
}

/* The memory operand of an instruction; 0 for a register. `at` points to its ModRM byte. */
static uint64_t operand(const struct user_regs_struct *r, const unsigned char *code,
			const unsigned char *at, unsigned int rex)
{
	unsigned int mod = *at >> 6, rm = *at & 7, base = rm | (rex & 1) << 3;
	const unsigned char *disp = at + 1;
	uint64_t addr = 0;
	int32_t d = 0;

	if (mod == 3)
		return 0;
	if (rm == 4) { /* SIB */
		unsigned int index = (*disp >> 3 & 7) | (rex & 2) << 2;

		base = (*disp & 7) | (rex & 1) << 3;
		if (index != 4)
			addr = by_number(r, index) << (*disp >> 6);
		disp++;
	}
	if (mod == 0 && (base & 7) == 5) {
		memcpy(&d, disp, sizeof(d));
		return rm == 4 ? addr + (uint64_t)d
			       : r->rip + (uint64_t)(disp + 4 - code) + (uint64_t)d;
	}
	if (mod == 2)
		memcpy(&d, disp, sizeof(d));
	else if (mod == 1)
		d = (signed char)*disp;
	return addr + by_number(r, base) + (uint64_t)d;
}

/* The operand of a "lock cmpxchg" from 0, by which the C library takes a lock; or 0. */
static uint64_t lock_of(const struct user_regs_struct *r, const unsigned char code[16])
{
	const unsigned char *at = code;
	unsigned int rex = 0;

	if (*at++ != 0xf0 || (uint32_t)r->rax)
		return 0;
	if ((*at & 0xf0) == 0x40)
		rex = *at++;
	return at[0] == 0x0f && at[1] == 0xb1 ? operand(r, code, at + 2, rex) : 0;
}

static bool matters(uint64_t lock)
{
	for (size_t i = 0; i < n_needed; i++)
		if (needed[i] == lock)
			return true;
	return false;
}

static const char *place_name(uint64_t addr)
{
	static char text[256];
	Dl_info info;

	if (!dladdr((void *)addr, &info) || !strrchr(info.dli_fname, '/'))
		snprintf(text, sizeof(text), "%#lx", addr);
	else
		snprintf(text, sizeof(text), "%s+%#lx (after %s)", strrchr(info.dli_fname, '/') + 1,
			 addr - (uint64_t)info.dli_fbase, info.dli_sname ? info.dli_sname : "?");
	return text;
}

static void take(struct thread *t, uint64_t lock)
{
	if (!lies_in(&data, lock))
		return;
	if (t->action->ours && !matters(lock) && n_needed < sizeof(needed) / sizeof(*needed)) {
		needed[n_needed++] = lock;
		printf("lock: %s takes %s\n", t->action->name, place_name(lock));
	}
	if (matters(lock) && t->n_held < sizeof(t->held) / sizeof(*t->held))
		t->held[t->n_held++] = lock;
}

/* Note what the last instruction has done. */
static void follow(struct thread *t, const struct user_regs_struct *now)
{
	uint64_t to;
	uint32_t word;

	while (t->n_frames && t->frames[t->n_frames - 1].at < now->rsp)
		t->n_frames--;
	if (now->rsp == t->before.rsp - 8 && peek(now->rsp, &to, sizeof(to)) &&
	    to - t->before.rip - 1 < 8 && t->n_frames < sizeof(t->frames) / sizeof(*t->frames))
		t->frames[t->n_frames++] = (struct frame){ now->rsp, to };
	if (t->wanted && (now->eflags & 0x40))
		take(t, t->wanted);
	for (size_t i = 0; i < t->n_held;) {
		if (peek(t->held[i], &word, sizeof(word)) && word)
			i++;
		else
			t->held[i] = t->held[--t->n_held];
	}
}

/* Decide like safepoint_check(). */
static bool may_be_borrowed(const struct thread *t, const struct user_regs_struct *r,
			    bool in_syscall)
{
	const uint64_t args[6] = { r->rdi, r->rsi, r->rdx, r->r10, r->r8, r->r9 };

	if (lies_in(&danger, r->rip))
		return false;
	if (in_syscall && rank_never((long)r->rax, args))
		return false;
	/* CAUTION_OUTSIDE; in a static program all code is the C library's. */
	if (lib->no_unwind && !anywhere && !(in_syscall && rank_waits((long)r->rax, args)) &&
	    (is_static || lies_in(&libc_code, r->rip)))
		return false;
	if (!is_static && !in_syscall && lies_in(&libc_code, r->rip) && !lies_in(&named, r->rip))
		return false;
	for (size_t i = 0; i < t->n_frames; i++)
		if (lies_in(&danger, t->frames[i].to) || lies_in(&danger, t->frames[i].to - 1))
			return false;
	return true;
}

static void judge(struct thread *t, const struct user_regs_struct *r, bool in_syscall)
{
	t->while_held++;
	if (t->failed || !may_be_borrowed(t, r, in_syscall))
		return;
	t->failed = true;
	printf("UNKNOWN %s: holds %s", t->action->name, place_name(t->held[0]));
	printf(" at %s%s\n", place_name(r->rip), in_syscall ? ", in a system call" : "");
	if (*without)
		exit(0);
}

static void finish(struct thread *t)
{
	if (t->action && !t->failed)
		printf("known %s: %lu instructions, %lu with a lock\n", t->action->name, t->steps,
		       t->while_held);
	t->stepping = false;
	t->action = NULL;
}

static void begin(struct thread *t, uint64_t action)
{
	if (action >= ACTIONS)
		return;
	t->action = &actions[action];
	t->stepping = true;
	t->failed = false;
	t->steps = t->while_held = 0;
	t->n_held = t->n_frames = 0;
	t->wanted = 0;
}

/* Before an instruction: finish if it is the end mark. */
static void step(struct thread *t)
{
	unsigned char code[16] = { 0 };
	struct user_regs_struct now;
	bool is_syscall;

	if (ptrace(PTRACE_GETREGS, t->tid, 0, &now))
		return;
	if (t->steps++)
		follow(t, &now);
	peek(now.rip, code, sizeof(code));
	is_syscall = code[0] == 0x0f && code[1] == 0x05;
	if (is_syscall && now.rax == SYS_getpgid && now.rdi == MARK + 1) {
		finish(t);
		return;
	}
	if (t->n_held) {
		judge(t, &now, false);
		if (is_syscall)
			judge(t, &now, true);
	}
	t->wanted = lock_of(&now, code);
	t->before = now;
	if (t->steps > STEPS_MAX) {
		printf("UNKNOWN %s: does not come to an end\n", t->action->name);
		exit(1);
	}
}

static struct thread *thread_of(pid_t tid)
{
	size_t i = 0;

	while (threads[i].tid && threads[i].tid != tid)
		if (++i == sizeof(threads) / sizeof(*threads))
			exit(2);
	threads[i].tid = tid;
	return &threads[i];
}

/* At the entry or exit of a system call. */
static void look_for_mark(struct thread *t)
{
	struct user_regs_struct r;

	if (ptrace(PTRACE_GETREGS, t->tid, 0, &r) == 0 && r.rax == (uint64_t)-ENOSYS &&
	    r.orig_rax == SYS_getpgid && r.rdi == MARK)
		begin(t, r.rsi);
}

static int trace(void)
{
	const long options = PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACECLONE | PTRACE_O_EXITKILL;
	int status, sig;
	pid_t tid;

	if (waitpid(child, &status, 0) != child ||
	    ptrace(PTRACE_SETOPTIONS, child, 0, options) < 0 ||
	    ptrace(PTRACE_SYSCALL, child, 0, 0) < 0)
		return 2;
	while ((tid = waitpid(-1, &status, __WALL)) > 0) {
		struct thread *t = thread_of(tid);

		if (!WIFSTOPPED(status)) {
			finish(t);
			if (tid == child)
				return WIFEXITED(status) ? WEXITSTATUS(status) : 2;
			continue;
		}
		sig = WSTOPSIG(status);
		if (sig == (SIGTRAP | 0x80))
			look_for_mark(t);
		else if (sig == SIGTRAP && t->stepping && !(status >> 16))
			step(t);
		/*
		 * Suppress these signals: SIGTRAP and SIGSTOP are our own, or the first stop of a
		 * new thread.
		 */
		sig = sig == SIGTRAP || sig == (SIGTRAP | 0x80) || sig == SIGSTOP ? 0 : sig;
		ptrace(t->stepping ? PTRACE_SINGLESTEP : PTRACE_SYSCALL, tid, 0, (long)sig);
	}
	return 2;
}

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		if (!strcmp(argv[i], "debug"))
			use_debug = true;
		else if (!strcmp(argv[i], "anywhere"))
			anywhere = true;
		else
			without = argv[i] + (argv[i][0] == '-');
	}
	use_backtrace();
	dl_iterate_phdr(look_at_image, NULL);
	if (is_static)
		symbols_each("/proc/self/exe", 0, add_symbol);
	if (use_debug && !has_debug) {
		fprintf(stderr, "holders: the C library has no debug file\n");
		return 2;
	}
	for (size_t i = 0; i < n_holders; i++)
		if (!has_name[i])
			printf("absent: %s\n", holders[i]);
	fflush(stdout);
	child = fork();
	if (child == 0)
		be_traced();
	return child < 0 ? 2 : trace();
}
