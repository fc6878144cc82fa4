// SPDX-License-Identifier: Apache-2.0
#include "base/pace.h"

#include "base/clock.h"

#include <sched.h>
#include <stdint.h>

void pace(void)
{
	static _Thread_local uint64_t waited_us;
	uint64_t began = now_us();

	if (waited_us > PACE_MAX_US)
		return;
	sched_yield();
	waited_us += now_us() - began;
}
