/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only OR BSD-2-Clause */
/*
 * The registers of a thread in a probe, as its unwinding needs them: PROBE_REGS of them, in the
 * order of their DWARF numbers. In the kernel's half also:
 *
 *	probe_read_regs(ctx, regs)	all of them
 *	probe_caller(ctx)		where the function that was just entered returns to
 */
#ifndef BPF_ARCH_REGS_H
#define BPF_ARCH_REGS_H

#include ARCH_HEADER

#endif
