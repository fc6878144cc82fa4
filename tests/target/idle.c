// SPDX-License-Identifier: Apache-2.0
/*
 * idle BOARD [THREADS]: threads that block in one system call after another for some milliseconds
 * each, and hold some memory. It is ready when each has allocated: that is when jemalloc gives a
 * thread its arena, and it crashes if there is no memory for one. Nobody sends it signals, so each
 * EINTR is caused by a tracer.
 */
#include "tests/target/victim.h"

#include <errno.h>
#include <linux/futex.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/select.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define WAIT_MS 5
#define KEPT 256

static unsigned int threads = 1;
static atomic_uint n_begun;

static const struct timespec wait_ts = { .tv_nsec = WAIT_MS * 1000000L };

/* A call that must return `expected`; -1 means failure with `error`. */
static void expect(long got, long expected, int error, unsigned int line)
{
	if (got == -1 && errno == EINTR)
		victim_count(&board->eintr, line);
	else if (got != expected || (got == -1 && errno != error))
		victim_count(&board->failed, line);
}
#define EXPECT(call, value, error) expect((call), (value), (error), __LINE__)

static void wait_in_everything(int epoll, int event)
{
	struct pollfd pfd = { .fd = event, .events = POLLIN };
	struct epoll_event ev;
	struct timeval tv = { .tv_usec = WAIT_MS * 1000 };
	int word = 0;

	EXPECT(nanosleep(&wait_ts, NULL), 0, 0);
	EXPECT(poll(&pfd, 1, WAIT_MS), 0, 0);
	EXPECT(ppoll(&pfd, 1, &wait_ts, NULL), 0, 0);
	EXPECT(epoll_wait(epoll, &ev, 1, WAIT_MS), 0, 0);
	EXPECT(select(0, NULL, NULL, NULL, &tv), 0, 0);
	EXPECT(syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0, &wait_ts, NULL, 0), -1, ETIMEDOUT);
	/* clock_nanosleep() returns its error. */
	errno = clock_nanosleep(CLOCK_MONOTONIC, 0, &wait_ts, NULL);
	EXPECT(errno ? -1 : 0, 0, 0);
}

static void check_errno(void)
{
	errno = KEPT_ERRNO;
	for (volatile int i = 0; i < 1000; i++)
		;
	if (errno != KEPT_ERRNO)
		FOUND(corrupt);
}

static void check_kept(char **kept, unsigned int round)
{
	unsigned int i = round % KEPT;
	size_t size = 100 + i * 37;

	if (kept[i] && (kept[i][0] != (char)i || kept[i][size - 1] != (char)i))
		FOUND(corrupt);
	free(kept[i]);
	kept[i] = malloc(size);
	if (kept[i])
		memset(kept[i], (int)i, size);
	else
		FOUND(failed);
}

static void *work(void *arg)
{
	unsigned int id = (unsigned int)(uintptr_t)arg;
	int epoll = epoll_create1(EPOLL_CLOEXEC);
	int event = eventfd(0, EFD_CLOEXEC);
	char *kept[KEPT] = { NULL };

	if (epoll < 0 || event < 0)
		FOUND(failed);
	victim_altstack_set();
	for (unsigned int round = 0;; round++) {
		wait_in_everything(epoll, event);
		check_errno();
		check_kept(kept, round);
		if (round == 0 && atomic_fetch_add(&n_begun, 1) + 1 == threads)
			victim_ready(threads);
		victim_altstack_check();
		victim_beat(id);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	if (argc > 2)
		threads = (unsigned int)strtoul(argv[2], NULL, 10);
	if (argc < 2 || threads < 1 || threads > VICTIM_BEATS) {
		fprintf(stderr, "usage: idle BOARD [THREADS]\n");
		return 2;
	}
	victim_open(argv[1]);
	victim_threads(threads - 1, work);
	work(NULL);
}
