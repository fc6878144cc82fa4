// SPDX-License-Identifier: Apache-2.0
/* Private to injector/: may this stopped thread be borrowed? */
#ifndef INJECTOR_SAFEPOINT_H
#define INJECTOR_SAFEPOINT_H

#include "injector/tracer.h"

/* 0: yes; -1: no, and err says why (ERR_UNSAFE). */
int safepoint_check(struct tracer *t, pid_t tid, const struct arch_regs *regs, struct err *err)
	__must_check;

#endif
