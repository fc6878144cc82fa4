// SPDX-License-Identifier: Apache-2.0
#include "tests/target/calls.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define NAP_NS 4000000 /* there may be many of us */

struct round *now;
pid_t victim;

static uint64_t clock_ns(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

struct timespec in_time(void)
{
	return (struct timespec){ .tv_sec = CALL_MS / 1000, .tv_nsec = CALL_MS % 1000 * 1000000 };
}

struct timespec at_time(clockid_t clock)
{
	uint64_t ns = clock_ns(clock) + CALL_MS * 1000000ull;

	return (struct timespec){ .tv_sec = (time_t)(ns / 1000000000),
				  .tv_nsec = (long)(ns % 1000000000) };
}

uint64_t token(void)
{
	return 0x0123456789abcdefull * now->go;
}

void answer(long ret)
{
	int error = errno;

	now->elapsed_ns = clock_ns(CLOCK_MONOTONIC) - now->began_ns;
	now->ret = (uint64_t)ret;
	now->error = ret == -1 ? (uint64_t)error : 0;
	__atomic_store_n(&now->back, now->begun, __ATOMIC_SEQ_CST);
}

static void nap(void)
{
	const struct timespec ts = { .tv_nsec = NAP_NS };

	nanosleep(&ts, NULL);
}

static void wait_for(const uint64_t *word, uint64_t value)
{
	while (__atomic_load_n(word, __ATOMIC_SEQ_CST) < value)
		nap();
}

static void set(uint64_t *word, uint64_t value)
{
	__atomic_store_n(word, value, __ATOMIC_SEQ_CST);
}

static void help(const struct call_case *c, uint64_t round)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != victim)
		_exit(1);
	if (c->hold && !c->hold())
		_exit(2);
	set(&now->held, round);
	wait_for(&now->release, round);
	_exit(c->release() ? 0 : 3);
}

static bool reap(const struct call_case *c, pid_t helper)
{
	int status;

	/* wait4() and waitid() should have done that. */
	if (waitpid(helper, &status, 0) != helper)
		return strncmp(c->name, "wait", 4) == 0;
	return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static void do_round(struct call_case *c, uint64_t round)
{
	pid_t helper = 0;
	bool intact;

	wait_for(&now->go, round);
	now->remains_ns = ~0ull;
	if (c->prepare && !c->prepare())
		FOUND(failed);
	if (c->release) {
		helper = fork();
		if (helper == 0)
			help(c, round);
		wait_for(&now->held, round);
	}
	now->began_ns = clock_ns(CLOCK_MONOTONIC);
	set(&now->begun, round);
	errno = 0;
	intact = c->call(c);
	if (helper && !reap(c, helper))
		intact = false;
	now->intact = intact;
	set(&now->done, round);
	victim_beat(63);
}

static struct call_case *const tables[] = { calls_of_files, calls_of_sockets, calls_of_waits,
					    calls_of_others };

static struct call_case *find(const char *name)
{
	for (size_t i = 0; i < sizeof(tables) / sizeof(*tables); i++)
		for (struct call_case *c = tables[i]; c->name; c++)
			if (strcmp(c->name, name) == 0)
				return c;
	return NULL;
}

static int list(void)
{
	static const char *const kinds[] = { "untimed", "timed", "anew", "never" };

	for (size_t i = 0; i < sizeof(tables) / sizeof(*tables); i++)
		for (const struct call_case *c = tables[i]; c->name; c++)
			printf("%s %ld %s %ld %d %d %d\n", c->name, c->nr, kinds[c->kind], c->ret,
			       c->error, c->shows_eintr, c->release != NULL);
	return 0;
}

int main(int argc, char **argv)
{
	struct call_case *c;

	if (argc == 2 && strcmp(argv[1], "list") == 0)
		return list();
	c = argc == 3 ? find(argv[2]) : NULL;
	if (!c) {
		fprintf(stderr, "usage: calls BOARD CASE | calls list\n");
		return 2;
	}
	victim_open(argv[1]);
	now = (struct round *)board->beats;
	victim = getpid();
	if (c->set_up && !c->set_up()) {
		fprintf(stderr, "%s cannot be set up: %s\n", c->name, strerror(errno));
		return errno == ENOSYS || errno == EPERM ? 3 : 2;
	}
	victim_ready(0);
	for (uint64_t round = 1;; round++)
		do_round(c, round);
}
