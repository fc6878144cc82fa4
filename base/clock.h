// SPDX-License-Identifier: Apache-2.0
/* Clocks that never go backward. */
#ifndef BASE_CLOCK_H
#define BASE_CLOCK_H

#include <limits.h>
#include <stdint.h>

/* CLOCK_MONOTONIC. */
uint64_t now_ms(void);
uint64_t now_us(void);

/*
 * The time left until `until_ms` of now_ms(), as poll(2) takes it; 0 if it has passed. Inline, so
 * that a clock of the tests counts here, too.
 */
static inline int ms_until(uint64_t until_ms)
{
	uint64_t now = now_ms(), left = until_ms > now ? until_ms - now : 0;

	return left < INT_MAX ? (int)left : INT_MAX;
}

/* CLOCK_BOOTTIME, the clock of process start times. */
uint64_t now_boot_ns(void);

#endif
