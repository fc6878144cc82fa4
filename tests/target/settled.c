// SPDX-License-Identifier: Apache-2.0
/*
 * settled BOARD CALL: three threads that never call jemalloc, forever in pause(2), and the first
 * one, which did, in CALL: nanosleep, for a day, or write, forever and half complete. No thread
 * needs a CPU.
 */
#include "tests/target/victim.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static void *settle(void *number)
{
	(void)number;
	for (;;) {
		pause();
		FOUND(failed);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	static char more[1 << 20]; /* than a pipe holds */
	char *volatile kept = malloc(100);
	int pipes[2];

	if (argc < 3 || !kept || pipe(pipes) < 0) {
		fprintf(stderr, "usage: settled BOARD CALL\n");
		return 2;
	}
	victim_open(argv[1]);
	victim_threads(3, settle);
	victim_ready(0);
	if (!strcmp(argv[2], "nanosleep"))
		nanosleep(&(struct timespec){ .tv_sec = 86400 }, NULL);
	else
		(void)!write(pipes[1], more, sizeof(more));
	FOUND(failed); /* it returned */
	settle(NULL);
}
