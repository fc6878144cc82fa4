// SPDX-License-Identifier: Apache-2.0
/* A library for LD_PRELOAD, which allocates in a function whose name only its file has. */
#include <stdlib.h>

char *volatile held;

static __attribute__((noinline, constructor)) void hold_in_library(void)
{
	for (int i = 0; i < 500; i++)
		held = malloc(3000);
}
