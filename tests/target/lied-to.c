// SPDX-License-Identifier: Apache-2.0
/* lied-to BOARD [NAME]: links with liar.c's library, takes a name, and does nothing, in peace. */
#include "tests/target/victim.h"

#include <pthread.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <time.h>

static void *rest(void *arg)
{
	const struct timespec ts = { .tv_nsec = 5000000 };

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
		fprintf(stderr, "usage: lied-to BOARD [NAME]\n");
		return 2;
	}
	if (argc > 2)
		prctl(PR_SET_NAME, argv[2]);
	victim_open(argv[1]);
	if (pthread_create(&thread, NULL, rest, (void *)1) != 0)
		return 2;
	victim_ready(2);
	rest(NULL);
}
