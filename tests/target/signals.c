// SPDX-License-Identifier: Apache-2.0
/*
 * signals BOARD: one thread under a storm of signals, none of which may be lost, arrive twice or
 * out of order, or run on the wrong stack.
 *
 * A forked child sends SIGUSR1, the next one after the last one was handled, and queues realtime
 * signals with sequence numbers. A timer counts its own expirations. The thread itself runs into
 * breakpoints and into memory that it may not read, handles both, and waits in poll(2) in between.
 */
#include "tests/target/victim.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/time.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#define TIMER_NS 3000000ull
#define IN_FLIGHT 32

enum beat {
	BEAT_MAIN,
	BEAT_USR1,
	BEAT_QUEUED,
	BEAT_TIMER,
	BEAT_ALARM,
	BEAT_TRAP,
	BEAT_FAULT,
	BEATS
};

static volatile char *forbidden;
static uint64_t before_timer_ns, after_timer_ns;

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

static uint64_t handled(enum beat beat)
{
	return __atomic_load_n(&board->beats[beat], __ATOMIC_SEQ_CST);
}

static void on_altstack(void)
{
	stack_t ss;

	if (sigaltstack(NULL, &ss) != 0 || !(ss.ss_flags & SS_ONSTACK))
		FOUND(altstack);
}

static void on_usr1(int sig, siginfo_t *info, void *context)
{
	(void)sig;
	(void)context;
	on_altstack();
	if (info->si_code != SI_USER)
		FOUND(corrupt);
	victim_beat(BEAT_USR1);
}

static void on_queued(int sig, siginfo_t *info, void *context)
{
	(void)sig;
	(void)context;
	on_altstack();
	if (info->si_value.sival_int != (int)handled(BEAT_QUEUED))
		FOUND(corrupt);
	victim_beat(BEAT_QUEUED);
}

/*
 * The count can never exceed the expirations so far, nor be less than those at the time of the last
 * look: what expires later is counted in the overrun of this signal or the next.
 */
static void on_timer(int sig, siginfo_t *info, void *context)
{
	static uint64_t count, looked_ns;
	uint64_t now = now_ns();

	(void)sig;
	(void)context;
	count += 1 + (uint64_t)info->si_overrun;
	if (count > (now - before_timer_ns) / TIMER_NS)
		FOUND(corrupt);
	if (looked_ns > after_timer_ns && count < (looked_ns - after_timer_ns) / TIMER_NS)
		FOUND(failed);
	looked_ns = now;
	victim_beat(BEAT_TIMER);
}

static void on_alarm(int sig, siginfo_t *info, void *context)
{
	(void)sig;
	(void)info;
	(void)context;
	victim_beat(BEAT_ALARM);
}

static void on_trap(int sig, siginfo_t *info, void *context)
{
	(void)sig;
	(void)context;
	on_altstack();
	if (info->si_code != SI_KERNEL)
		FOUND(corrupt);
	victim_beat(BEAT_TRAP);
}

/* Continue after the faulting instruction, which has two bytes. */
static void on_fault(int sig, siginfo_t *info, void *context)
{
	ucontext_t *uc = context;

	(void)sig;
	on_altstack();
	if (info->si_addr != (void *)forbidden)
		FOUND(corrupt);
	uc->uc_mcontext.gregs[REG_RIP] += 2;
	victim_beat(BEAT_FAULT);
}

static void handle(int sig, void (*handler)(int, siginfo_t *, void *), int flags)
{
	struct sigaction act = { .sa_sigaction = handler, .sa_flags = SA_SIGINFO | flags };

	if (sigaction(sig, &act, NULL) != 0)
		FOUND(failed);
}

static void send_storm(pid_t victim)
{
	const struct timespec pause = { .tv_nsec = 300000 };
	uint64_t usr1 = 0, queued = 0;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	while (getppid() == victim) {
		if (handled(BEAT_USR1) == usr1 && kill(victim, SIGUSR1) == 0)
			usr1++;
		for (int i = 0; i < 4 && queued - handled(BEAT_QUEUED) < IN_FLIGHT; i++)
			if (sigqueue(victim, SIGRTMIN + 1,
				     (union sigval){ .sival_int = (int)queued }) == 0)
				queued++;
		nanosleep(&pause, NULL);
	}
	_exit(0);
}

static void start_timers(void)
{
	const struct itimerval often = { { 0, 5000 }, { 0, 5000 } };
	const struct itimerspec every = { { 0, (long)TIMER_NS }, { 0, (long)TIMER_NS } };
	struct sigevent ev = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGRTMIN + 2 };
	timer_t timer;

	before_timer_ns = now_ns();
	if (timer_create(CLOCK_MONOTONIC, &ev, &timer) != 0 ||
	    timer_settime(timer, 0, &every, NULL) != 0 || setitimer(ITIMER_REAL, &often, NULL) != 0)
		FOUND(failed);
	after_timer_ns = now_ns();
}

static void trap(void)
{
	uint64_t before = handled(BEAT_TRAP);

	__asm__ volatile("int3" ::: "memory");
	if (handled(BEAT_TRAP) != before + 1)
		FOUND(corrupt);
}

static void fault(void)
{
	uint64_t before = handled(BEAT_FAULT);

	__asm__ volatile("movb (%0), %%al" ::"D"(forbidden) : "rax", "memory");
	if (handled(BEAT_FAULT) != before + 1)
		FOUND(corrupt);
}

static uint64_t all_handled(void)
{
	uint64_t sum = 0;

	for (int i = BEAT_USR1; i < BEATS; i++)
		sum += handled((enum beat)i);
	return sum;
}

/* EINTR without a handled signal can only be caused by us. */
static void wait_a_little(void)
{
	uint64_t before = all_handled();
	int ret = poll(NULL, 0, 1);

	if (ret == -1 && errno == EINTR && all_handled() == before)
		FOUND(eintr);
	else if (ret != 0 && errno != EINTR)
		FOUND(failed);
}

int main(int argc, char **argv)
{
	pid_t self = getpid();

	if (argc != 2) {
		fprintf(stderr, "usage: signals BOARD\n");
		return 2;
	}
	victim_open(argv[1]);
	victim_altstack_set();
	forbidden = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	handle(SIGUSR1, on_usr1, SA_ONSTACK);
	handle(SIGRTMIN + 1, on_queued, SA_ONSTACK);
	handle(SIGRTMIN + 2, on_timer, 0);
	handle(SIGALRM, on_alarm, 0);
	handle(SIGTRAP, on_trap, SA_ONSTACK);
	handle(SIGSEGV, on_fault, SA_ONSTACK);
	if (fork() == 0)
		send_storm(self);
	start_timers();
	victim_ready(BEATS);
	for (;;) {
		trap();
		fault();
		for (volatile int i = 0; i < 20000; i++)
			;
		wait_a_little();
		victim_altstack_check();
		victim_beat(BEAT_MAIN);
	}
}
