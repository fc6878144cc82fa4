// SPDX-License-Identifier: Apache-2.0
/* Private to injector/arch/arch.h. */
#ifndef INJECTOR_ARCH_X86_64_H
#define INJECTOR_ARCH_X86_64_H

#include <stddef.h>
#include <sys/user.h>

struct arch_regs {
	struct user_regs_struct r;
};

#define ARCH_RED_ZONE 128
#define ARCH_XSTATE_MAX (32 * 1024) /* AMX needs 11008 bytes */
#define ARCH_SYSCALL_INSN 2
#define ARCH_SYSCALL_CODE 7
#define ARCH_STORE_MAX 5
#define ARCH_LOAD_LEN 2
#define ARCH_CHAIN_MAX 5
#define ARCH_CALL_CODE 8
#define ARCH_RESTORER_LEN 9
#define ARCH_UCONTEXT_SIZE 304
#define ARCH_SIGNAL_FRAME_SIZE 240
#define ARCH_ERRNO_AT_CODE 14
#define ARCH_ERRNO_BEFORE 7
#define ARCH_ERRNO_CODE 17

/* musl's struct pthread, in bytes: these have been there since 1.1.20. */
#define MUSL_TID 48
#define MUSL_ERRNO 52
#define MUSL_CANCEL 60
#define MUSL_MAP_BASE 72 /* then map_size, stack, stack_size, guard_size */

#endif
