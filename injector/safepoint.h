// SPDX-License-Identifier: Apache-2.0
/* Private to injector/: may this stopped thread be borrowed? */
#ifndef INJECTOR_SAFEPOINT_H
#define INJECTOR_SAFEPOINT_H

#include "injector/tracer.h"

/* 0: yes; -1: no, and err says why (ERR_UNSAFE). */
int safepoint_check(const struct tracer *t, pid_t tid, const struct arch_regs *regs,
		    struct err *err) __must_check;

/* unwind.c: walk the frames, exactly. 0 when the whole stack is known and harmless. */
int unwind_check(const struct tracer *t, const struct arch_regs *regs, const unsigned char *stack,
		 uint64_t stack_addr, size_t stack_len, struct err *err) __must_check;

#endif
