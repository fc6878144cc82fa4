/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only OR BSD-2-Clause */
#ifndef BPF_ARCH_X86_64_H
#define BPF_ARCH_X86_64_H

#define PROBE_REGS 17

#ifdef __bpf__
#include <linux/ptrace.h>
#include <stddef.h>

static __always_inline void probe_read_regs(const struct pt_regs *ctx, __u64 to[PROBE_REGS])
{
	const __u64 regs[PROBE_REGS] = { ctx->rax, ctx->rdx, ctx->rcx, ctx->rbx, ctx->rsi, ctx->rdi,
					 ctx->rbp, ctx->rsp, ctx->r8,  ctx->r9,	 ctx->r10, ctx->r11,
					 ctx->r12, ctx->r13, ctx->r14, ctx->r15, ctx->rip };

	__builtin_memcpy(to, regs, sizeof(regs));
}

/* Where a register is in struct pt_regs, by its DWARF number. */
static const __u32 probe_reg_at[PROBE_REGS] = {
	offsetof(struct pt_regs, rax), offsetof(struct pt_regs, rdx), offsetof(struct pt_regs, rcx),
	offsetof(struct pt_regs, rbx), offsetof(struct pt_regs, rsi), offsetof(struct pt_regs, rdi),
	offsetof(struct pt_regs, rbp), offsetof(struct pt_regs, rsp), offsetof(struct pt_regs, r8),
	offsetof(struct pt_regs, r9),  offsetof(struct pt_regs, r10), offsetof(struct pt_regs, r11),
	offsetof(struct pt_regs, r12), offsetof(struct pt_regs, r13), offsetof(struct pt_regs, r14),
	offsetof(struct pt_regs, r15), offsetof(struct pt_regs, rip)
};

/* One register; any number is safe. */
static __always_inline __u64 probe_read_reg(struct pt_regs *ctx, __u32 number)
{
	__u64 value = 0;

	if (number < PROBE_REGS)
		bpf_probe_read_kernel(&value, sizeof(value),
				      (const void *)ctx + probe_reg_at[number]);
	return value;
}

/* 0 if it cannot be read. */
static __always_inline __u64 probe_caller(const struct pt_regs *ctx)
{
	__u64 caller = 0;

	bpf_probe_read_user(&caller, sizeof(caller), (const void *)ctx->rsp);
	return caller;
}
#endif

#endif
