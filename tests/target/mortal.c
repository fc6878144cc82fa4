// SPDX-License-Identifier: Apache-2.0
/* mortal: prints "ready"; exits with 42 on SIGUSR1, and executes itself again on SIGUSR2. */
#include <signal.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static void end(int sig)
{
	sigset_t none;

	if (sig == SIGUSR1)
		_exit(42);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	execl("/proc/self/exe", "mortal", (char *)NULL);
	_exit(2);
}

int main(void)
{
	const struct timespec ts = { .tv_nsec = 1000000 };

	signal(SIGUSR1, end);
	signal(SIGUSR2, end);
	if (write(1, "ready\n", 6) != 6)
		return 2;
	for (;;) {
		free(malloc(100));
		nanosleep(&ts, NULL);
	}
}
