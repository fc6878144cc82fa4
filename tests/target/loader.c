// SPDX-License-Identifier: Apache-2.0
/* loader BOARD LIBRARY...: loads libraries while it runs, and otherwise only naps. */
#include "tests/target/victim.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

static void *rest(void *arg)
{
	volatile char *first = malloc(1);

	/* Create this thread's heap in the C library before anybody looks. */
	if (first)
		*first = 0;
	return victim_rest(arg);
}

int main(int argc, char **argv)
{
	if (argc < 2) {
		fprintf(stderr, "usage: loader BOARD LIBRARY...\n");
		return 2;
	}
	victim_open(argv[1]);
	for (int i = 2; i < argc; i++) {
		if (!dlopen(argv[i], RTLD_NOW | RTLD_LOCAL)) {
			fprintf(stderr, "%s\n", dlerror());
			return 2;
		}
	}
	victim_threads(1, rest);
	victim_ready(2);
	rest(NULL);
}
