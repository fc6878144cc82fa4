// SPDX-License-Identifier: Apache-2.0
/*
 * Properties of the processor other than those for the injector (injector/arch/arch.h), for
 * decoding (jemalloc/arch/decode.h), and for eBPF programs (bpf/arch/regs.h). ARCHITECTURE.md says
 * what a port needs.
 *
 * Each of these directories has a header and usually a source file for each processor. ARCH_HEADER
 * (Makefile) is the name of the header for the target processor: the compiler finds it in the
 * directory of the file that includes it.
 */
#ifndef ARCH_MACHINE_H
#define ARCH_MACHINE_H

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include ARCH_HEADER

/* What a dynamic linker stores for a relocation, as far as the file determines it. */
enum arch_reloc {
	ARCH_RELOC_OTHER,
	ARCH_RELOC_BASE,   /* load address plus addend */
	ARCH_RELOC_ADDEND, /* symbol address plus addend */
	ARCH_RELOC_SYMBOL, /* symbol address */
};
enum arch_reloc arch_reloc(uint64_t type);

/* The register of a function's i-th argument, counted from 1 to 4; "" for 0. */
const char *arch_arg_register(unsigned int i);

/* The same, as in tracefs (the kernel's trace/uprobetracer.rst). */
const char *arch_trace_register(unsigned int i);

/*
 * The DWARF number of an integer register or a part of one at its low end, as an assembler names it
 * without "%"; false if there is none.
 */
bool arch_register(const char *name, size_t len, unsigned int *number);

/* Where an instruction has a value. */
enum arch_operand_kind { ARCH_CONSTANT, ARCH_REGISTER, ARCH_MEMORY, ARCH_OPERAND_KINDS };
struct arch_operand {
	enum arch_operand_kind kind;
	unsigned int reg; /* its DWARF number */
	int64_t value;	  /* the constant, or what is added to the register to get the address */
};

/*
 * Read an operand of these kinds as an assembler writes it, and move `*text` behind it. False for
 * any other.
 */
bool arch_read_operand(const char **text, struct arch_operand *out);

/* Does the code begin with an instruction that does nothing? */
bool arch_is_nop(const unsigned char *code, size_t len);

/*
 * The position in a program's TLS segment of the data at `offset` from the thread pointer. The
 * segment has `size` bytes, aligned to `align`.
 */
uint64_t arch_tls_place(int64_t offset, uint64_t size, uint64_t align);

#endif
