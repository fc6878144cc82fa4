// SPDX-License-Identifier: Apache-2.0
/*
 * death BOARD KIND: programs whose threads and children come, go and cannot be reached.
 *
 *	forks	one thread naps, one forks; some of the children stay for a while
 *	leaks	the same with an open memory file of its own, which a test must find
 *	vforks	one thread naps, one calls vfork(2) without end
 *	vfork	the only thread is in vfork(2) until board->reserved is set
 *	vfork2	like vfork, with another thread that naps
 *	spawn	threads that create threads that create threads
 *	leader	the main thread has ended, two others go on
 *	defer	a cancellation is pending on a thread that reads standard input
 *	disable	the same, of the asynchronous type, and cancellation is disabled
 */
#include "tests/target/victim.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define STAY_EVERY 4
#define STAYING 16
#define ALIVE_MAX 32

static void touch_heap(void)
{
	char *p = malloc(300);

	if (!p) {
		FOUND(failed);
		return;
	}
	memset(p, 7, 300);
	if (p[0] != 7 || p[299] != 7)
		FOUND(corrupt);
	free(p);
}

static void *nap_for_ever(void *arg)
{
	for (;;) {
		victim_nap(2);
		touch_heap();
		victim_beat((unsigned int)(uintptr_t)arg);
	}
	return NULL;
}

static void start(void *(*work)(void *), uintptr_t arg)
{
	if (victim_detached(work, (void *)arg) != 0)
		exit(2);
}

/* --- children -------------------------------------------------------------------------- */

static void reap(pid_t child, int wanted)
{
	int status;

	if (waitpid(child, &status, 0) == child) {
		if (status != wanted)
			FOUND(corrupt);
	} else if (errno == EINTR) {
		FOUND(eintr);
	} else {
		FOUND(failed);
	}
}

static void stay(void)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (;;)
		pause();
}

static void *forks(void *arg)
{
	static pid_t staying[STAYING];

	for (unsigned int i = 0;; i++) {
		pid_t *slot = &staying[i / STAY_EVERY % STAYING], child = fork();

		if (child == 0 && i % STAY_EVERY == 0)
			stay();
		if (child == 0) {
			touch_heap();
			_exit(0);
		}
		if (child < 0) {
			FOUND(failed);
		} else if (i % STAY_EVERY) {
			reap(child, 0);
		} else {
			if (*slot && kill(*slot, SIGKILL) == 0)
				reap(*slot, SIGKILL);
			*slot = child;
		}
		victim_beat((unsigned int)(uintptr_t)arg);
	}
	return NULL;
}

static void *vforks(void *arg)
{
	for (;;) {
		pid_t child = vfork();

		if (child == 0)
			_exit(0);
		if (child < 0)
			FOUND(failed);
		else
			reap(child, 0);
		victim_beat((unsigned int)(uintptr_t)arg);
	}
	return NULL;
}

static void kind_forks(void)
{
	start(forks, 1);
	victim_ready(2);
	nap_for_ever(NULL);
}

static void kind_leaks(void)
{
	if (memfd_create("leak", 0) < 0)
		FOUND(failed);
	kind_forks();
}

static void kind_vforks(void)
{
	start(vforks, 1);
	victim_ready(2);
	nap_for_ever(NULL);
}

/* The child uses the same board, as it shares the memory. */
static void kind_vfork(void)
{
	const struct timespec ts = { .tv_nsec = 1000000 };
	pid_t child;

	victim_ready(board->threads ? 2 : 1);
	child = vfork();
	if (child == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		while (!__atomic_load_n(&board->reserved, __ATOMIC_SEQ_CST))
			syscall(SYS_nanosleep, &ts, NULL);
		_exit(0);
	}
	reap(child, 0);
	nap_for_ever(NULL);
}

static void kind_vfork2(void)
{
	board->threads = 2;
	start(nap_for_ever, 1);
	kind_vfork();
}

/* --- threads --------------------------------------------------------------------------- */

static unsigned int alive;

static void *short_life(void *arg)
{
	touch_heap();
	if (arg)
		victim_nap(1);
	__atomic_fetch_sub(&alive, 1, __ATOMIC_SEQ_CST);
	return NULL;
}

/* Each thread creates the next one, and exits: only the main thread exists for long. */
static void *chain(void *arg)
{
	touch_heap();
	victim_beat((unsigned int)(uintptr_t)arg);
	start(chain, (uintptr_t)arg);
	return NULL;
}

static void kind_spawn(void)
{
	start(chain, 1);
	victim_ready(2);
	for (uintptr_t i = 0;; i++) {
		if (__atomic_add_fetch(&alive, 1, __ATOMIC_SEQ_CST) <= ALIVE_MAX)
			start(short_life, i % 2);
		else
			__atomic_fetch_sub(&alive, 1, __ATOMIC_SEQ_CST);
		victim_beat(0);
	}
}

static void kind_leader(void)
{
	start(nap_for_ever, 0);
	start(nap_for_ever, 1);
	victim_ready(2);
	pthread_exit(NULL);
}

/* --- cancellation ---------------------------------------------------------------------- */

static int full[2]; /* a pipe; the main thread is in write(2) on it, where it is not borrowed */

static void cancelled(void *arg)
{
	(void)arg;
	victim_beat(2);
}

/* syscall(3) is no cancellation point. There must be none before pthread_testcancel(3). */
static void *cancel_me(void *disabled)
{
	static char page[4096];
	char c;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
	if (disabled)
		pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
	else
		pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, NULL);
	pthread_cleanup_push(cancelled, NULL);
	if (syscall(SYS_read, 0, &c, 1) != 1)
		FOUND(failed);
	touch_heap();
	victim_beat(1);
	if (syscall(SYS_read, full[0], page, sizeof(page)) != sizeof(page))
		FOUND(failed);
	if (disabled)
		pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, NULL);
	pthread_testcancel();
	FOUND(failed);
	pthread_cleanup_pop(0);
	return NULL;
}

static void fill(void)
{
	static char page[4096];

	if (pipe2(full, O_NONBLOCK) != 0)
		exit(2);
	while (write(full[1], page, sizeof(page)) > 0)
		;
	fcntl(full[1], F_SETFL, 0);
}

/* beats: 0 rounds that ended well; 1 threads that returned from read(2); 2 cancelled threads */
static void cancel_for_ever(bool disabled)
{
	static char page[4096];
	pthread_t thread;
	void *result;

	fill();
	victim_ready(3);
	for (uint64_t round = 1;; round++) {
		if (pthread_create(&thread, NULL, cancel_me, disabled ? page : NULL) != 0)
			exit(2);
		victim_nap(5);
		if (pthread_cancel(thread) != 0)
			FOUND(failed);
		__atomic_store_n(&board->reserved, round, __ATOMIC_SEQ_CST);
		if (write(full[1], page, sizeof(page)) != sizeof(page))
			FOUND(failed);
		/*
		 * glibc 2.36 forgets the result if pthread_setcancelstate(3) acts on the
		 * cancellation.
		 */
		if (pthread_join(thread, &result) != 0 || (!disabled && result != PTHREAD_CANCELED))
			FOUND(failed);
		victim_beat(0);
	}
}

static void kind_defer(void)
{
	cancel_for_ever(false);
}

static void kind_disable(void)
{
	cancel_for_ever(true);
}

static const struct {
	const char *name;
	void (*run)(void);
} kinds[] = {
	{ "forks", kind_forks },   { "leaks", kind_leaks },   { "vforks", kind_vforks },
	{ "vfork", kind_vfork },   { "vfork2", kind_vfork2 }, { "spawn", kind_spawn },
	{ "leader", kind_leader }, { "defer", kind_defer },   { "disable", kind_disable },
};

int main(int argc, char **argv)
{
	for (size_t i = 0; argc > 2 && i < sizeof(kinds) / sizeof(*kinds); i++) {
		if (strcmp(argv[2], kinds[i].name) != 0)
			continue;
		victim_open(argv[1]);
		kinds[i].run();
	}
	fprintf(stderr, "usage: death BOARD KIND\n");
	return 2;
}
