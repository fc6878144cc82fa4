// SPDX-License-Identifier: Apache-2.0
/*
 * Private to serve/: a ring of the newest events, and the long polls that wait for more. Pure
 * functions, except for memory.
 *
 * The id of an event is its time in microseconds since 1970, or more: ids increase, across a
 * restart too, unless the clock is set back. A client that names the last id it has seen gets all
 * later events, once and in order, or a "lost" line for those that were dropped.
 */
#ifndef SERVE_EVENTS_H
#define SERVE_EVENTS_H

#include "serve/serve.h"

#include <stdio.h>

#define EVENTS_MAX 1024
#define EVENTS_BYTES ((size_t)4 << 20) /* total */
#define EVENT_MAX ((size_t)64 << 10)   /* of one event */
#define ANSWER_MAX ((size_t)1 << 20)   /* plus one event; the rest is for the next answer */
#define WAITERS_MAX 64

/* Members of a JSON object, without braces; NULL: none. */
struct event_text {
	char *for_role[WIRE_ROLES]; /* visible from this role on; READ is the first */
};

void event_text_fini(struct event_text *text);

struct event {
	uint64_t id;
	pid_t pid; /* 0: about no single process; every waiter gets it */
	struct event_text text;
	size_t bytes;
};

/* A long poll. */
struct waiter {
	uint64_t id; /* of the request, from the front; 0: unused */
	struct wire_to_broker ask;
	struct serve_peer peer;
	uint64_t asked_ms, until_ms; /* of now_ms() */
	uint64_t since;		     /* it gets none of the events after this, up to `seen` */
	uint64_t seen;
	bool lost; /* events were dropped after the one it had seen */
};

struct events {
	struct event v[EVENTS_MAX]; /* a ring */
	size_t first, n, bytes;
	uint64_t last; /* the newest id, or that of the start */
	uint64_t gone; /* the newest id that was dropped, or that of the start */
	struct waiter waiters[WAITERS_MAX];
};

/* CLOCK_REALTIME, as time_us below. */
uint64_t events_time_us(void);

void events_init(struct events *e, uint64_t time_us);
void events_fini(struct events *e);

/* Takes `text`. One longer than EVENT_MAX loses the members for higher roles. */
void events_add(struct events *e, pid_t pid, struct event_text *text, uint64_t time_us);

/*
 * Make `ask` wait. False: there are too many waiters, or three quarters of that many of this peer,
 * unless it is the owner.
 */
bool events_wait(struct events *e, const struct wire_to_broker *ask, const struct serve_peer *peer,
		 uint64_t now_ms);

/* The client has disconnected. */
void events_cancel(struct events *e, uint64_t id);

/* A waiter that is to be answered now, or NULL. */
struct waiter *events_due(struct events *e, uint64_t now_ms);

/* The next deadline of a waiter, of now_ms(); UINT64_MAX: there are none. */
uint64_t events_next_ms(const struct events *e);

/* Print its events, one a line; false: none. *next is the id to continue from. */
bool events_answer(const struct events *e, const struct waiter *w, FILE *out, uint64_t *next);

#endif
