// SPDX-License-Identifier: Apache-2.0
/*
 * crowd BOARD THREADS [churn|ending|stuck [N]]: that many threads, named crowd-1 and so on, which
 * nap and hold some memory. With `churn`, the main thread creates one more thread after another,
 * each of which lives for some milliseconds; with `ending`, these threads take a while to exit
 * after jemalloc has cleaned up their data; with `stuck`, there are N more threads (1), which start
 * before the others and write to a full pipe forever, where they cannot be stopped transparently.
 */
#include "tests/target/victim.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define KEPT 16
#define SIZE 2000
#define MANY 4096

static _Atomic long settled; /* threads that hold all that they will ever hold */

static void replace(char **kept, size_t i)
{
	if (kept[i] && (kept[i][0] != (char)i || kept[i][SIZE - 1] != (char)i))
		FOUND(corrupt);
	free(kept[i]);
	kept[i] = malloc(SIZE);
	if (kept[i])
		memset(kept[i], (int)i, SIZE);
	else
		FOUND(failed);
}

static void *stay(void *arg)
{
	unsigned int id = (unsigned int)(uintptr_t)arg;
	char *kept[KEPT] = { NULL }, name[16];

	snprintf(name, sizeof(name), "crowd-%u", id);
	pthread_setname_np(pthread_self(), name);
	for (size_t round = 0;; round++) {
		victim_nap(20);
		replace(kept, round % KEPT);
		victim_beat(id % VICTIM_BEATS);
		if (round == KEPT)
			atomic_fetch_add(&settled, 1);
	}
	return NULL;
}

static void *come_and_go(void *arg)
{
	char *kept[KEPT] = { NULL };

	(void)arg;
	replace(kept, 1);
	victim_nap(3);
	replace(kept, 1);
	free(kept[1]);
	return NULL;
}

/* Destructors run in the order in which their keys were created, and jemalloc's is older. */
static void linger(void *arg)
{
	(void)arg;
	victim_nap(400);
}

static void *end_slowly(void *key)
{
	char *kept[KEPT] = { NULL };

	replace(kept, 1);
	if (pthread_setspecific(*(pthread_key_t *)key, &settled) != 0)
		FOUND(failed);
	free(kept[1]);
	return NULL;
}

static void make_ending(void)
{
	static pthread_key_t key;
	static bool made;

	if (!made && pthread_key_create(&key, linger) != 0)
		FOUND(failed);
	made = true;
	if (victim_detached(end_slowly, &key) != 0)
		FOUND(failed);
	victim_nap(200);
}

static void churn(void)
{
	if (victim_detached(come_and_go, NULL) != 0)
		FOUND(failed);
	victim_nap(2);
}

static int full[2]; /* a pipe */

static void *get_stuck(void *arg)
{
	static const char page[4096];

	(void)arg;
	pthread_setname_np(pthread_self(), "stuck");
	while (write(full[1], page, sizeof(page)) > 0)
		;
	FOUND(failed);
	return NULL;
}

int main(int argc, char **argv)
{
	long threads = argc > 2 ? strtol(argv[2], NULL, 10) : 0;
	const char *how = argc > 3 ? argv[3] : "";
	long stuck = strcmp(how, "stuck") ? 0 : argc > 4 ? strtol(argv[4], NULL, 10) : 1;
	pthread_t thread;

	if (threads < 1 || threads > MANY || stuck > MANY || pipe(full) != 0) {
		fprintf(stderr, "usage: crowd BOARD THREADS [churn|ending|stuck [N]]\n");
		return 2;
	}
	victim_open(argv[1]);
	for (long i = 1; i <= stuck; i++)
		if (pthread_create(&thread, NULL, get_stuck, NULL) != 0)
			return 2;
	for (long i = 1; i <= threads; i++)
		if (pthread_create(&thread, NULL, stay, (void *)i) != 0)
			return 2;
	while (atomic_load(&settled) < threads)
		victim_nap(5);
	victim_ready(threads < VICTIM_BEATS ? (unsigned int)threads + 1 : VICTIM_BEATS);
	for (;;) {
		victim_beat(0);
		if (strcmp(how, "churn") == 0)
			churn();
		else if (strcmp(how, "ending") == 0)
			make_ending();
		else
			victim_nap(20);
	}
}
