// SPDX-License-Identifier: Apache-2.0
/*
 * The careless build: jeprof-ctl with its protections switched off, to prove that the tests would
 * notice. This file replaces injector/safepoint.c: every thread may be borrowed, wherever it is.
 * The environment variable CARELESS names what else is switched off, separated by commas:
 *
 *	mask	the borrowed thread's signals are not blocked
 *	setxid	the C library's internal signal 33 is blocked as well
 *	xstate	its extended state is not restored
 *	exec	it is not checked whether the process is still the same program, and
 *		whether a thread is its own; its memory is that of the pid
 *
 * The linker inserts the __wrap_ functions before the real ones (--wrap).
 */
#include "injector/proof.h"
#include "injector/search.h"

#include <elf.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>

#ifndef PTRACE_SETSIGMASK
#define PTRACE_SETSIGMASK 0x420b
#endif

static bool careless(const char *what)
{
	const char *list = getenv("CARELESS");

	return list && strstr(list, what);
}

int safepoint_check(struct tracer *t, pid_t tid, const struct arch_regs *regs, struct err *err)
{
	(void)t, (void)tid, (void)regs, (void)err;
	return 0;
}

long __real_ptrace(int request, ...);
long __wrap_ptrace(int request, ...);

long __wrap_ptrace(int request, ...)
{
	va_list ap;
	uint64_t all = ~0ull;
	void *addr, *data;
	pid_t tid;

	va_start(ap, request);
	tid = va_arg(ap, pid_t);
	addr = va_arg(ap, void *);
	data = va_arg(ap, void *);
	va_end(ap);
	if ((request == PTRACE_SEIZE || request == PTRACE_SETOPTIONS) && careless("exec"))
		data = (void *)((uintptr_t)data & ~(uintptr_t)PTRACE_O_TRACEEXEC);
	if (request == PTRACE_SETSIGMASK && careless("mask"))
		return 0;
	if (request == PTRACE_SETSIGMASK && careless("setxid") && *(uint64_t *)data >> 33)
		data = &all;
	if (request == PTRACE_SETREGSET && (uintptr_t)addr == NT_X86_XSTATE && careless("xstate"))
		return 0;
	return __real_ptrace(request, tid, addr, data);
}

bool __real_proc_alive(const struct proc *p);
bool __wrap_proc_alive(const struct proc *p);

bool __wrap_proc_alive(const struct proc *p)
{
	return careless("exec") || __real_proc_alive(p);
}

bool __real_callsite_holds(const struct tracer *t);
bool __wrap_callsite_holds(const struct tracer *t);

bool __wrap_callsite_holds(const struct tracer *t)
{
	return careless("exec") || __real_callsite_holds(t);
}

int __real_proof_program(const struct tracer *t, pid_t tid, struct err *err);
int __wrap_proof_program(const struct tracer *t, pid_t tid, struct err *err);

int __wrap_proof_program(const struct tracer *t, pid_t tid, struct err *err)
{
	return careless("exec") ? 0 : __real_proof_program(t, tid, err);
}

int __real_proof_take(struct tracer *t, pid_t tid, int status, struct err *err);
int __wrap_proof_take(struct tracer *t, pid_t tid, int status, struct err *err);

int __wrap_proof_take(struct tracer *t, pid_t tid, int status, struct err *err)
{
	int ret = __real_proof_take(t, tid, status, err);

	if (!careless("exec"))
		return ret;
	t->proven = tid;
	return 0;
}

/* Access memory by pid, like process_vm_readv(2): that of whatever program has it. */
int __real_mem_read(const struct tracer *t, uint64_t addr, void *buf, size_t len, struct err *err);
int __wrap_mem_read(const struct tracer *t, uint64_t addr, void *buf, size_t len, struct err *err);

int __wrap_mem_read(const struct tracer *t, uint64_t addr, void *buf, size_t len, struct err *err)
{
	struct iovec here = { buf, len }, there = { (void *)(uintptr_t)addr, len };

	if (careless("exec") &&
	    process_vm_readv(t->inj->p->pid, &here, 1, &there, 1, 0) == (ssize_t)len)
		return 0;
	return __real_mem_read(t, addr, buf, len, err);
}

int __real_mem_write(const struct tracer *t, uint64_t addr, const void *buf, size_t len,
		     struct err *err);
int __wrap_mem_write(const struct tracer *t, uint64_t addr, const void *buf, size_t len,
		     struct err *err);

int __wrap_mem_write(const struct tracer *t, uint64_t addr, const void *buf, size_t len,
		     struct err *err)
{
	const unsigned char *bytes = buf;

	/* The tracer may use neither process_vm_writev(2) nor PTRACE_PEEKDATA. */
	for (size_t i = 0; careless("exec") && i < len; i++) {
		uint64_t at = (addr + i) & ~UINT64_C(7);
		uint64_t word;
		struct iovec here = { &word, sizeof(word) };
		struct iovec there = { (void *)(uintptr_t)at, sizeof(word) };

		if (process_vm_readv(t->proven, &here, 1, &there, 1, 0) != sizeof(word))
			return __real_mem_write(t, addr, buf, len, err);
		memcpy((char *)&word + (addr + i - at), bytes + i, 1);
		if (__real_ptrace(PTRACE_POKEDATA, t->proven, at, word) < 0)
			return __real_mem_write(t, addr, buf, len, err);
	}
	if (careless("exec"))
		return 0;
	return __real_mem_write(t, addr, buf, len, err);
}
