// SPDX-License-Identifier: Apache-2.0
#include "base/clock.h"

#include <time.h>

static uint64_t now_ns(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

uint64_t now_ms(void)
{
	return now_ns(CLOCK_MONOTONIC) / 1000000;
}

uint64_t now_us(void)
{
	return now_ns(CLOCK_MONOTONIC) / 1000;
}

uint64_t now_boot_ns(void)
{
	return now_ns(CLOCK_BOOTTIME);
}
