// SPDX-License-Identifier: Apache-2.0
#include "base/pace.h"

#include <sched.h>
#include <stdint.h>
#include <time.h>

static int64_t now_us(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (int64_t)ts.tv_sec * 1000000 + ts.tv_nsec / 1000;
}

void pace(void)
{
	static int64_t waited_us;
	int64_t began = now_us();

	if (waited_us > PACE_MAX_US)
		return;
	sched_yield();
	waited_us += now_us() - began;
}
