// SPDX-License-Identifier: Apache-2.0
#include "serve/feeds.h"

#include "api/json.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "serve/audit.h"
#include "serve/watching.h"

#include <poll.h>
#include <signal.h>
#include <string.h>
#include <time.h>

int feeds_open(struct broker *b, struct err *err)
{
	const struct serve_request *r = b->request;

	if (r->n_rules && !*b->runs.path)
		return err_raise(err, ERROR_RULES_NEED_RUNS), err_advise(err, FIX_GIVE_RUNS);
	for (size_t i = 0; i < r->n_rules; i++) {
		b->rules[i].name = r->rules[i].name;
		b->rule_works[i] = (struct rule_work){ &r->rules[i], &b->runs };
		if (feed_open(&b->feeds[i], rules_run, &b->rule_works[i], err))
			return -1;
		b->n_feeds++;
	}
	if (!r->watch)
		return 0;
	if (feed_open(&b->feeds[b->n_feeds], watching_run, &b->options, err))
		return -1;
	b->n_feeds++;
	return 0;
}

void feeds_close(struct broker *b)
{
	for (size_t i = 0; i < b->n_feeds; i++)
		feed_close(&b->feeds[i]);
	b->n_feeds = 0;
}

/* NULL: it is the watch. */
static const struct serve_rule *rule_of(const struct broker *b, size_t i)
{
	return i < b->request->n_rules ? &b->request->rules[i] : NULL;
}

static void caution(const struct broker *b, size_t i, struct err *why)
{
	if (rule_of(b, i))
		err_within(why, ERROR_RULE_ENDED, .name = rule_of(b, i)->name);
	else
		err_within(why, ERROR_UNWATCHED_DUMPS);
	broker_caution(b, why);
}

static void tell_lost(struct broker *b, const char *what, uint64_t n)
{
	struct json_object *doc = json_object_new_object();
	struct event_text text = { 0 };
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	json_set_time(doc, "time", &now, 6);
	json_set_text(doc, "what", what);
	json_set_u64(doc, "count", n);
	text.for_role[WIRE_ROLE_READ] = audit_members("lost", doc);
	if (text.for_role[WIRE_ROLE_READ])
		broker_add_event(b, 0, &text);
}

void feeds_go_on(struct broker *b)
{
	for (size_t i = 0; i < b->n_feeds; i++) {
		struct err why = ERR_INIT;
		uint64_t lost = feed_lost(&b->feeds[i], now_ms());

		if (lost)
			tell_lost(b, rule_of(b, i) ? "rules" : "dumps", lost);
		if (feed_start(&b->feeds[i], b, now_ms(), &why))
			caution(b, i, &why);
	}
}

uint64_t feeds_next_ms(const struct broker *b)
{
	uint64_t next = UINT64_MAX;

	for (size_t i = 0; i < b->n_feeds; i++) {
		uint64_t at = feed_next_ms(&b->feeds[i]);

		next = at < next ? at : next;
	}
	return next;
}

size_t feeds_gather(const struct broker *b, struct pollfd *fds)
{
	size_t n = 0;

	for (size_t i = 0; i < b->n_feeds; i++) {
		const struct feed *f = &b->feeds[i];

		fds[n++] = (struct pollfd){ .fd = f->process.pidfd, .events = POLLIN };
		fds[n++] = (struct pollfd){ .fd = feed_fd(f, now_ms()), .events = POLLIN };
	}
	return n;
}

/* Count and log it like a client's operation. */
static int tell_rule(struct broker *b, size_t i, const struct feed_message *m, struct err *err)
{
	const struct err unsaid = ERR_INIT;
	struct serve_event e = {
		.op = "rule",
		.rule = b->rules[i].name,
		.pid = m->pid,
		.run = m->number,
		.ok = m->ok,
		.err = &unsaid,
	};

	if (m->ok)
		b->rules[i].ok++;
	else
		b->rules[i].failed++;
	b->repair.due |= !m->ok; /* the process that took it may have been killed */
	queue_age(&b->queue, m->pid);
	clock_gettime(CLOCK_REALTIME, &e.time);
	memcpy(e.comm, m->comm, sizeof(e.comm));
	return b->request->event(b->request->ctx, &e, err);
}

static void hear(struct broker *b, size_t i)
{
	const struct serve_request *r = b->request;
	struct feed_message m;

	while (feed_hear(&b->feeds[i], now_ms(), &m)) {
		struct err ignored = ERR_INIT;

		if (m.kind == FEED_READY)
			r->watching(r->ctx, rule_of(b, i), m.number);
		if (m.kind == FEED_EVENT && rule_of(b, i))
			(void)!tell_rule(b, i, &m, &ignored);
		if (m.kind == FEED_EVENT && m.text.for_role[WIRE_ROLE_READ])
			broker_add_event(b, m.pid, &m.text);
		if (m.kind == FEED_WARNING)
			broker_caution(b, &m.warning);
		feed_message_fini(&m);
	}
}

void feeds_take(struct broker *b, const struct pollfd *fds)
{
	for (size_t i = 0; i < b->n_feeds; i++) {
		struct feed *f = &b->feeds[i];
		struct err why = ERR_INIT;

		if (fds[i * FEED_FDS + 1].revents)
			hear(b, i);
		if (!fds[i * FEED_FDS].revents)
			continue;
		if (feed_take(f, now_ms(), &why))
			caution(b, i, &why);
		b->repair.due |= rule_of(b, i) != NULL; /* its runs may have been killed with it */
	}
}

void feeds_stop(const struct broker *b)
{
	for (size_t i = 0; i < b->n_feeds; i++)
		subprocess_stop(&b->feeds[i].process);
}

void feeds_end(struct broker *b, uint64_t until_ms)
{
	struct err ignored = ERR_INIT;

	for (size_t i = 0; i < b->n_feeds; i++) {
		struct feed *f = &b->feeds[i];

		if (f->process.pidfd >= 0) {
			struct pollfd ended = { .fd = f->process.pidfd, .events = POLLIN };

			/* The watch has no target to restore. */
			if (!rule_of(b, i) && !poll(&ended, 1, ms_until(until_ms)))
				kill(f->process.pid, SIGKILL);
			(void)feed_take(f, now_ms(), &ignored);
		}
		hear(b, i);
	}
}
