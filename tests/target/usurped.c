// SPDX-License-Identifier: Apache-2.0
/*
 * usurped FILE: a set-user-ID program that does nothing. It contains code that creates FILE, at the
 * addresses of tests/target/usurper.c, and never calls it. It has no C library, as the other
 * program chooses the addresses.
 */
#include <fcntl.h>
#include <sys/syscall.h>

static long call(long nr, long a, long b, long c)
{
	long ret;

	__asm__ volatile("syscall"
			 : "=a"(ret)
			 : "a"(nr), "D"(a), "S"(b), "d"(c)
			 : "rcx", "r11", "memory");
	return ret;
}

const char *file;
char stack[65536] __attribute__((aligned(64)));

/* Whatever the stack pointer is, use a stack of its own. */
__asm__(".section .meet,\"ax\",@progbits\n"
	".fill 96,1,0x90\n"
	"lea stack+65536-64(%rip),%rsp\n"
	"call reached\n"
	".text\n");

__attribute__((used)) void reached(void);

void reached(void)
{
	call(SYS_open, (long)file, O_WRONLY | O_CREAT, 0600);
	call(SYS_exit, 0, 0, 0);
}

/* The initial stack: the number of arguments, then the arguments. */
__asm__(".globl _start\n"
	"_start: mov 16(%rsp),%rax\n"
	"mov %rax,file(%rip)\n"
	"and $-16,%rsp\n"
	"call rest\n");

__attribute__((used)) void rest(void);

void rest(void)
{
	for (;;)
		call(SYS_pause, 0, 0, 0);
}
