// SPDX-License-Identifier: Apache-2.0
/*
 * Private to serve/: what happened last, and who waits for more. Pure functions, but for memory.
 *
 * The id of an event is the time of it in microseconds since 1970, or more: they increase, also
 * over a restart, as long as the clock does. Who says which was the last that he saw gets all
 * behind it once and in order, or is told that there were others.
 */
#ifndef SERVE_EVENTS_H
#define SERVE_EVENTS_H

#include "serve/serve.h"

#include <stdio.h>

#define EVENTS_MAX 1024
#define EVENTS_BYTES ((size_t)4 << 20) /* of all that are kept */
#define EVENT_MAX ((size_t)64 << 10)   /* of one */
#define ANSWER_MAX ((size_t)1 << 20)   /* with one event at least; the rest comes with the next */
#define WAITERS_MAX 64

/* Members of a JSON object, without its braces; NULL: none. */
struct event_text {
	char *for_role[WIRE_ROLES]; /* who has at least this role sees them; the first is READ's */
};

void event_text_fini(struct event_text *text);

struct event {
	uint64_t id;
	pid_t pid; /* 0: it is of no one process, and of interest to all */
	struct event_text text;
	size_t bytes;
};

/* Who waits. */
struct waiter {
	uint64_t id; /* the front's, of the question; 0: nobody */
	struct wire_to_broker ask;
	struct serve_peer peer;
	uint64_t asked_ms, until_ms; /* of now_ms() */
	uint64_t since;		     /* none behind it, as far as `seen`, is for him */
	uint64_t seen;
	bool lost; /* there were some between what he saw and what is kept */
};

struct events {
	struct event v[EVENTS_MAX]; /* a ring */
	size_t first, n, bytes;
	uint64_t last; /* the newest id, or that of the beginning */
	uint64_t gone; /* the newest that is kept no more, or the same */
	struct waiter waiters[WAITERS_MAX];
};

/* The time since 1970, as the functions below take it. */
uint64_t events_time_us(void);

void events_init(struct events *e, uint64_t time_us);
void events_fini(struct events *e);

/* What happened; `text` is taken. What is longer than EVENT_MAX loses members of higher roles. */
void events_add(struct events *e, pid_t pid, struct event_text *text, uint64_t time_us);

/*
 * `ask` waits from now on. False: too many do, or of this peer alone, who is not the owner, three
 * quarters of that.
 */
bool events_wait(struct events *e, const struct wire_to_broker *ask, const struct serve_peer *peer,
		 uint64_t now_ms);

/* He has gone. */
void events_cancel(struct events *e, uint64_t id);

/* One who is to be answered now; NULL: nobody. */
struct waiter *events_due(struct events *e, uint64_t now_ms);

/* When the time of the next one is over, of now_ms(); UINT64_MAX: nobody waits. */
uint64_t events_next_ms(const struct events *e);

/*
 * What he gets, a line for each event; false: nothing. *next is where he goes on from.
 */
bool events_answer(const struct events *e, const struct waiter *w, FILE *out, uint64_t *next);

#endif
