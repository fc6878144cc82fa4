/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SAMPLER_ARCH_X86_64_H
#define SAMPLER_ARCH_X86_64_H

/*
 * A probe with three arguments in the registers of a function's first three, and its note with the
 * description of `arguments` and the address of `semaphore` (SystemTap wiki,
 * UserSpaceProbeImplementation; readelf -n). The kernel emulates this nop instead of
 * single-stepping it (arch/x86/kernel/uprobes.c).
 */
#define SAMPLER_PROBE(name, semaphore, arguments, a, b, c)                                     \
	__asm__ volatile("sampler_" name "_probe: .hidden sampler_" name "_probe\n"            \
			 ".globl sampler_" name "_probe\n"                                     \
			 "nop\n"                                                               \
			 ".pushsection .note.stapsdt, \"\", \"note\"\n"                        \
			 ".balign 4\n"                                                         \
			 ".4byte 992f - 991f, 994f - 993f, 3\n"                                \
			 "991: .asciz \"stapsdt\"\n"                                           \
			 "992: .balign 4\n"                                                    \
			 "993: .8byte sampler_" name "_probe, _.stapsdt.base, " semaphore "\n" \
			 ".asciz \"otel_memory\", \"" name "\", \"" arguments "\"\n"           \
			 "994: .balign 4\n"                                                    \
			 ".popsection\n"                                                       \
			 :                                                                     \
			 : "D"(a), "S"(b), "d"(c)                                              \
			 : "memory")

/* An instruction that no thread executes: a uprobe on it only adds 1 to its semaphore. */
#define SAMPLER_HOLD(name)                                               \
	__asm__(".pushsection .text\n"                                   \
		"sampler_" name "_hold: .hidden sampler_" name "_hold\n" \
		".globl sampler_" name "_hold\n"                         \
		"nop\n"                                                  \
		"ud2\n"                                                  \
		".popsection\n")

#define sampler_pause() __builtin_ia32_pause()

#define SAMPLER_ALLOC_ARGUMENTS "8@%%rdi 8@%%rsi 8@%%rdx"
#define SAMPLER_FREE_ARGUMENTS "8@%%rdi"

#endif
