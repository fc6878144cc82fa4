// SPDX-License-Identifier: Apache-2.0
/* Clocks that never go backward. */
#ifndef BASE_CLOCK_H
#define BASE_CLOCK_H

#include <stdint.h>

/* CLOCK_MONOTONIC. */
uint64_t now_ms(void);
uint64_t now_us(void);

/* The time left until `until_ms` of now_ms(), as poll(2) takes it; 0 if it has passed. */
int ms_until(uint64_t until_ms);

/* CLOCK_BOOTTIME, the clock of process start times. */
uint64_t now_boot_ns(void);

#endif
