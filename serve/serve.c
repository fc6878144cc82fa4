// SPDX-License-Identifier: Apache-2.0
#include "serve/serve.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/vec.h"
#include "io/memory_file.h"
#include "serve/broker.h"
#include "serve/compat.h"
#include "serve/feeds.h"
#include "serve/polls.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

_Static_assert(SERVE_NAME_SIZE == WIRE_SUBJECT_SIZE, "it is copied");

#define CONNECTIONS_MAX 1024
#define ACCEPT_AGAIN_MS 100
#define READY_MS 60000 /* for the front to become ready */
#define RESTART_MIN_MS 100
#define RESTART_MAX_MS 5000
#define END_MS 10000 /* for the watch to end, and the front to send the last answers */
#define FDS_MAX (3 + LISTENERS_MAX + FEED_FDS * FEEDS_MAX + 2 * JOBS_MAX)

/* --- the front --- */

/*
 * Forget its requests, and stop their operations, but not runs that have begun. Returns the status
 * of waitpid(2).
 */
static int drop_front(struct broker *b)
{
	int status = front_end(&b->front);

	for (size_t i = 0; i < JOBS_MAX; i++) {
		struct job *job = &b->queue.v[i];

		job->n = 0;
		if (job->state == JOB_RUNNING && !job->began)
			subprocess_stop(&job->process);
		else if (job->state != JOB_RUNNING && job->state != JOB_FREE)
			job_free(job);
	}
	polls_drop(b);
	b->n = b->n_lost = 0;
	b->behind = b->deaf = false;
	return status;
}

static int raise_ended(struct err *err, enum error id, int status)
{
	return err_raise(err, id, .signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0,
			 .number = WIFEXITED(status) ? WEXITSTATUS(status) : 0);
}

static void restart_later(struct broker *b, enum error id, int status)
{
	struct err warning = ERR_INIT;

	raise_ended(&warning, id, status);
	broker_caution(b, &warning);
	backoff_fail(&b->restart, RESTART_MIN_MS, RESTART_MAX_MS, now_ms());
}

static int lose_front(struct broker *b, enum error id, struct err *err)
{
	int status = drop_front(b);

	if (!b->announced)
		return raise_ended(err, ERROR_FRONT_UNREADY, status);
	restart_later(b, id, status);
	return 0;
}

/* --- its certificate --- */

static bool offer_certificate(struct broker *b)
{
	struct wire_to_front m = { .kind = WIRE_CREDENTIALS };

	return broker_send(b, &m, b->certificate.offered);
}

static void keep_certificate(const struct broker *b, struct err *why)
{
	err_within(why, ERROR_CERTIFICATE_KEPT);
	broker_caution(b, why);
}

/* Short-lived certificates are replaced while we run; new connections get the new one. */
static void renew_certificate(struct broker *b)
{
	struct err why = ERR_INIT;
	int changed = certificate_renew(&b->certificate, &why);

	if (changed < 0)
		keep_certificate(b, &why);
	if (changed > 0 && !offer_certificate(b))
		certificate_withdraw(&b->certificate);
}

static int take_loaded(struct broker *b, enum wire_loaded loaded, struct err *err)
{
	struct err why = ERR_INIT;
	int judged = certificate_judged(&b->certificate, loaded, &why);

	if (judged < 0 && !b->announced) {
		*err = why;
		return -1;
	}
	if (judged < 0)
		keep_certificate(b, &why);
	if (judged > 0)
		broker_caution(b, &why);
	return 0;
}

/* A run has begun: send the answer. Its end is handled by take_end(). */
static int take_began(struct broker *b, struct job *job, struct err *err)
{
	struct result r = { .err = ERR_INIT };
	ssize_t got = job->began_fd < 0 ? -1 : read(job->began_fd, r.comm, sizeof(r.comm));

	if (got < 0)
		return 0;
	close(take_fd(job->began_fd));
	if (got != sizeof(r.comm))
		return 0;
	r.comm[sizeof(r.comm) - 1] = '\0';
	job->began = true;
	broker_make_answer(job, &r);
	broker_deliver(b, job);
	return broker_tell(b, job, &r, WIRE_DONE, err);
}

/* The process is known by its pid. */
static int take_known(struct broker *b, struct wire_to_broker *ask, const struct serve_peer *peer,
		      int fd, struct err *err)
{
	struct job *job;

	if (ask->op == WIRE_MESOS_STOP) /* it names no run */
		ask->run = queue_run_of(&b->queue, ask->pid);
	if (wire_ends_run(ask->op) && queue_find_run(&b->queue, ask->run))
		subprocess_stop(&queue_find_run(&b->queue, ask->run)->process);
	job = queue_add(&b->queue, ask, peer, fd, now_ms());
	if (!job)
		return broker_refuse_aloud(b, ask, peer, WIRE_FULL, err);
	if (job->state == JOB_DONE)
		broker_deliver(b, job);
	return 0;
}

/* The process of an open request was looked up: queue it again for all its askers. */
static int take_found(struct broker *b, struct job *job, const struct result *r, struct err *err)
{
	_cleanup_(cleanup_close) int addresses = take_fd(job->addresses);
	struct job of = *job;
	int ret = 0;

	job_free(job);
	of.ask.pid = r->pid;
	of.ask.start_time = r->start_time;
	for (size_t i = 0; i < of.n && !ret; i++) {
		const struct serve_peer *peer = &of.askers[i].peer;

		of.ask.id = of.askers[i].id;
		ret = r->refusal ? broker_refuse_aloud(b, &of.ask, peer, r->refusal, err)
				 : take_known(b, &of.ask, peer, i ? -1 : take_fd(addresses), err);
	}
	return ret;
}

static int end_job(struct broker *b, struct job *job, const struct result *r, struct err *err)
{
	job->state = JOB_DONE;
	job->done_ms = now_ms();
	if (broker_tell(b, job, r, WIRE_DONE, err))
		return -1;
	broker_deliver(b, job);
	return 0;
}

static int take_end(struct broker *b, struct job *job, struct err *err)
{
	_cleanup_(cleanup_free) char *bytes = NULL;
	struct result r = { .err = ERR_INIT };
	struct err why = ERR_INIT, ignored;
	struct unpack answer;
	bool died;

	if (take_began(b, job, err))
		return -1;
	died = subprocess_take(&job->process, &bytes, &answer, &why);
	if (!died && !operate_unpack(&answer, &r)) {
		err_raise(&why, ERROR_CHILD_MALFORMED, .what = "answer");
		died = true;
	}
	if (died)
		r = (struct result){ .failed = true, .err = why };
	if (!died && compat_is_open(&job->ask))
		return take_found(b, job, &r, err);
	if (job->run) {
		queue_age(&b->queue, job->ask.pid);
		b->repair.due |= died || r.unkept;
	}
	if (job->began)
		return end_job(b, job, &r, err);
	if (died)
		(void)!operate_say(&job->ask, job->content, &why, &ignored);
	broker_make_answer(job, &r);
	return end_job(b, job, &r, err);
}

/* --- operations --- */

static int start(struct broker *b, struct job *job, struct err *err)
{
	const struct api_own_metrics own = {
		.ops = b->ops + 1, /* skip WIRE_OP_NONE */
		.n = WIRE_OPS - 1,
		.rules = b->rules,
		.n_rules = b->request->n_rules,
		.workers = (unsigned int)queue_count(&b->queue, JOB_RUNNING),
		.waiting = (unsigned int)queue_count(&b->queue, JOB_WAITING) - 1, /* this one */
	};
	char by[SERVE_NAME_SIZE + 16];
	struct work work = {
		.ask = &job->ask,
		.options = b->options,
		.content = -1,
		.addresses = job->addresses,
		.own = &own,
		.target = b->request->advertise ? b->request->advertise : b->listeners.port,
		.node = b->request->node,
		.tls = b->request->certificate,
		.one_comm = b->request->one_comm,
		.runs = &b->runs,
		.began_fd = -1,
		.by = by,
		.broker = b,
		.process = &job->process,
	};
	int ends[2], ret;

	if (job->peer.transport == WIRE_UNIX)
		snprintf(by, sizeof(by), "uid %u", job->peer.uid);
	else if (job->peer.name[0])
		snprintf(by, sizeof(by), "%s", job->peer.name);
	else
		snprintf(by, sizeof(by), "certificate %s", job->peer.subject);
	if (memory_file_make(&job->content, err))
		return -1;
	work.content = job->content;
	if (wire_is_run(job->ask.op) && !compat_is_open(&job->ask)) {
		/* By this pipe it reports that it has begun. */
		if (pipe2(ends, O_CLOEXEC | O_NONBLOCK))
			return err_raise_sys(err, ERROR_MEMORY_FILE_FAILED, errno, .what = "open");
		job->run = work.run = store_next(&b->runs);
		job->began_fd = ends[0];
		work.began_fd = ends[1];
	}
	ret = subprocess_start(&job->process, operate_run, &work, err);
	cleanup_close(&work.began_fd);
	return ret;
}

static int start_all(struct broker *b, struct err *err)
{
	struct job *job;

	while ((job = queue_next(&b->queue))) {
		struct result r = { .failed = true, .err = ERR_INIT };

		if (!start(b, job, &r.err)) {
			job->state = JOB_RUNNING;
			continue;
		}
		broker_make_answer(job, &r);
		if (end_job(b, job, &r, err))
			return -1;
	}
	return 0;
}

/* The role of the client for this request. Access to the Unix socket is controlled by its mode. */
static enum wire_role role_of(const struct broker *b, const struct wire_to_broker *m,
			      struct serve_peer *peer)
{
	enum wire_role most = b->request->read_only ? WIRE_ROLE_PROFILE : WIRE_ROLE_CONTROL;
	enum wire_role role = WIRE_ROLE_NONE;
	const struct token *token;

	if (peer->transport == WIRE_UNIX)
		return most;
	peer->certified = m->flags & WIRE_HAS_CERTIFICATE && peer->transport == WIRE_TLS &&
			  b->request->client_ca;
	if (peer->certified) {
		memcpy(peer->subject, m->subject, sizeof(peer->subject));
		role = b->request->client_role;
	}
	token = m->flags & WIRE_HAS_TOKEN ? tokens_find(&b->tokens, m->token) : NULL;
	if (token) {
		memcpy(peer->name, token->name, sizeof(peer->name));
		role = token->role > role ? token->role : role;
	}
	return role < most ? role : most;
}

static const struct connection *find_connection(const struct broker *b, uint64_t number)
{
	for (size_t i = 0; i < b->n; i++) {
		if (b->v[i].number == number)
			return &b->v[i];
	}
	return NULL;
}

static int take_ask(struct broker *b, const struct wire_to_broker *m, int fd, struct err *err)
{
	const struct connection *c = find_connection(b, m->connection);
	struct wire_to_broker ask = *m;
	struct serve_peer peer;
	enum wire_refusal refusal;

	if (!c) { /* already closed, or never existed */
		cleanup_close(&fd);
		broker_refuse(b, m->id, WIRE_ROLE_NONE, WIRE_UNKNOWN_PEER);
		return 0;
	}
	peer = c->peer;
	peer.role = role_of(b, m, &peer);
	if (peer.role < wire_role_needed(m)) {
		cleanup_close(&fd);
		return broker_refuse_aloud(b, m, &peer,
					   peer.role ? WIRE_NOT_ALLOWED : WIRE_UNKNOWN_PEER, err);
	}
	if (ask.op == WIRE_EVENTS)
		return polls_take(b, m, &peer, err);
	refusal = compat_resolve(b->request, &ask);
	if (refusal) {
		cleanup_close(&fd);
		return broker_refuse_aloud(b, m, &peer, refusal, err);
	}
	if (take_known(b, &ask, &peer, fd, err))
		return -1;
	return start_all(b, err); /* before the next request is queued */
}

static int take_message(struct broker *b, const struct wire_to_broker *m, int fd, struct err *err)
{
	struct job *job;

	switch (m->kind) {
	case WIRE_READY:
		b->front.ready = true;
		if (b->announced)
			return 0;
		b->announced = true;
		if (b->request->ready(b->request->ctx, b->listeners.where, err))
			return -1;
		listen_notify("READY=1");
		return 0;
	case WIRE_ASK:
		backoff_reset(&b->restart); /* it works */
		return take_ask(b, m, fd, err);
	case WIRE_CANCEL:
		events_cancel(&b->events, m->id);
		job = queue_cancel(&b->queue, m->id);
		if (job)
			subprocess_stop(&job->process);
		return 0;
	case WIRE_LOADED:
		return take_loaded(b, (enum wire_loaded)m->id, err);
	case WIRE_CLOSED:
	default:
		for (size_t i = 0; i < b->n; i++) {
			if (b->v[i].number == m->connection) {
				b->v[i] = b->v[--b->n];
				break;
			}
		}
		return 0;
	}
}

/* Is this kind of message allowed now? */
static bool is_in_turn(const struct broker *b, const struct wire_to_broker *m)
{
	if (m->kind == WIRE_LOADED)
		return b->certificate.offered >= 0;
	return b->front.ready == (m->kind != WIRE_READY);
}

/* Handle a limited number of messages per turn. */
static int hear_front(struct broker *b, struct err *err)
{
	for (int i = 0; i < 64 && b->n_lost < LOST_MAX; i++) {
		struct wire_to_broker m = { 0 };
		int fd, got = wire_receive(b->front.channel, &m, sizeof(m), &fd);

		if (got < 0 && errno == EAGAIN)
			return 0;
		if (!got || (got < 0 && errno == ECONNRESET))
			return lose_front(b, ERROR_FRONT_ENDED, err);
		if (got < 0 || !wire_is_valid(&m, fd >= 0) || !is_in_turn(b, &m)) {
			if (got > 0)
				cleanup_close(&fd);
			return lose_front(b, ERROR_FRONT_MALFORMED, err);
		}
		if (take_message(b, &m, fd, err))
			return -1;
	}
	return 0;
}

/* --- connections --- */

/* TCP clients and other users leave connections for the owner. */
static size_t connections_max(const struct serve_peer *peer)
{
	if (peer->transport != WIRE_UNIX)
		return CONNECTIONS_MAX / 2;
	return peer->uid == geteuid() ? CONNECTIONS_MAX : CONNECTIONS_MAX / 4 * 3;
}

static int take_connection(struct broker *b, size_t listener, struct err *err)
{
	_cleanup_(cleanup_close) int fd = -1;
	struct connection c = { .number = b->next };
	struct wire_to_front m = { .kind = WIRE_CONNECTION, .connection = b->next };

	fd = listener_accept(b->listeners.v[listener], b->listeners.transport[listener], &c.peer);
	if (fd < 0 && (errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS))
		b->accept_ms = now_ms() + ACCEPT_AGAIN_MS;
	if (fd < 0 || b->n >= connections_max(&c.peer))
		return 0;
	if (c.peer.transport == WIRE_TLS)
		renew_certificate(b);
	m.transport = c.peer.transport;
	if (!vec_grow(b->v, b->room, b->n))
		return err_no_memory(err);
	if (broker_send(b, &m, fd)) {
		b->v[b->n++] = c;
		b->next++;
	}
	return 0;
}

/* --- waiting --- */

static struct pollfd readable(int fd)
{
	return (struct pollfd){ .fd = fd, .events = POLLIN };
}

enum { REPAIR = 2, FIRST_LISTENER };

/* stop_fd, the channel, the repair, the listeners, the feeds; then jobs, by job_at[]. */
static size_t gather(const struct broker *b, struct pollfd *fds, size_t *job_at)
{
	bool takes = b->front.ready && !b->behind && now_ms() >= b->accept_ms;
	size_t n = 0;

	fds[n++] = readable(b->stop_fd);
	fds[n] = (struct pollfd){ .fd = b->front.channel, .events = b->behind ? POLLOUT : 0 };
	fds[n++].events |= b->n_lost < LOST_MAX ? POLLIN : 0;
	fds[n++] = readable(b->repair.process.pidfd);
	for (size_t i = 0; i < b->listeners.n; i++)
		fds[n++] = readable(takes ? b->listeners.v[i] : -1);
	n += feeds_gather(b, fds + n);
	for (size_t i = 0; i < JOBS_MAX; i++) {
		const struct job *job = &b->queue.v[i];

		if (job->state != JOB_RUNNING)
			continue;
		job_at[n] = i;
		fds[n++] = readable(job->process.pidfd);
		job_at[n] = i;
		fds[n++] = readable(job->began_fd);
	}
	return n;
}

static uint64_t sooner(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* The timeout for poll(2). */
static int wait_ms(const struct broker *b)
{
	uint64_t now = now_ms(), next = UINT64_MAX;

	if (b->front.pid <= 0)
		next = sooner(next, b->restart.at_ms);
	else if (!b->front.ready)
		next = sooner(next, now + READY_MS / 60);
	else if (b->accept_ms > now)
		next = sooner(next, b->accept_ms);
	next = sooner(next, feeds_next_ms(b));
	next = sooner(next, b->behind ? UINT64_MAX : events_next_ms(&b->events));
	if (queue_count(&b->queue, JOB_DONE))
		next = sooner(next, now + SHARED_MS);
	next = sooner(next, *b->runs.path ? repair_next_ms(&b->repair) : UINT64_MAX);
	return next == UINT64_MAX ? -1 : ms_until(next);
}

static void catch_up(struct broker *b)
{
	size_t told = 0;

	b->behind = false;
	while (told < b->n_lost && broker_send(b, &b->lost[told], -1))
		told++;
	if (!b->behind) /* all were sent, or it has exited */
		told = b->n_lost;
	memmove(b->lost, b->lost + told, (b->n_lost - told) * sizeof(*b->lost));
	b->n_lost -= told;
	for (size_t i = 0; i < JOBS_MAX && !b->behind; i++) {
		if (b->queue.v[i].state == JOB_DONE || b->queue.v[i].began)
			broker_deliver(b, &b->queue.v[i]);
	}
}

/* --- killed runs --- */

static void take_repair(struct broker *b)
{
	struct err why = ERR_INIT;

	if (repair_take(&b->repair, &why))
		broker_caution(b, &why);
}

/* Two descriptors per job: its end, and the beginning of a run. */
static int take_jobs(struct broker *b, const struct pollfd *fds, const size_t *job_at, size_t n,
		     struct err *err)
{
	for (size_t i = 0; i < n; i++) {
		struct job *job = &b->queue.v[job_at[i]];

		if (!fds[i].revents || job->state != JOB_RUNNING)
			continue;
		if (fds[i].fd == job->process.pidfd ? take_end(b, job, err)
						    : take_began(b, job, err))
			return -1;
	}
	return 0;
}

/* 1: stop_fd is readable. */
static int serve_once(struct broker *b, struct err *err)
{
	const struct repair_work work = {
		.broker = b,
		.runs = &b->runs,
		.options = b->options,
	};
	struct pollfd fds[FDS_MAX];
	size_t job_at[FDS_MAX] = { 0 }, n = gather(b, fds, job_at);
	size_t first_feed = FIRST_LISTENER + b->listeners.n;
	size_t first_job = first_feed + FEED_FDS * b->n_feeds;
	struct err why = ERR_INIT;

	if (poll(fds, n, wait_ms(b)) < 0)
		return 0;
	if (fds[0].revents)
		return 1;
	if (fds[REPAIR].revents)
		take_repair(b);
	feeds_take(b, fds + first_feed);
	if (take_jobs(b, fds + first_job, job_at + first_job, n - first_job, err))
		return -1;
	if (fds[1].revents & POLLOUT)
		catch_up(b);
	if (fds[1].revents & ~POLLOUT && hear_front(b, err))
		return -1;
	for (size_t i = FIRST_LISTENER; i < first_feed; i++) {
		if (fds[i].revents && b->front.ready && take_connection(b, i - FIRST_LISTENER, err))
			return -1;
	}
	if (b->front.pid > 0 &&
	    (b->deaf || (!b->front.ready && now_ms() - b->front.begun_ms > READY_MS)) &&
	    lose_front(b, ERROR_FRONT_ENDED, err))
		return -1;
	queue_forget(&b->queue, now_ms());
	if (*b->runs.path && repair_start(&b->repair, &work, &why))
		broker_caution(b, &why);
	feeds_go_on(b);
	return start_all(b, err) ? -1 : polls_answer(b, err);
}

static int revive_front(struct broker *b, struct err *err)
{
	if (b->front.pid > 0 || b->restart.at_ms > now_ms())
		return 0;
	if (!front_start(&b->front, b->request, err)) {
		certificate_restart(&b->certificate);
		/* This only fails if it has exited already. */
		if (b->request->certificate)
			(void)offer_certificate(b);
		return 0;
	}
	if (!b->announced)
		return -1;
	broker_caution(b, err);
	*err = (struct err)ERR_INIT;
	restart_later(b, ERROR_FRONT_ENDED, 0);
	return 0;
}

/* --- the end --- */

/* Jobs that have not started are refused. */
static void refuse_waiting(struct broker *b)
{
	for (size_t i = 0; i < JOBS_MAX; i++) {
		struct job *job = &b->queue.v[i];

		if (job->state != JOB_WAITING)
			continue;
		while (job->n) {
			const struct asker *asker = &job->askers[--job->n];

			broker_refuse(b, asker->id, asker->peer.role, WIRE_FULL);
		}
		job_free(job);
	}
}

/* Meanwhile answers are delivered as usual. */
static void wait_for_jobs(struct broker *b)
{
	struct pollfd fds[FDS_MAX];
	size_t job_at[FDS_MAX] = { 0 }, n = gather(b, fds, job_at), first = FIRST_LISTENER;
	struct err ignored = ERR_INIT;

	fds[0].fd = fds[REPAIR].fd = -1;
	fds[1] = (struct pollfd){ .fd = b->behind ? b->front.channel : -1, .events = POLLOUT };
	first += b->listeners.n;
	for (size_t i = 0; i < FEED_FDS * b->n_feeds; i++)
		fds[first++].fd = -1;
	if (poll(fds, n, -1) < 0)
		return;
	if (fds[1].revents)
		catch_up(b);
	(void)!take_jobs(b, fds + first, job_at + first, n - first, &ignored);
}

/* Stop operations, and deliver their answers. */
static void finish(struct broker *b)
{
	struct wire_to_front end = { .kind = WIRE_END };
	uint64_t until = now_ms() + END_MS;
	bool told;

	listen_notify("STOPPING=1");
	listeners_close(&b->listeners);
	polls_end(b);
	feeds_stop(b);
	refuse_waiting(b);
	for (size_t i = 0; i < JOBS_MAX; i++) {
		if (b->queue.v[i].state == JOB_RUNNING)
			subprocess_stop(&b->queue.v[i].process);
	}
	/* No timeout: one that takes longer is still restoring its target. */
	for (; queue_count(&b->queue, JOB_RUNNING); refuse_waiting(b))
		wait_for_jobs(b);
	/* The front sends the last answers while the rest ends. */
	told = b->front.pid > 0 && broker_send(b, &end, -1);
	feeds_end(b, until);
	if (b->repair.process.pidfd >= 0) {
		subprocess_stop(&b->repair.process);
		take_repair(b);
	}
	if (told) {
		struct pollfd ended = readable(b->front.pidfd);

		poll(&ended, 1, ms_until(until));
	}
}

static int run(struct broker *b, struct err *err)
{
	int ret = 0;

	while (!ret)
		ret = revive_front(b, err) ? -1 : serve_once(b, err);
	return ret < 0 ? -1 : 0;
}

/* If the default folder cannot be opened, serve without keeping runs. */
static int open_runs(struct broker *b, struct err *err)
{
	const struct serve_request *r = b->request;

	b->runs.keep = r->keep;
	b->runs.max_bytes = r->keep_bytes;
	if (r->runs && !*r->runs)
		return 0;
	b->repair.due = true;
	if (!store_open(&b->runs, r->runs, err))
		return 0;
	store_close(&b->runs);
	if (r->runs || err->code == ERR_BUSY)
		return -1;
	broker_caution(b, err);
	*err = (struct err)ERR_INIT;
	return 0;
}

static int refuse_strangers(struct err *err)
{
	err_raise(err, ERROR_LISTEN_NEEDS_TOKENS);
	return err_advise(err, FIX_GIVE_TOKENS);
}

/* All that can fail before the front is started. */
static int open_broker(struct broker *b, struct err *err)
{
	const struct serve_request *r = b->request;
	bool knows_clients = r->tokens || r->client_ca;

	if (r->n_ports && !knows_clients)
		return refuse_strangers(err);
	if ((r->tokens && tokens_read(r->tokens, &b->tokens, err)) ||
	    certificate_renew(&b->certificate, err) < 0 || open_runs(b, err) ||
	    listeners_open(&b->listeners, r, err) || feeds_open(b, err))
		return -1;
	return b->listeners.port[0] && !knows_clients ? refuse_strangers(err) : 0;
}

int serve(const struct serve_request *request, const struct ops_options *options, struct err *err)
{
	_cleanup_(cleanup_free) struct broker *b = NULL;
	int ret;

	b = calloc(1, sizeof(*b));
	if (!b)
		return err_no_memory(err);
	b->request = request;
	b->options = *options;
	b->stop_fd = options->stop_fd;
	b->front = (struct front)FRONT_INIT;
	b->runs = (struct store)STORE_INIT;
	b->repair = (struct repair)REPAIR_INIT;
	b->next = 1;
	for (int op = 0; op < WIRE_OPS; op++)
		b->ops[op].op = wire_op_name((enum wire_op)op);
	events_init(&b->events, events_time_us());
	queue_init(&b->queue, request->workers, request->waiting);
	certificate_init(&b->certificate, request);
	ret = open_broker(b, err);
	if (!ret) {
		ret = run(b, err);
		finish(b);
	}
	drop_front(b);
	certificate_fini(&b->certificate);
	listeners_close(&b->listeners);
	store_close(&b->runs);
	for (size_t i = 0; i < JOBS_MAX; i++)
		job_free(&b->queue.v[i]);
	feeds_close(b);
	events_fini(&b->events);
	free(b->v);
	return ret;
}
