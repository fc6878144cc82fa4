// SPDX-License-Identifier: Apache-2.0
/*
 * swapper WHEN FILE: replaces the memory file for its dumps and statistics by FILE, under the same
 * number. WHEN says when:
 *
 *	before	right after it was created, before jeprof-ctl can look at it: the program
 *		has its own version of a C library function that jeprof-ctl uses
 *	after	in the call that is to write it
 *	never	not at all: it writes what it should
 */
#include "tests/target/bare.h"

#include <fcntl.h>
#include <unistd.h>

#define FIRST_FILE 3

enum when { BEFORE = 'b', AFTER = 'a', NEVER = 'n' };
static enum when when;
static char *file;
static const char profile[] = "heap_v2/1\n  t*: 1: 1 [0: 0]\n\nMAPPED_LIBRARIES:\n";
static const char statistics[] = "{\"jemalloc\":{\"version\":\"5.3.0\"}}\n";

/*
 * The new thread comes here after each step of jeprof-ctl. The code is like the C library's until
 * jeprof-ctl has looked at it; then it starts with a jump, which fits into the instruction that it
 * replaces.
 */
#define JUMP 0xe9
#define JUMP_LEN 5
extern unsigned char home[], detour[];

__asm__(".section .changing,\"awx\",@progbits\n"
	".globl getppid\n"
	".type getppid,@function\n"
	"getppid: home: mov $110,%eax\n syscall\n ret\n"
	".size getppid,.-getppid\n"
	".text\n"
	"detour: push %rbp\n mov %rsp,%rbp\n and $-16,%rsp\n call step\n leave\n"
	"mov $110,%eax\n jmp home + 5\n"
	"mov $15,%rax\n syscall\n"
	"mov %rax,(%rdi)\n ret\n pop %rdi\n ret\n");

/* O_PATH: the file can be named without the permission to open it. */
static void swap(int fd)
{
	long other = call(SYS_open, (long)file, O_PATH | O_CLOEXEC, 0, 0);

	call(SYS_dup2, other, fd, 0, 0);
	call(SYS_close, other, 0, 0, 0);
}

__attribute__((used)) static void step(void)
{
	if (when == BEFORE && call(SYS_fcntl, FIRST_FILE, F_GETFD, 0, 0) >= 0)
		swap(FIRST_FILE);
}

static int same(const char *a, const char *b)
{
	while (*a && *a == *b)
		a++, b++;
	return *a == *b;
}

static int dump(void)
{
	if (when == AFTER)
		swap(FIRST_FILE);
	else
		call(SYS_write, FIRST_FILE, (long)profile, sizeof(profile) - 1, 0);
	return 0;
}

int mallctl(const char *name, void *oldp, size_t *oldlenp, void *newp, size_t newlen)
{
	const char *text = same(name, "version") ? release : "";

	(void)newlen;
	if (same(name, "prof.dump"))
		return newp ? dump() : 0;
	if (oldp && *oldlenp == sizeof(text))
		*(const char **)oldp = text;
	else if (oldp)
		*(volatile char *)oldp = 1;
	return 0;
}

void malloc_stats_print(void (*write_cb)(void *, const char *), void *opaque, const char *opts)
{
	(void)write_cb, (void)opaque, (void)opts;
	if (when == AFTER)
		swap(FIRST_FILE);
	else
		call(SYS_write, 2, (long)statistics, sizeof(statistics) - 1, 0);
}

static void born(void)
{
	getppid();
	call(SYS_exit, 0, 0, 0, 0);
}

static void change(void)
{
	int32_t distance = (int32_t)((uintptr_t)detour - (uintptr_t)home - JUMP_LEN);

	home[0] = JUMP;
	for (unsigned int i = 0; i < sizeof(distance); i++)
		home[1 + i] = (unsigned char)((uint32_t)distance >> 8 * i);
}

int pthread_create(void *thread, const void *attr, void *fn, void *arg)
{
	(void)thread, (void)attr, (void)fn, (void)arg;
	if (when == BEFORE)
		change();
	return bare_clone(BARE_THREAD, born) < 0;
}

static void arguments(char **argv)
{
	when = argv[1] ? (enum when)argv[1][0] : NEVER;
	file = argv[2];
}
