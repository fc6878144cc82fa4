// SPDX-License-Identifier: Apache-2.0
/*
 * For programs that are hostile from their first instruction on: no C library, but the symbols by
 * which jeprof-ctl recognizes glibc and jemalloc. One file of a program includes this, and defines
 * what is declared here.
 */
#ifndef TESTS_TARGET_BARE_H
#define TESTS_TARGET_BARE_H

#include "tests/target/pretended.h"

#include <linux/sched.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>

int pthread_create(void *thread, const void *attr, void *fn, void *arg);
const char *gnu_get_libc_version(void);

/* Handle the program's arguments; after that, the calling thread waits forever. */
static void arguments(char **argv);

const char *gnu_get_libc_version(void)
{
	return release;
}

int mallctlnametomib(const char *name, size_t *mib, size_t *len)
{
	(void)name, (void)mib, (void)len;
	return 2;
}

int mallctlbymib(const size_t *mib, size_t len, void *oldp, size_t *oldlenp, void *newp,
		 size_t newlen)
{
	(void)mib, (void)len, (void)oldp, (void)oldlenp, (void)newp, (void)newlen;
	return 2;
}

static inline long call(long nr, long a, long b, long c, long d)
{
	register long r10 __asm__("r10") = d;
	long ret;

	__asm__ volatile("syscall"
			 : "=a"(ret)
			 : "a"(nr), "D"(a), "S"(b), "d"(c), "r"(r10)
			 : "rcx", "r11", "memory");
	return ret;
}

static char bare_stack[2 << 20] __attribute__((aligned(64)));

/* clone(2): the child runs `born` on its own stack; the flags decide what it is. */
static inline long bare_clone(unsigned long flags, void (*born)(void))
{
	uint64_t *top = (uint64_t *)(bare_stack + sizeof(bare_stack) - 4096);
	long made;

	*top = (uint64_t)born;
	__asm__ volatile("xor %%edx,%%edx\n\t"
			 "xor %%r10d,%%r10d\n\t"
			 "xor %%r8d,%%r8d\n\t"
			 "syscall\n\t"
			 "test %%eax,%%eax\n\t"
			 "jnz 1f\n\t"
			 "ret\n"
			 "1:"
			 : "=a"(made)
			 : "a"(SYS_clone), "D"(flags), "S"(top)
			 : "rdx", "r10", "r8", "rcx", "r11", "memory");
	return made;
}

#define BARE_THREAD (CLONE_VM | CLONE_THREAD | CLONE_SIGHAND | CLONE_FS | CLONE_FILES)

/* Far away from what counts as jemalloc's code, where no thread would be borrowed. */
__attribute__((section(".far"), used, noreturn)) void bare_begin(char **argv);

void bare_begin(char **argv)
{
	long ret;

	arguments(argv);
	for (;;)
		__asm__ volatile("syscall" : "=a"(ret) : "a"(SYS_pause) : "rcx", "r11", "memory");
}

__asm__(".section .far,\"ax\",@progbits\n"
	".globl _start\n"
	"_start: lea 8(%rsp),%rdi\n"
	"and $-16,%rsp\n"
	"call bare_begin\n"
	".text\n");

#endif
