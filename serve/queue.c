// SPDX-License-Identifier: Apache-2.0
#include "serve/queue.h"

#include "base/cleanup.h"

#include <string.h>
#include <unistd.h>

#define LONG_OF_PEER (SERVE_WORKERS_MAX / 4 * 3)

void queue_init(struct queue *q, unsigned int workers, unsigned int waiting)
{
	memset(q, 0, sizeof(*q));
	q->workers = workers;
	q->waiting = waiting;
	q->next = 1;
	for (size_t i = 0; i < JOBS_MAX; i++) {
		q->v[i].addresses = q->v[i].content = q->v[i].began_fd = -1;
		q->v[i].process = (struct subprocess)SUBPROCESS_INIT;
	}
}

size_t queue_count(const struct queue *q, enum job_state state)
{
	size_t n = 0;

	for (size_t i = 0; i < JOBS_MAX; i++)
		n += q->v[i].state == state;
	return n;
}

/* A profile over an interval, or a run: it mostly sleeps. */
static bool takes_long(const struct wire_to_broker *ask)
{
	return ask->seconds || wire_is_run(ask->op);
}

bool serve_peer_is_same(const struct serve_peer *a, const struct serve_peer *b)
{
	if (a->transport != b->transport)
		return false;
	return a->transport == WIRE_UNIX
		       ? a->uid == b->uid
		       : !strcmp(a->name, b->name) && !strcmp(a->subject, b->subject);
}

bool serve_peer_is_owner(const struct serve_peer *peer)
{
	return peer->transport == WIRE_UNIX && peer->uid == geteuid();
}

/*
 * Long ones that would have to wait are refused: they would fill the queue, of which one peer may
 * fill three quarters.
 */
static bool is_full(const struct queue *q, const struct wire_to_broker *ask,
		    const struct serve_peer *peer)
{
	size_t long_ones = 0, long_of_peer = 0, waiting_of_peer = 0;

	for (size_t i = 0; i < JOBS_MAX; i++) {
		const struct job *job = &q->v[i];
		bool of_peer = serve_peer_is_same(&job->peer, peer);

		waiting_of_peer += job->state == JOB_WAITING && of_peer;
		if (!takes_long(ask) || !takes_long(&job->ask) ||
		    (job->state != JOB_WAITING && job->state != JOB_RUNNING))
			continue;
		long_ones++;
		long_of_peer += of_peer;
	}
	return long_ones >= SERVE_WORKERS_MAX ||
	       (long_of_peer >= LONG_OF_PEER && !serve_peer_is_owner(peer)) ||
	       waiting_of_peer >= q->waiting - q->waiting / 4 ||
	       queue_count(q, JOB_WAITING) >= q->waiting;
}

/* Overviews of all processes are requested by many clients, and cost as much as many profiles. */
static bool is_overview(enum wire_op op)
{
	return op == WIRE_LIST || op == WIRE_METRICS || op == WIRE_DISCOVER;
}

/* Do both have the same answer? */
static bool is_same(const struct wire_to_broker *a, const struct wire_to_broker *b)
{
	return a->op == b->op && (a->op == WIRE_DUMP || is_overview(a->op)) && a->pid == b->pid &&
	       a->start_time == b->start_time && a->format == b->format &&
	       !((a->flags ^ b->flags) & ~WIRE_OF_CLIENT) && a->seconds == b->seconds &&
	       a->words == b->words;
}

static bool can_be_shared(const struct job *job, uint64_t now_ms)
{
	if (job->is_old)
		return false;
	switch (job->state) {
	case JOB_WAITING:
		return true;
	case JOB_RUNNING: /* one over an interval began too early */
		return job->n && !takes_long(&job->ask) &&
		       !is_overview(job->ask.op); /* without askers it is being stopped */
	case JOB_DONE:
		return !takes_long(&job->ask) && !is_overview(job->ask.op) &&
		       job->answer.code == ERR_NONE && job->answer.bytes &&
		       now_ms - job->done_ms < SHARED_MS;
	case JOB_FREE:
	default:
		return false;
	}
}

static struct job *find_same(struct queue *q, const struct wire_to_broker *ask, uint64_t now_ms)
{
	for (size_t i = 0; i < JOBS_MAX; i++) {
		struct job *job = &q->v[i];

		if (job->n < ASKERS_MAX && can_be_shared(job, now_ms) && is_same(&job->ask, ask))
			return job;
	}
	return NULL;
}

/* A free slot, or that of the oldest answered job. */
static struct job *find_room(struct queue *q)
{
	struct job *oldest = NULL;

	for (size_t i = 0; i < JOBS_MAX; i++) {
		struct job *job = &q->v[i];

		if (job->state == JOB_FREE)
			return job;
		if (job->state == JOB_DONE && !job->n &&
		    (!oldest || job->done_ms < oldest->done_ms))
			oldest = job;
	}
	if (oldest)
		job_free(oldest);
	return oldest;
}

void queue_age(struct queue *q, pid_t pid)
{
	for (size_t i = 0; i < JOBS_MAX; i++)
		q->v[i].is_old = q->v[i].is_old || q->v[i].ask.pid == pid;
}

struct job *queue_add(struct queue *q, const struct wire_to_broker *ask,
		      const struct serve_peer *peer, int addresses, uint64_t now_ms)
{
	const struct asker asker = { ask->id, *peer };
	struct job *job = find_same(q, ask, now_ms);

	if (job) {
		cleanup_close(&addresses);
		job->askers[job->n++] = asker;
		job->shared++;
		return job;
	}
	job = is_full(q, ask, peer) ? NULL : find_room(q);
	if (!job) {
		cleanup_close(&addresses);
		return NULL;
	}
	if (wire_role_needed(ask) == WIRE_ROLE_CONTROL)
		queue_age(q, ask->pid);
	job->state = JOB_WAITING;
	job->ask = *ask;
	job->peer = *peer;
	job->number = q->next++;
	job->asked_ms = now_ms;
	job->askers[0] = asker;
	job->n = 1;
	job->addresses = addresses;
	return job;
}

/* Does a running job act on this process? Long ones do not count: they mostly leave it alone. */
static bool is_taken(const struct queue *q, pid_t pid)
{
	for (size_t i = 0; pid && i < JOBS_MAX; i++) {
		if (q->v[i].state == JOB_RUNNING && !takes_long(&q->v[i].ask) &&
		    q->v[i].ask.pid == pid)
			return true;
	}
	return false;
}

/* Long jobs and the others have separate limits, so that long ones do not block the rest. */
static bool has_worker(const struct queue *q, bool long_ones)
{
	size_t n = 0;

	for (size_t i = 0; i < JOBS_MAX; i++)
		n += q->v[i].state == JOB_RUNNING && takes_long(&q->v[i].ask) == long_ones;
	return n < (long_ones ? SERVE_WORKERS_MAX : q->workers);
}

struct job *queue_find_run(struct queue *q, uint64_t run)
{
	for (size_t i = 0; run && i < JOBS_MAX; i++) {
		if (q->v[i].state == JOB_RUNNING && q->v[i].run == run)
			return &q->v[i];
	}
	return NULL;
}

uint64_t queue_run_of(const struct queue *q, pid_t pid)
{
	for (size_t i = 0; i < JOBS_MAX; i++) {
		if (q->v[i].state == JOB_RUNNING && q->v[i].run && q->v[i].ask.pid == pid &&
		    q->v[i].began)
			return q->v[i].run;
	}
	return 0;
}

struct job *queue_next(struct queue *q)
{
	struct job *first = NULL;

	for (size_t i = 0; i < JOBS_MAX; i++) {
		struct job *job = &q->v[i];

		if (job->state == JOB_WAITING && (!first || job->number < first->number) &&
		    has_worker(q, takes_long(&job->ask)) && !is_taken(q, job->ask.pid) &&
		    /* a run that is being stopped is shown when it has ended */
		    !(wire_ends_run(job->ask.op) && queue_find_run(q, job->ask.run)))
			first = job;
	}
	return first;
}

struct job *queue_cancel(struct queue *q, uint64_t id)
{
	for (size_t i = 0; i < JOBS_MAX; i++) {
		struct job *job = &q->v[i];

		for (size_t k = 0; k < job->n; k++) {
			if (job->askers[k].id != id)
				continue;
			job->askers[k] = job->askers[--job->n];
			if (!job->n && job->state == JOB_WAITING)
				job_free(job);
			return !job->n && job->state == JOB_RUNNING ? job : NULL;
		}
	}
	return NULL;
}

void job_free(struct job *job)
{
	cleanup_close(&job->addresses);
	cleanup_close(&job->content);
	cleanup_close(&job->began_fd);
	*job = (struct job){
		.addresses = -1, .content = -1, .began_fd = -1, .process = SUBPROCESS_INIT
	};
}

void queue_forget(struct queue *q, uint64_t now_ms)
{
	for (size_t i = 0; i < JOBS_MAX; i++) {
		struct job *job = &q->v[i];

		if (job->state == JOB_DONE && !job->n && now_ms - job->done_ms >= SHARED_MS)
			job_free(job);
	}
}
