// SPDX-License-Identifier: Apache-2.0
/*
 * What the layers ask of the processor that is neither a matter of the injector
 * (injector/arch/arch.h), nor of decoding (jemalloc/arch/decode.h), nor of the kernel's half of
 * `watch` (bpf/arch/regs.h). ARCHITECTURE.md says what a port needs.
 *
 * Each of these folders has a header and, mostly, a source file for each processor. ARCH_HEADER
 * (Makefile) is the name of the header for the processor that is built for: the compiler finds it
 * in the folder of the file that includes it.
 */
#ifndef ARCH_MACHINE_H
#define ARCH_MACHINE_H

#include <elf.h>
#include <stdint.h>

#include ARCH_HEADER

/* What a dynamic linker puts where a relocation says, as far as it can be told from the file. */
enum arch_reloc {
	ARCH_RELOC_OTHER,
	ARCH_RELOC_BASE,   /* where the image is loaded, and the addend */
	ARCH_RELOC_ADDEND, /* the symbol's address, and the addend */
	ARCH_RELOC_SYMBOL, /* the symbol's address */
};
enum arch_reloc arch_reloc(uint64_t type);

/* The register that holds a function's i-th argument, counted from 1; "" for 0. Up to 4. */
const char *arch_arg_register(unsigned int i);

/*
 * The place in a program's thread-local storage of what lies at `offset` from the thread pointer.
 * The segment has `size` bytes, aligned to `align`.
 */
uint64_t arch_tls_place(int64_t offset, uint64_t size, uint64_t align);

#endif
