// SPDX-License-Identifier: Apache-2.0
#ifndef JEMALLOC_ARCH_X86_64_H
#define JEMALLOC_ARCH_X86_64_H

/* As the instruction set numbers them. */
enum insn_reg { INSN_RAX, INSN_RCX, INSN_RDX, INSN_RBX, INSN_RSP, INSN_RBP, INSN_RSI, INSN_RDI };
#define DECODE_REGS 16

#define INSN_ARG_1 INSN_RDI
#define INSN_ARG_2 INSN_RSI
#define INSN_ARG_3 INSN_RDX
#define INSN_ARG_4 INSN_RCX
#define INSN_SYSCALL_NR INSN_RAX

#define DECODE_BACK_MIN 1
#define DECODE_BACK_MAX 4

#endif
