// SPDX-License-Identifier: Apache-2.0
/* Private to serve/: the state of the broker. One thread; it only waits in serve.c. */
#ifndef SERVE_BROKER_H
#define SERVE_BROKER_H

#include "serve/certificate.h"
#include "serve/events.h"
#include "serve/feed.h"
#include "serve/front.h"
#include "serve/listen.h"
#include "serve/operate.h"
#include "serve/queue.h"
#include "serve/repair.h"
#include "serve/rules.h"
#include "serve/tokens.h"

#define LOST_MAX 64
#define FEEDS_MAX (1 + SERVE_RULES_MAX)

struct connection {
	uint64_t number;
	struct serve_peer peer;
};

struct broker {
	const struct serve_request *request;
	struct ops_options options; /* of each operation */
	int stop_fd;
	struct listeners listeners;
	struct tokens tokens;
	struct certificate certificate;
	struct front front;
	struct backoff restart; /* of the front */
	struct connection *v;
	size_t n, room;
	uint64_t next;	    /* number of the next connection */
	uint64_t accept_ms; /* out of descriptors: accept none until then, of now_ms() */
	struct queue queue;
	struct store runs;
	struct repair repair; /* of killed runs */
	struct events events;
	struct feed feeds[FEEDS_MAX]; /* the rules, then the watch */
	size_t n_feeds;
	struct rule_work rule_works[SERVE_RULES_MAX];
	struct api_own_rule rules[SERVE_RULES_MAX];
	struct api_own_op ops[WIRE_OPS];     /* counters */
	bool deaf;			     /* the front has closed its end */
	bool behind;			     /* the socket to the front is full: */
	struct wire_to_front lost[LOST_MAX]; /* refusals that are sent later */
	size_t n_lost;
	bool announced;
};

/* Count, log and announce an operation that has ended, was refused or has begun. */
int broker_tell(struct broker *b, const struct job *job, const struct result *r,
		enum wire_refusal refusal, struct err *err) __must_check;

/* Takes `text`. */
void broker_add_event(struct broker *b, pid_t pid, struct event_text *text);

void broker_caution(const struct broker *b, const struct err *warning);

/* False: the socket is full, or the front has exited. */
bool broker_send(struct broker *b, struct wire_to_front *m, int fd);

/* Refuse a request; kept in `lost` while the socket is full. */
void broker_refuse(struct broker *b, uint64_t id, enum wire_role role, enum wire_refusal refusal);

/* The same, and count, log and announce it. */
int broker_refuse_aloud(struct broker *b, const struct wire_to_broker *m,
			const struct serve_peer *peer, enum wire_refusal refusal, struct err *err)
	__must_check;

/* Set job->answer from the result, and seal job->content. */
void broker_make_answer(struct job *job, const struct result *r);

/* Send it to all its askers, until the socket is full. */
void broker_deliver(struct broker *b, struct job *job);

/*
 * In a subprocess of the broker, `own`: close the descriptors of the broker and of its other
 * subprocesses. A list made before fork(2) would not do: a descriptor opened for the subprocess may
 * reuse the number of one that was closed since.
 */
void broker_leave(const struct broker *b, const struct subprocess *own);

#endif
