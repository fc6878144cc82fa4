// SPDX-License-Identifier: Apache-2.0
#include "arch/machine.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

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

bool arch_register(const char *name, size_t len, unsigned int *number)
{
	/* In the order of their DWARF numbers. */
	static const char *const names[][4] = {
		{ "rax", "eax", "ax", "al" },	   { "rdx", "edx", "dx", "dl" },
		{ "rcx", "ecx", "cx", "cl" },	   { "rbx", "ebx", "bx", "bl" },
		{ "rsi", "esi", "si", "sil" },	   { "rdi", "edi", "di", "dil" },
		{ "rbp", "ebp", "bp", "bpl" },	   { "rsp", "esp", "sp", "spl" },
		{ "r8", "r8d", "r8w", "r8b" },	   { "r9", "r9d", "r9w", "r9b" },
		{ "r10", "r10d", "r10w", "r10b" }, { "r11", "r11d", "r11w", "r11b" },
		{ "r12", "r12d", "r12w", "r12b" }, { "r13", "r13d", "r13w", "r13b" },
		{ "r14", "r14d", "r14w", "r14b" }, { "r15", "r15d", "r15w", "r15b" },
	};

	for (unsigned int i = 0; i < sizeof(names) / sizeof(*names); i++) {
		for (int k = 0; k < 4; k++) {
			if (strlen(names[i][k]) != len || memcmp(names[i][k], name, len) != 0)
				continue;
			*number = i;
			return true;
		}
	}
	return false;
}

/* "%rdi" */
static bool read_register(const char **text, unsigned int *number)
{
	size_t len;

	if (**text != '%')
		return false;
	len = strspn(*text + 1, "abcdefghijklmnopqrstuvwxyz0123456789");
	if (!arch_register(*text + 1, len, number))
		return false;
	*text += 1 + len;
	return true;
}

static bool read_number(const char **text, int64_t *value)
{
	char *end;

	errno = 0;
	*value = strtoll(*text, &end, 0);
	if (end == *text || errno)
		return false;
	*text = end;
	return true;
}

/* "$5", "%rdi", "-20(%rbp)", "(%rbp)" */
bool arch_read_operand(const char **text, struct arch_operand *out)
{
	*out = (struct arch_operand){ .kind = ARCH_CONSTANT };
	if (**text == '$') {
		++*text;
		return read_number(text, &out->value);
	}
	out->kind = ARCH_REGISTER;
	if (**text == '%')
		return read_register(text, &out->reg);
	out->kind = ARCH_MEMORY;
	if ((**text != '(' && !read_number(text, &out->value)) || *(*text)++ != '(')
		return false;
	return read_register(text, &out->reg) && *(*text)++ == ')';
}

/* "NOP" in the manual: 90, and 0f 1f with an operand; either may have prefixes of operand size. */
bool arch_is_nop(const unsigned char *code, size_t len)
{
	size_t i = 0;

	while (i < len && (code[i] == 0x66 || code[i] == 0x2e))
		i++;
	if (i < len && code[i] == 0x90)
		return true;
	return i + 2 < len && code[i] == 0x0f && code[i + 1] == 0x1f && !(code[i + 2] & 0x38);
}

/* Variant II of the TLS ABI: the program's block ends at the thread pointer. */
uint64_t arch_tls_place(int64_t offset, uint64_t size, uint64_t align)
{
	return (uint64_t)offset + (size + align - 1) / align * align;
}
