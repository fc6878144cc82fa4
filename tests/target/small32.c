// SPDX-License-Identifier: Apache-2.0
/*
 * A 32-bit program that waits, without a C library, so that building it needs no 32-bit packages.
 */
void _start(void);

void _start(void)
{
	for (;;) {
		int nr = 29; /* pause(2) on i386 */

		__asm__ volatile("int $0x80" : "+a"(nr) : : "memory");
	}
}
