/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only OR BSD-2-Clause */
/*
 * The registers of a thread in a probe, for unwinding: PROBE_REGS of them, in the order of their
 * DWARF numbers. In eBPF programs also:
 *
 * 	probe_read_regs(ctx, regs)	all of them
 * 	probe_read_reg(ctx, number)	one of them
 * 	probe_caller(ctx)		return address of the function that was just entered
 */
#ifndef BPF_ARCH_REGS_H
#define BPF_ARCH_REGS_H

#include ARCH_HEADER

#endif
