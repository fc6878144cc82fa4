// SPDX-License-Identifier: Apache-2.0
#ifndef ARCH_X86_64_H
#define ARCH_X86_64_H

#define ARCH_NAME "x86-64"
#define ARCH_ELF_MACHINE EM_X86_64
#define ARCH_AUDIT AUDIT_ARCH_X86_64 /* <linux/audit.h>: the architecture in seccomp filters */

/* In the order of their DWARF numbers: rax rdx rcx rbx rsi rdi rbp rsp r8 ... r15 rip. */
#define ARCH_DWARF_REGS 17

/* A thread with a shadow stack has this word on this line of /proc/PID/status (Linux 6.6). */
#define ARCH_FEATURES "x86_Thread_features"
#define ARCH_SHADOW_STACK "shstk"

#endif
