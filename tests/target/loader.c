// SPDX-License-Identifier: Apache-2.0
/* loader BOARD LIBRARY...: loads libraries while it runs, and does nothing else, in peace. */
#include "tests/target/victim.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static void *rest(void *arg)
{
	const struct timespec ts = { .tv_nsec = 5000000 };
	volatile char *first = malloc(1);

	/* The C library's heap of this thread is there before anybody looks. */
	if (first)
		*first = 0;
	for (;;) {
		if (nanosleep(&ts, NULL) != 0)
			FOUND(eintr);
		victim_beat((unsigned int)(uintptr_t)arg);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t thread;

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
	if (pthread_create(&thread, NULL, rest, (void *)1) != 0)
		return 2;
	victim_ready(2);
	rest(NULL);
}
