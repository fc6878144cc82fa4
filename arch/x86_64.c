// SPDX-License-Identifier: Apache-2.0
#include "arch/machine.h"

enum arch_reloc arch_reloc(uint64_t type)
{
	switch (type) {
	case R_X86_64_RELATIVE:
		return ARCH_RELOC_BASE;
	case R_X86_64_64:
		return ARCH_RELOC_ADDEND;
	case R_X86_64_GLOB_DAT:
	case R_X86_64_JUMP_SLOT:
		return ARCH_RELOC_SYMBOL;
	default:
		return ARCH_RELOC_OTHER;
	}
}

const char *arch_arg_register(unsigned int i)
{
	static const char *const names[] = { "", "rdi", "rsi", "rdx", "rcx" };

	return names[i < sizeof(names) / sizeof(*names) ? i : 0];
}

const char *arch_trace_register(unsigned int i)
{
	static const char *const names[] = { "", "di", "si", "dx", "cx" };

	return names[i < sizeof(names) / sizeof(*names) ? i : 0];
}

/* Variant II of the TLS ABI: the program's block ends at the thread pointer. */
uint64_t arch_tls_place(int64_t offset, uint64_t size, uint64_t align)
{
	return (uint64_t)offset + (size + align - 1) / align * align;
}
