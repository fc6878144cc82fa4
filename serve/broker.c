// SPDX-License-Identifier: Apache-2.0
#include "serve/broker.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "io/memory_file.h"
#include "serve/audit.h"

#include <errno.h>
#include <string.h>
#include <time.h>

/* --- log, counters and events --- */

void broker_add_event(struct broker *b, pid_t pid, struct event_text *text)
{
	events_add(&b->events, pid, text, events_time_us());
}

int broker_tell(struct broker *b, const struct job *job, const struct result *r,
		enum wire_refusal refusal, struct err *err)
{
	struct serve_event e = {
		.peer = job->peer,
		.op = wire_op_name(job->ask.op),
		.pid = job->ask.pid,
		.run = job->run ? job->run : job->ask.run,
		.began = job->began && job->state == JOB_RUNNING,
		.refusal = refusal,
		.ok = !refusal && !r->failed,
		.err = &r->err,
		.shared = job->shared,
		.bytes = job->answer.bytes,
		.stops = r->stops,
		.pause_us = r->pause_us,
		.took_ms = now_ms() - job->asked_ms,
	};
	struct api_own_op *op = &b->ops[job->ask.op];
	struct event_text text;

	if (!e.began) {
		if (refusal)
			op->refused++;
		else if (r->failed)
			op->failed++;
		else
			op->ok++;
		op->pause_us += r->pause_us;
	}
	clock_gettime(CLOCK_REALTIME, &e.time);
	memcpy(e.comm, r->comm, sizeof(e.comm));
	/*
	 * A request for events is not an event itself, or no such request would ever wait. Neither
	 * is one without a valid token: any client could push the other events out of the buffer.
	 */
	if (job->ask.op != WIRE_EVENTS && refusal != WIRE_UNKNOWN_PEER && audit_text(&e, &text))
		broker_add_event(b, e.pid, &text);
	return b->request->event(b->request->ctx, &e, err);
}

void broker_caution(const struct broker *b, const struct err *warning)
{
	b->request->on_warning(b->request->ctx, warning);
}

/* --- answers --- */

bool broker_send(struct broker *b, struct wire_to_front *m, int fd)
{
	m->version = WIRE_VERSION;
	if (!wire_send(b->front.channel, m, sizeof(*m), fd))
		return true;
	b->behind = errno == EAGAIN || errno == ETOOMANYREFS;
	/* Its exit is noticed through the pidfd, but not that it stopped reading. */
	b->deaf = b->deaf || errno == EPIPE;
	return false;
}

void broker_deliver(struct broker *b, struct job *job)
{
	while (job->n) {
		struct wire_to_front m = job->answer;

		m.id = job->askers[job->n - 1].id;
		m.role = job->askers[job->n - 1].peer.role;
		if (!broker_send(b, &m, m.bytes ? job->content : -1))
			return;
		job->n--;
	}
}

void broker_refuse(struct broker *b, uint64_t id, enum wire_role role, enum wire_refusal refusal)
{
	struct wire_to_front m = {
		.kind = WIRE_ANSWER, .id = id, .refusal = refusal, .role = role
	};

	if (!b->n_lost && broker_send(b, &m, -1))
		return;
	/* Nothing is kept for one that has exited. */
	if (b->n_lost ? b->n_lost < LOST_MAX : b->behind)
		b->lost[b->n_lost++] = m;
}

/* Seal the answer, and reopen it read-only, at its start. */
static int close_content(struct job *job, struct err *err)
{
	int again;

	if (memory_file_seal(job->content, err) ||
	    memory_file_size(job->content, &job->answer.bytes, err))
		return -1;
	again = memory_file_reopen(job->content);
	if (again < 0)
		return err_raise_sys(err, ERROR_MEMORY_FILE_FAILED, errno, .what = "open");
	cleanup_close(&job->content);
	job->content = again;
	return 0;
}

void broker_make_answer(struct job *job, const struct result *r)
{
	struct err why = ERR_INIT;
	job->answer = (struct wire_to_front){
		.kind = WIRE_ANSWER,
		.code = r->failed ? r->err.code : ERR_NONE,
		.format = job->ask.format,
		.pause_us = r->pause_us,
		.stops = r->stops,
		.reason = r->reason,
		.run = job->run,
	};
	if (r->failed)
		job->answer.format =
			job->ask.flags & WIRE_TEXT_ERRORS ? WIRE_FORMAT_TEXT : WIRE_FORMAT_JSON;
	memcpy(job->answer.name, r->name, sizeof(r->name));
	if (job->content >= 0 && close_content(job, &why))
		job->answer.code = why.code, job->answer.bytes = 0;
}

int broker_refuse_aloud(struct broker *b, const struct wire_to_broker *m,
			const struct serve_peer *peer, enum wire_refusal refusal, struct err *err)
{
	const struct job job = { .ask = *m, .peer = *peer, .asked_ms = now_ms() };
	const struct result r = { .err = ERR_INIT };

	broker_refuse(b, m->id, peer->role, refusal);
	return broker_tell(b, &job, &r, refusal, err);
}

static void leave_subprocess(const struct subprocess *w, const struct subprocess *own)
{
	cleanup_close(&w->pidfd);
	if (w != own)
		cleanup_close(&w->answer);
}

void broker_leave(const struct broker *b, const struct subprocess *own)
{
	const int fds[] = { b->front.channel, b->front.pidfd, b->runs.dir, b->certificate.good,
			    b->certificate.offered };

	for (size_t i = 0; i < sizeof(fds) / sizeof(*fds); i++)
		cleanup_close(&fds[i]);
	for (size_t i = 0; i < b->listeners.n; i++)
		cleanup_close(&b->listeners.v[i]);
	for (size_t i = 0; i < b->n_feeds; i++) {
		cleanup_close(&b->feeds[i].sock);
		leave_subprocess(&b->feeds[i].process, own);
	}
	leave_subprocess(&b->repair.process, own);
	for (size_t i = 0; i < JOBS_MAX; i++) {
		const struct job *job = &b->queue.v[i];

		cleanup_close(&job->began_fd);
		leave_subprocess(&job->process, own);
		if (&job->process == own)
			continue;
		cleanup_close(&job->content);
		cleanup_close(&job->addresses);
	}
}
