// SPDX-License-Identifier: Apache-2.0
/*
 * A program that contains jemalloc's strings, and a function that it calls with
 * the names of mallctl, but no jemalloc.
 *
 *	words BOARD
 */
#include "tests/target/victim.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

const char message[] = "<jemalloc>: Error";
const char version[] = "5.3.0-0-g54eaed1d8b56b1aa528be3bdd1877e59c56fa90c";
static volatile size_t asked;

__attribute__((noinline)) static int ask(const char *name, void *old)
{
	asked += strlen(name) + !old;
	return 0;
}

int main(int argc, char **argv)
{
	const struct timespec nap = { .tv_nsec = 10 * 1000000L };
	int old;

	if (argc < 2)
		return 2;
	victim_open(argv[1]);
	ask("opt.abort", &old);
	ask("opt.narenas", &old);
	ask("opt.dss", &old);
	ask("opt.stats_print", &old);
	ask("opt.prof", &old);
	ask("opt.prof_prefix", &old);
	ask("stats.allocated", &old);
	ask("stats.active", &old);
	ask("arenas.quantum", &old);
	puts(message);
	puts(version);
	victim_ready(1);
	for (;;) {
		nanosleep(&nap, NULL);
		victim_beat(0);
	}
}
