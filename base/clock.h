// SPDX-License-Identifier: Apache-2.0
/* What the clocks say that only go forward. */
#ifndef BASE_CLOCK_H
#define BASE_CLOCK_H

#include <stdint.h>

/* CLOCK_MONOTONIC. */
uint64_t now_ms(void);
uint64_t now_us(void);

/* The time until then, of now_ms(), as poll(2) takes it; 0 if it has passed. */
int ms_until(uint64_t until_ms);

/* CLOCK_BOOTTIME: the start of a process counts by it. */
uint64_t now_boot_ns(void);

#endif
