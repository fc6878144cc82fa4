// SPDX-License-Identifier: Apache-2.0
#include "ops/stacks/timed.h"

#include "base/clock.h"

#include <errno.h>
#include <poll.h>
#include <time.h>

#define OVERHEAD_MAX 5 /* percent */
#define WINDOW_MS 10000
#define SETTLED_MS 1000 /* after this time the overhead is known */
#define NS_PER_MS UINT64_C(1000000)
#define NS_PER_S (1000 * NS_PER_MS)

/* 0 if it is no longer known. */
static uint64_t cpu_ns(pid_t pid)
{
	struct timespec t = { 0 };
	clockid_t clock;

	if (clock_getcpuclockid(pid, &clock) || clock_gettime(clock, &t))
		return 0;
	return (uint64_t)t.tv_sec * NS_PER_S + (uint64_t)t.tv_nsec;
}

static void begin_window(struct timed *t, uint64_t overhead_ns)
{
	t->window.ms = now_ms();
	t->window.cpu_ns = cpu_ns(t->s->proc.pid);
	t->window.overhead_ns = overhead_ns;
}

void timed_begin(struct timed *t, const struct session *s, uint64_t duration_ms,
		 unsigned int max_overhead)
{
	*t = (struct timed){ .s = s,
			     .began_ms = now_ms(),
			     .duration_ms = duration_ms,
			     .wake_fd = -1,
			     .max_overhead = max_overhead ? max_overhead : OVERHEAD_MAX };
	begin_window(t, 0);
}

uint64_t timed_elapsed_ms(const struct timed *t)
{
	return now_ms() - t->began_ms;
}

/* In rounds, not at each sample: waking up costs more than waiting. */
int timed_wait(struct timed *t, bool *more, struct err *err)
{
	struct pollfd fds[] = {
		{ .fd = t->s->proc.pidfd, .events = POLLIN },
		{ .fd = t->s->options->stop_fd, .events = POLLIN },
		{ .fd = t->wake_fd, .events = POLLIN },
	};
	uint64_t past = timed_elapsed_ms(t);
	uint64_t left = past < t->duration_ms ? t->duration_ms - past : 0;

	if (poll(fds, 3, (int)(left < TIMED_ROUND_MS ? left : TIMED_ROUND_MS)) < 0 &&
	    errno != EINTR)
		return err_raise_sys(err, ERROR_SIGNALS_UNAVAILABLE, errno);
	t->ended = fds[0].revents || proc_replaced(&t->s->proc);
	t->early = fds[1].revents;
	*more = !t->ended && !t->early && timed_elapsed_ms(t) < t->duration_ms;
	return 0;
}

int timed_check_overhead(struct timed *t, uint64_t overhead_ns, struct err *err)
{
	uint64_t ms = now_ms() - t->window.ms, whole = ms * NS_PER_MS;
	uint64_t cpu = cpu_ns(t->s->proc.pid), taken = overhead_ns - t->window.overhead_ns;

	if (ms < SETTLED_MS)
		return 0;
	if (cpu > t->window.cpu_ns + whole)
		whole = cpu - t->window.cpu_ns;
	if (taken > whole / 100 * t->max_overhead) {
		err_raise(err, ERROR_OVERHEAD_TOO_HIGH, SESSION_ARGS(t->s),
			  .number = (int64_t)(taken * 100 / whole + 1), .limit = t->max_overhead);
		return err_advise(err, FIX_ALLOW_OVERHEAD,
				  .count = (int64_t)(taken * 200 / whole + 1));
	}
	if (ms >= WINDOW_MS)
		begin_window(t, overhead_ns);
	return 0;
}
