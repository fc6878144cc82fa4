// SPDX-License-Identifier: Apache-2.0
#include "serve/polls.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "io/memory_file.h"

#include <string.h>

int polls_take(struct broker *b, const struct wire_to_broker *m, const struct serve_peer *peer,
	       struct err *err)
{
	return events_wait(&b->events, m, peer, now_ms())
		       ? 0
		       : broker_refuse_aloud(b, m, peer, WIRE_FULL, err);
}

struct poll {
	const struct events *events;
	const struct waiter *waiter;
	uint64_t *next;
	bool some;
};

static int print(FILE *out, const void *ctx, struct err *err)
{
	struct poll *p = (struct poll *)ctx;

	(void)err;
	p->some = events_answer(p->events, p->waiter, out, p->next);
	return 0;
}

static int answer(struct broker *b, struct waiter *w, struct err *err)
{
	struct result r = { .err = ERR_INIT };
	struct job job = { .state = JOB_DONE,
			   .ask = w->ask,
			   .peer = w->peer,
			   .asked_ms = w->asked_ms,
			   .content = -1 };
	struct poll poll = { &b->events, w, &job.run, false };
	bool sent;

	r.failed = memory_file_make(&job.content, &r.err) ||
		   memory_file_fill(job.content, print, &poll, &r.err);
	if (r.failed || !poll.some) {
		cleanup_close(&job.content);
		job.content = -1;
	}
	broker_make_answer(&job, &r);
	job.answer.id = w->id;
	job.answer.role = w->peer.role;
	sent = broker_send(b, &job.answer, job.answer.bytes ? job.content : -1);
	cleanup_close(&job.content);
	if (!sent)
		return 0;
	w->id = 0;
	job.run = 0;
	return broker_tell(b, &job, &r, WIRE_DONE, err);
}

int polls_answer(struct broker *b, struct err *err)
{
	struct waiter *w;

	while (!b->behind && !b->n_lost && b->front.pid > 0 &&
	       (w = events_due(&b->events, now_ms()))) {
		uint64_t id = w->id;

		if (answer(b, w, err))
			return -1;
		if (w->id == id) /* the socket to the front is full, or it has exited */
			return 0;
	}
	return 0;
}

void polls_end(struct broker *b)
{
	for (size_t i = 0; i < WAITERS_MAX; i++) {
		struct waiter *w = &b->events.waiters[i];
		struct wire_to_front m = { .kind = WIRE_ANSWER,
					   .id = w->id,
					   .reason = WIRE_ENDING,
					   .role = w->peer.role };

		if (w->id)
			(void)broker_send(b, &m, -1);
		w->id = 0;
	}
}

void polls_drop(struct broker *b)
{
	for (size_t i = 0; i < WAITERS_MAX; i++)
		b->events.waiters[i].id = 0;
}
