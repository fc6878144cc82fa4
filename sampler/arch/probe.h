/* SPDX-License-Identifier: Apache-2.0 */
/*
 * SAMPLER_PROBE(name, semaphore, arguments, a, b, c): a probe location in the block, for a uprobe.
 * Its arguments are in the registers of a function's first three.
 */
#ifndef SAMPLER_ARCH_PROBE_H
#define SAMPLER_ARCH_PROBE_H

#include ARCH_HEADER

#endif
