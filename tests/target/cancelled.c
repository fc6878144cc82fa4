// SPDX-License-Identifier: Apache-2.0
/*
 * cancelled BOARD: a cancellation is pending on a thread that naps with cancellation disabled,
 * until board->reserved is set; the main thread is in a system call that cannot be interrupted
 * transparently. Once the thread is cancelled, board->reserved is 2.
 */
#include "tests/target/victim.h"

#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

static void ended(void *unused)
{
	(void)unused;
	__atomic_store_n(&board->reserved, 2, __ATOMIC_SEQ_CST);
}

static void *work(void *unused)
{
	pthread_cleanup_push(ended, NULL);
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
	pthread_cancel(pthread_self());
	while (!__atomic_load_n(&board->reserved, __ATOMIC_SEQ_CST)) {
		free(malloc(300));
		victim_nap(2);
		victim_beat(0);
	}
	pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, NULL);
	pthread_testcancel();
	FOUND(failed);
	pthread_cleanup_pop(0);
	return unused;
}

int main(int argc, char **argv)
{
	static const char bytes[1 << 20];
	pthread_t thread;
	int fds[2];

	if (argc < 2)
		return 2;
	victim_open(argv[1]);
	if (pthread_create(&thread, NULL, work, NULL) != 0 || pipe(fds) != 0)
		return 2;
	victim_ready(1);
	return write(fds[1], bytes, sizeof(bytes)) != sizeof(bytes);
}
