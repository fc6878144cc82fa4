// SPDX-License-Identifier: Apache-2.0
/* Private to serve/: what parts of the broker share. One thread, which waits in serve.c alone. */
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
#define NOT_OURS 5
#define FEEDS_MAX (1 + SERVE_RULES_MAX)
#define NOT_OURS_MAX (NOT_OURS + LISTENERS_MAX + 2 * FEEDS_MAX)

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
	uint64_t restart_ms; /* when it may be started again, of now_ms() */
	unsigned int failures;
	struct connection *v;
	size_t n, room;
	uint64_t next;	    /* number of a connection */
	uint64_t accept_ms; /* until then there are no descriptors for more */
	struct queue queue;
	struct store runs;
	struct repair repair; /* of runs that were killed */
	struct events events;
	struct feed feeds[FEEDS_MAX]; /* the rules, and behind them who watches */
	size_t n_feeds;
	struct rule_work rule_works[SERVE_RULES_MAX];
	struct api_own_rule rules[SERVE_RULES_MAX];
	struct api_own_op ops[WIRE_OPS];     /* what was done so far */
	bool deaf;			     /* the front takes nothing any more */
	bool behind;			     /* the front does not read as fast as we send: */
	struct wire_to_front lost[LOST_MAX]; /* who is refused is told later */
	size_t n_lost;
	bool announced;
};

/* It has ended, was refused, or goes on from now on: that is counted, and told. */
int broker_tell(struct broker *b, const struct job *job, const struct result *r,
		enum wire_refusal refusal, struct err *err) __must_check;

/* What happened; `text` is taken. */
void broker_add_event(struct broker *b, pid_t pid, struct event_text *text);

void broker_caution(const struct broker *b, const struct err *warning);

/* False: the front does not take any more now. */
bool broker_send(struct broker *b, struct wire_to_front *m, int fd);

/* Nobody waits for an answer that does not come. */
void broker_refuse(struct broker *b, uint64_t id, enum wire_role role, enum wire_refusal refusal);

/* The same, and it is told. */
int broker_refuse_aloud(struct broker *b, const struct wire_to_broker *m,
			const struct serve_peer *peer, enum wire_refusal refusal, struct err *err)
	__must_check;

/* What is answered, from how it went and what is in job->content, which nobody changes any more. */
void broker_make_answer(struct job *job, const struct result *r);

/* To all who wait for it, as far as the front takes them. */
void broker_deliver(struct broker *b, struct job *job);

/* The descriptors that are nothing for our subprocesses. How many there are. */
size_t broker_own_fds(const struct broker *b, int fds[NOT_OURS_MAX]);

#endif
