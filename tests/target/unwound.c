// SPDX-License-Identifier: Apache-2.0
/*
 * unwound BOARD TABLES: a single-threaded program that naps below a function whose frame contains
 * an address in jemalloc, so that its stack has to be walked to borrow the thread. TABLES are the
 * unwind tables of that function: honest, none, or endless, which loops forever in a DWARF
 * expression.
 */
#include "tests/target/victim.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAP_MS 20

void nap(void);
_Noreturn void naps_honest(void), naps_none(void), naps_endless(void);

void nap(void)
{
	victim_nap(NAP_MS);
	victim_beat(0);
}

/* FRAME is how to find the caller's frame, in .cfi directives. */
#define NAPS(name, start, frame, end)                                                  \
	asm(".pushsection .text\n"                                                     \
	    ".globl " name "\n"                                                        \
	    ".type " name ", @function\n" name ":\n" start "	sub $24, %rsp\n" frame \
	    "	mov mallctl@GOTPCREL(%rip), %rax\n"                                      \
	    "	add $4, %rax\n"                                                          \
	    "	mov %rax, (%rsp)\n"                                                      \
	    "1:	call nap\n"                                                            \
	    "	jmp 1b\n" end ".size " name ", . - " name "\n"                         \
	    ".popsection\n")

NAPS("naps_honest", ".cfi_startproc\n", ".cfi_adjust_cfa_offset 24\n", ".cfi_endproc\n");
NAPS("naps_none", "", "", "");
/* DW_CFA_def_cfa_expression: DW_OP_skip, to itself */
NAPS("naps_endless", ".cfi_startproc\n", ".cfi_escape 0x0f, 3, 0x2f, 0xfd, 0xff\n",
     ".cfi_endproc\n");

int main(int argc, char **argv)
{
	if (argc != 3) {
		fprintf(stderr, "usage: unwound BOARD honest|none|endless\n");
		return 2;
	}
	victim_open(argv[1]);
	free(malloc(1));
	victim_ready(1);
	if (!strcmp(argv[2], "endless"))
		naps_endless();
	if (!strcmp(argv[2], "none"))
		naps_none();
	naps_honest();
}
