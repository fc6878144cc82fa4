// SPDX-License-Identifier: Apache-2.0
/*
 * What a front that was taken over may send to the broker, and what the queue makes of it: any
 * message, in any order, between operations that begin and end, answers that are accepted or not,
 * and fronts that exit. serve/serve.c does the same with processes.
 */
#include "serve/events.h"
#include "serve/queue.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define WORKERS 2
#define WAITING 8
#define RECENT 64
#define PIDS 4 /* for hear_likely() */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct input {
	const uint8_t *at, *end;
};

struct state {
	struct queue q;
	struct events events;
	uint64_t now_ms, last_id;
	uint64_t changed[PIDS]; /* the number of the last job to change that process */
};

static uint8_t take(struct input *in)
{
	return in->at < in->end ? *in->at++ : 0;
}

static size_t askers(const struct queue *q)
{
	size_t n = 0;

	for (size_t i = 0; i < JOBS_MAX; i++)
		n += q->v[i].n;
	return n;
}

/* --- invariants --- */

static void check_job(const struct job *job)
{
	enum wire_role role = wire_role_needed(&job->ask);

	if (!wire_is_valid(&job->ask, job->ask.op == WIRE_SYMBOLS) || job->ask.kind != WIRE_ASK)
		abort();
	if (role <= WIRE_ROLE_NONE || role >= WIRE_ROLES || !wire_op_name(job->ask.op))
		abort();
	if (wire_about(job->ask.op) == WIRE_OF_PROCESS && job->ask.pid <= 0 &&
	    !(job->ask.flags & WIRE_AT_ROOT))
		abort();
	if (role == WIRE_ROLE_CONTROL && (job->n > 1 || job->shared))
		abort();
	if (job->n > ASKERS_MAX || (job->state == JOB_WAITING && !job->n))
		abort();
	if ((job->addresses >= 0) != (job->ask.op == WIRE_SYMBOLS) ||
	    (job->addresses >= 0 && fcntl(job->addresses, F_GETFD) < 0))
		abort();
}

static bool takes_long(const struct job *job)
{
	return job->ask.seconds || wire_is_run(job->ask.op);
}

/* At most one job per process runs at a time, and no more than allowed in total. */
static void check(const struct queue *q)
{
	size_t running = 0, long_ones = 0;

	for (size_t i = 0; i < JOBS_MAX; i++) {
		const struct job *job = &q->v[i];

		if (job->state == JOB_FREE) {
			if (job->n || job->addresses >= 0)
				abort();
			continue;
		}
		check_job(job);
		if (job->state != JOB_RUNNING)
			continue;
		running += !takes_long(job);
		long_ones += takes_long(job);
		for (size_t k = 0; k < i; k++)
			if (q->v[k].state == JOB_RUNNING && job->ask.pid &&
			    q->v[k].ask.pid == job->ask.pid && !takes_long(&q->v[k]) &&
			    !takes_long(job))
				abort();
	}
	if (running > WORKERS || long_ones > SERVE_WORKERS_MAX ||
	    queue_count(q, JOB_WAITING) > WAITING)
		abort();
}

/* --- the broker --- */

static void end(struct state *s, struct job *job, uint8_t how)
{
	job->state = JOB_DONE;
	job->done_ms = s->now_ms;
	job->answer = (struct wire_to_front){ .code = how & 1 ? ERR_FAILED : ERR_NONE,
					      .bytes = how & 2 ? 0 : 1 };
}

static void start_all(struct state *s, bool failing)
{
	struct job *job;

	while ((job = queue_next(&s->q))) {
		if (job->state != JOB_WAITING)
			abort();
		if (failing)
			end(s, job, 1);
		else
			job->state = JOB_RUNNING;
	}
}

/* A job of another client: not shared while it is being stopped, nor across a change. */
static void check_shared(const struct state *s, const struct job *job)
{
	pid_t pid = job->ask.pid;

	if (job->state == JOB_RUNNING && (job->n == 1 || job->ask.seconds))
		abort();
	if (job->state == JOB_DONE && (s->now_ms - job->done_ms >= SHARED_MS || job->ask.seconds ||
				       job->answer.code || !job->answer.bytes))
		abort();
	if (pid < PIDS && job->number < s->changed[pid])
		abort();
}

/* The asker is among those who wait, and gets what it asked for. */
static void check_added(const struct job *job, const struct wire_to_broker *m)
{
	const struct wire_to_broker *of = &job->ask;

	if (!job->n || job->askers[job->n - 1].id != m->id)
		abort();
	if (of->op != m->op || of->pid != m->pid || of->start_time != m->start_time ||
	    of->format != m->format || of->seconds != m->seconds || of->words != m->words ||
	    (of->flags ^ m->flags) & ~WIRE_OF_CLIENT)
		abort();
}

static void ask(struct state *s, const struct wire_to_broker *m, int fd)
{
	static const struct serve_peer nobody = { .transport = WIRE_UNIX, .uid = 65534 };
	size_t before = askers(&s->q);
	uint64_t next = s->q.next;
	struct job *job = queue_add(&s->q, m, &nobody, fd, s->now_ms);

	if (askers(&s->q) != before + (job != NULL) || (fd >= 0 && !job && !fcntl(fd, F_GETFD)))
		abort();
	if (!job)
		return;
	check_added(job, m);
	if (job->number < next)
		check_shared(s, job);
	if (wire_role_needed(m) == WIRE_ROLE_CONTROL && m->pid < PIDS)
		s->changed[m->pid] = job->number;
}

static void cancel(struct state *s, uint64_t id)
{
	size_t before = askers(&s->q), known = 0;
	const struct job *job;

	for (size_t i = 0; i < JOBS_MAX; i++)
		for (size_t k = 0; k < s->q.v[i].n; k++)
			known += s->q.v[i].askers[k].id == id;
	job = queue_cancel(&s->q, id);
	if (askers(&s->q) != before - (known > 0) || (job && (job->n || job->state != JOB_RUNNING)))
		abort();
}

/* --- waiting for events --- */

static size_t waiters(const struct events *e)
{
	size_t n = 0;

	for (size_t i = 0; i < WAITERS_MAX; i++)
		n += e->waiters[i].id != 0;
	return n;
}

static void wait_for_event(struct state *s, const struct wire_to_broker *m)
{
	static const struct serve_peer nobody = { .transport = WIRE_UNIX, .uid = 65534 };
	size_t before = waiters(&s->events);
	bool waits = events_wait(&s->events, m, &nobody, s->now_ms);

	if (m->seconds > WIRE_WAIT_MAX || waiters(&s->events) != before + (waits && m->id))
		abort();
}

/* A waiter gets the events after the last one that it saw, and continues from there. */
static void answer_waiters(struct state *s)
{
	struct waiter *w;

	while ((w = events_due(&s->events, s->now_ms))) {
		char *text = NULL;
		size_t len;
		FILE *f = open_memstream(&text, &len);
		uint64_t next;

		if (!f)
			abort();
		events_answer(&s->events, w, f, &next);
		fclose(f);
		if (next > s->events.last || next < s->events.gone ||
		    (w->ask.flags & WIRE_HAS_SINCE && !w->lost && next < w->ask.since))
			abort();
		free(text);
		events_cancel(&s->events, w->id);
	}
}

static void add_event(struct state *s, uint8_t pid)
{
	struct event_text text = { { [WIRE_ROLE_READ] = strdup("\"a\":1") } };

	events_add(&s->events, pid % PIDS, &text, s->now_ms);
}

static void hear(struct state *s, const struct wire_to_broker *m, bool has_fd)
{
	if (!wire_is_valid(m, has_fd))
		return;
	if (m->kind == WIRE_ASK && m->op == WIRE_EVENTS)
		wait_for_event(s, m);
	else if (m->kind == WIRE_ASK)
		ask(s, m, has_fd ? fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3) : -1);
	else if (m->kind == WIRE_CANCEL)
		cancel(s, m->id), events_cancel(&s->events, m->id);
}

static void lose_front(struct queue *q)
{
	for (size_t i = 0; i < JOBS_MAX; i++) {
		q->v[i].n = 0;
		if (q->v[i].state != JOB_RUNNING && q->v[i].state != JOB_FREE)
			job_free(&q->v[i]);
	}
}

/* --- the steps --- */

static void hear_any(struct state *s, struct input *in)
{
	struct wire_to_broker m = { 0 };
	bool has_fd = take(in) & 1;
	size_t left = (size_t)(in->end - in->at), n = left < sizeof(m) ? left : sizeof(m);

	memcpy(&m, in->at, n);
	in->at += n;
	hear(s, &m, has_fd);
}

/* Few processes and formats, so that requests coincide. */
static void hear_likely(struct state *s, struct input *in)
{
	uint8_t op = take(in), of = take(in), how = take(in);
	struct wire_to_broker m = { .version = WIRE_VERSION,
				    .kind = WIRE_ASK,
				    .id = ++s->last_id,
				    .op = op % (WIRE_OPS + 1u),
				    .pid = of & 3,
				    .start_time = of >> 2 & 1,
				    .format = of >> 3 & 1,
				    .flags = how & WIRE_FLAGS };

	if (m.op == WIRE_EVENTS)
		m.since = s->events.gone + (how >> 6);
	if ((m.op == WIRE_DUMP || m.op == WIRE_EVENTS) && op & 128)
		m.seconds = 1 + (how >> 6);
	hear(s, &m, m.op == WIRE_SYMBOLS);
}

static void happen(struct state *s, struct input *in)
{
	uint8_t what = take(in);
	struct job *job = &s->q.v[take(in) % JOBS_MAX];

	switch (what & 7) {
	case 0:
		hear_any(s, in);
		break;
	case 1:
		cancel(s, s->last_id - take(in) % RECENT);
		break;
	case 2:
		if (job->state == JOB_RUNNING)
			end(s, job, what >> 4);
		break;
	case 3: /* as far as the front accepts them */
		if (job->state == JOB_DONE && job->n)
			job->n -= what & 16 ? job->n : 1;
		break;
	case 4:
		s->now_ms += 1 + 16u * take(in);
		queue_forget(&s->q, s->now_ms);
		break;
	case 5:
		if (what >> 3 == 0)
			lose_front(&s->q);
		else
			add_event(s, what >> 3);
		break;
	default:
		hear_likely(s, in);
		break;
	}
	start_all(s, what >> 3 == 31);
	check(&s->q);
	answer_waiters(s);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = { data, data + size };
	int before = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3), after;
	struct state s = { .now_ms = 1000 };

	close(before);
	queue_init(&s.q, WORKERS, WAITING);
	events_init(&s.events, s.now_ms);
	while (in.at < in.end)
		happen(&s, &in);
	lose_front(&s.q);
	for (size_t i = 0; i < JOBS_MAX; i++)
		job_free(&s.q.v[i]);
	events_fini(&s.events);
	/* No descriptor is left. */
	after = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
	if (after != before)
		abort();
	close(after);
	return 0;
}
