// SPDX-License-Identifier: Apache-2.0
#include "tests/target/victim.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

struct board *board;

#ifdef CONF_NAME
/* A jemalloc built with a prefix contains its variable's name; one renamed afterwards does not. */
extern const char victim_conf_name[];
const char victim_conf_name[] = CONF_NAME;
#endif

static _Thread_local char altstack[65536];

void victim_open(const char *name)
{
	int fd = strncmp(name, "fd:", 3) == 0 ? (int)strtol(name + 3, NULL, 10)
					      : open(name, O_RDWR | O_CLOEXEC);

	if (fd < 0 || ftruncate(fd, sizeof(*board)) != 0) {
		perror(name);
		exit(2);
	}
	board = mmap(NULL, sizeof(*board), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (board == MAP_FAILED) {
		perror(name);
		exit(2);
	}
	close(fd);
}

void victim_threads(unsigned int n, void *(*work)(void *number))
{
	pthread_t thread;

	for (uintptr_t i = 1; i <= n; i++) {
		if (pthread_create(&thread, NULL, work, (void *)i) != 0) {
			fprintf(stderr, "no thread %zu could be made\n", (size_t)i);
			exit(2);
		}
	}
}

void victim_ready(unsigned int threads)
{
	board->threads = threads;
	__atomic_store_n(&board->ready, (uint64_t)getpid(), __ATOMIC_SEQ_CST);
}

void victim_count(uint64_t *counter, unsigned int line)
{
	board->where = line;
	__atomic_fetch_add(counter, 1, __ATOMIC_SEQ_CST);
}

void victim_beat(unsigned int i)
{
	__atomic_fetch_add(&board->beats[i], 1, __ATOMIC_RELAXED);
}

void victim_nap(unsigned int ms)
{
	const struct timespec ts = { .tv_nsec = ms * 1000000L };

	errno = KEPT_ERRNO;
	if (nanosleep(&ts, NULL) < 0)
		victim_count(errno == EINTR ? &board->eintr : &board->failed, __LINE__);
	else if (errno != KEPT_ERRNO)
		FOUND(corrupt);
}

void *victim_rest(void *number)
{
	for (;;) {
		victim_nap(5);
		victim_beat((unsigned int)(uintptr_t)number);
	}
	return NULL;
}

int victim_detached(void *(*work)(void *), void *arg)
{
	pthread_attr_t attr;
	pthread_t thread;
	int ret;

	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	ret = pthread_create(&thread, &attr, work, arg);
	pthread_attr_destroy(&attr);
	return ret;
}

void victim_altstack_set(void)
{
	stack_t ss = { .ss_sp = altstack, .ss_size = sizeof(altstack) };

	if (sigaltstack(&ss, NULL) != 0)
		FOUND(failed);
}

void victim_altstack_check(void)
{
	stack_t ss;

	if (sigaltstack(NULL, &ss) != 0 || ss.ss_sp != altstack || ss.ss_size != sizeof(altstack) ||
	    ss.ss_flags != 0)
		FOUND(altstack);
}
