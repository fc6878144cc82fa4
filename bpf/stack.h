/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only OR BSD-2-Clause */
/*
 * The registers of a thread in a probe, and a copy of its stack, to walk its frames later. In eBPF
 * programs also:
 *
 * 	stack_copy(ctx, to) fill it
 */
#ifndef BPF_STACK_H
#define BPF_STACK_H

#include "bpf/arch/regs.h"

#include <linux/types.h>

#define STACK_COPY_SIZE 16384
#define STACK_COPY_STEP 1024

struct stack_copy {
	__u64 regs[PROBE_REGS]; /* in the order of their DWARF numbers */
	__u64 len;		/* of `bytes`, from the stack pointer up; 0: unreadable */
	unsigned char bytes[STACK_COPY_SIZE];
};

#ifdef __bpf__
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

/* In steps aligned within pages, to read up to the end of the last mapped page. */
static __always_inline void stack_copy(const struct pt_regs *ctx, struct stack_copy *to)
{
	const __u64 sp = PT_REGS_SP(ctx);
	__u32 at = STACK_COPY_STEP - (sp & (STACK_COPY_STEP - 1));

	probe_read_regs(ctx, to->regs);
	to->len = 0;
	if (bpf_probe_read_user(to->bytes, at, (const void *)sp))
		return;
	to->len = at;
	for (int i = 1; i < STACK_COPY_SIZE / STACK_COPY_STEP; i++) {
		if (bpf_probe_read_user(to->bytes + at, STACK_COPY_STEP, (const void *)(sp + at)))
			break;
		at += STACK_COPY_STEP;
		to->len = at;
	}
}
#endif

#endif
