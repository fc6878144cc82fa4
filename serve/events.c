// SPDX-License-Identifier: Apache-2.0
#include "serve/events.h"

#include "serve/queue.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define OF_PEER (WAITERS_MAX / 4 * 3)
#define FRAME 64 /* bytes of a line besides its members */

void event_text_fini(struct event_text *text)
{
	for (enum wire_role role = WIRE_ROLE_NONE; role < WIRE_ROLES; role++)
		free(text->for_role[role]);
	*text = (struct event_text){ 0 };
}

static size_t size_of(const struct event_text *text)
{
	size_t bytes = FRAME;

	for (enum wire_role role = WIRE_ROLE_READ; role < WIRE_ROLES; role++)
		bytes += text->for_role[role] ? strlen(text->for_role[role]) + 1 : 0;
	return bytes;
}

uint64_t events_time_us(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

void events_init(struct events *e, uint64_t time_us)
{
	memset(e, 0, sizeof(*e));
	e->last = e->gone = time_us;
}

static const struct event *at(const struct events *e, size_t i)
{
	return &e->v[(e->first + i) % EVENTS_MAX];
}

static void drop_oldest(struct events *e)
{
	struct event *oldest = &e->v[e->first];

	e->gone = oldest->id;
	e->bytes -= oldest->bytes;
	event_text_fini(&oldest->text);
	e->first = (e->first + 1) % EVENTS_MAX;
	e->n--;
}

void events_fini(struct events *e)
{
	while (e->n)
		drop_oldest(e);
}

void events_add(struct events *e, pid_t pid, struct event_text *text, uint64_t time_us)
{
	struct event event = { .id = time_us > e->last ? time_us : e->last + 1, .pid = pid };

	for (enum wire_role role = WIRE_ROLES - 1;
	     role > WIRE_ROLE_READ && size_of(text) > EVENT_MAX; role--) {
		free(text->for_role[role]);
		text->for_role[role] = NULL;
	}
	event.bytes = size_of(text);
	event.text = *text;
	*text = (struct event_text){ 0 };
	while (e->n && (e->n == EVENTS_MAX || e->bytes + event.bytes > EVENTS_BYTES))
		drop_oldest(e);
	e->v[(e->first + e->n++) % EVENTS_MAX] = event;
	e->bytes += event.bytes;
	e->last = event.id;
}

/* --- waiters --- */

static size_t waiting(const struct events *e, const struct serve_peer *peer)
{
	size_t n = 0;

	for (size_t i = 0; i < WAITERS_MAX; i++)
		n += e->waiters[i].id && (!peer || serve_peer_is_same(&e->waiters[i].peer, peer));
	return n;
}

static struct waiter *find(struct events *e, uint64_t id)
{
	for (size_t i = 0; i < WAITERS_MAX; i++) {
		if (e->waiters[i].id == id)
			return &e->waiters[i];
	}
	return NULL;
}

bool events_wait(struct events *e, const struct wire_to_broker *ask, const struct serve_peer *peer,
		 uint64_t now_ms)
{
	struct waiter *w = find(e, 0);

	if (!w || (!serve_peer_is_owner(peer) && waiting(e, peer) >= OF_PEER))
		return false;
	*w = (struct waiter){
		.id = ask->id,
		.ask = *ask,
		.peer = *peer,
		.asked_ms = now_ms,
		.until_ms = now_ms + (uint64_t)ask->seconds * 1000,
	};
	if (!(ask->flags & WIRE_HAS_SINCE))
		w->ask.since = e->last;
	/* If the clock was set back before a restart, new ids are smaller: all events are new. */
	w->lost = w->ask.since < e->gone || w->ask.since > e->last;
	w->since = w->seen = w->lost ? e->gone : w->ask.since;
	return true;
}

void events_cancel(struct events *e, uint64_t id)
{
	struct waiter *w = id ? find(e, id) : NULL;

	if (w)
		w->id = 0;
}

static bool is_for(const struct event *event, const struct waiter *w)
{
	return !event->pid || !w->ask.pid || event->pid == w->ask.pid;
}

/* Among the events added since the last call. */
static bool has_some(const struct events *e, struct waiter *w)
{
	for (size_t i = e->n; i-- && at(e, i)->id > w->seen;) {
		if (is_for(at(e, i), w))
			return true;
	}
	w->since = w->seen = e->last;
	return false;
}

struct waiter *events_due(struct events *e, uint64_t now_ms)
{
	for (size_t i = 0; i < WAITERS_MAX; i++) {
		struct waiter *w = &e->waiters[i];

		/* Events it has yet to get were dropped before the front could take an answer. */
		if (w->since < e->gone) {
			w->lost = true;
			w->since = w->seen = e->gone;
		}
		if (w->id && (w->lost || has_some(e, w) || now_ms >= w->until_ms))
			return w;
	}
	return NULL;
}

uint64_t events_next_ms(const struct events *e)
{
	uint64_t next = UINT64_MAX;

	for (size_t i = 0; i < WAITERS_MAX; i++) {
		if (e->waiters[i].id && e->waiters[i].until_ms < next)
			next = e->waiters[i].until_ms;
	}
	return next;
}

/* --- answers --- */

static void print_lost(FILE *out, const struct events *e, const struct waiter *w)
{
	time_t seconds = (time_t)(e->gone / 1000000);
	char date[32];
	struct tm tm;

	strftime(date, sizeof(date), "%Y-%m-%dT%H:%M:%S", gmtime_r(&seconds, &tm));
	fprintf(out,
		"{\"id\":%" PRIu64 ",\"type\":\"lost\",\"time\":\"%s.%06" PRIu64
		"Z\",\"what\":\"events\",\"count\":null,\"since\":%" PRIu64 "}\n",
		e->gone, date, e->gone % 1000000, w->ask.since);
}

bool events_answer(const struct events *e, const struct waiter *w, FILE *out, uint64_t *next)
{
	bool some = w->lost;
	size_t bytes = 0;

	*next = w->since;
	if (w->lost)
		print_lost(out, e, w);
	for (size_t i = 0; i < e->n && bytes < ANSWER_MAX; i++) {
		const struct event *event = at(e, i);

		if (event->id <= w->since)
			continue;
		*next = event->id;
		if (!is_for(event, w))
			continue;
		bytes += (size_t)fprintf(out, "{\"id\":%" PRIu64, event->id);
		for (enum wire_role role = WIRE_ROLE_READ; role <= w->peer.role; role++) {
			if (event->text.for_role[role])
				bytes += (size_t)fprintf(out, ",%s", event->text.for_role[role]);
		}
		bytes += (size_t)fprintf(out, "}\n");
		some = true;
	}
	return some;
}
