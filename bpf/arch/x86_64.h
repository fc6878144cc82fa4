/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only OR BSD-2-Clause */
#ifndef BPF_ARCH_X86_64_H
#define BPF_ARCH_X86_64_H

#define PROBE_REGS 17

#ifdef __bpf__
#include <linux/ptrace.h>

static __always_inline void probe_read_regs(const struct pt_regs *ctx, __u64 to[PROBE_REGS])
{
	const __u64 regs[PROBE_REGS] = { ctx->rax, ctx->rdx, ctx->rcx, ctx->rbx, ctx->rsi, ctx->rdi,
					 ctx->rbp, ctx->rsp, ctx->r8,  ctx->r9,	 ctx->r10, ctx->r11,
					 ctx->r12, ctx->r13, ctx->r14, ctx->r15, ctx->rip };

	__builtin_memcpy(to, regs, sizeof(regs));
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
