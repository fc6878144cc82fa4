// SPDX-License-Identifier: Apache-2.0
/*
 * cramped BOARD [THREADS]: allocates once and then never again, so that no allocation of its own
 * can fail because of a limit; with threads that nap and never call jemalloc.
 */
#include "tests/target/victim.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
	unsigned int threads = argc > 2 ? (unsigned int)strtoul(argv[2], NULL, 10) : 0;
	char *volatile kept = malloc(100);

	if (argc < 2 || threads >= VICTIM_BEATS || !kept) {
		fprintf(stderr, "usage: cramped BOARD [THREADS]\n");
		return 2;
	}
	victim_open(argv[1]);
	victim_threads(threads, victim_rest);
	victim_ready(threads + 1);
	victim_rest((void *)(uintptr_t)0);
}
