// SPDX-License-Identifier: Apache-2.0
/*
 * Private to serve/: a long-running subprocess that reports events to the broker: finished lines,
 * and the numbers that the broker needs. Messages are limited in size and rate; the rest is dropped
 * and counted. A feed that exits is restarted, with a backoff.
 */
#ifndef SERVE_FEED_H
#define SERVE_FEED_H

#include "base/backoff.h"
#include "ops/apart/subprocess.h"
#include "serve/events.h"

#include <stdbool.h>
#include <stdint.h>

#define FEED_PER_S 20

enum feed_kind {
	FEED_READY = 1, /* set up; `number` of processes */
	FEED_EVENT,
	FEED_WARNING,
	FEED_KINDS
};

struct feed_message {
	enum feed_kind kind;
	pid_t pid;
	char comm[PROC_COMM_SIZE]; /* raw; "" if unknown */
	uint64_t number;
	bool ok;
	struct event_text text;
	struct err warning; /* FEED_WARNING */
};

void feed_message_fini(struct feed_message *m);

/* --- in the feed --- */

struct feed_out {
	int sock;
	_Atomic uint64_t *lost; /* in memory shared with the broker */
};

/* Never blocks: without room the message is lost. */
void feed_tell(const struct feed_out *out, const struct feed_message *m);
void feed_lose(const struct feed_out *out, uint64_t n);

/* The main function of a feed; runs until stop_fd is readable. */
typedef int feed_fn(const void *ctx, const struct feed_out *out, int stop_fd, struct err *err);

/* --- in the broker --- */

struct feed {
	feed_fn *fn;
	const void *ctx;
	struct subprocess process;
	int sock; /* -1: closed */
	_Atomic uint64_t *lost;
	uint64_t lost_told;
	uint64_t told_ms;   /* time of the last report of `lost`; all times are of now_ms() */
	uint64_t begun_ms;  /* start of the process */
	uint64_t second_ms; /* start of the second that `heard` counts */
	unsigned int heard;
	struct backoff again;
	bool ready;
	enum error warned; /* the last reported error */
};

/* `ctx` stays the caller's. ERR_FAILED. */
int feed_open(struct feed *f, feed_fn *fn, const void *ctx, struct err *err) __must_check;
/* The process must have ended. */
void feed_close(struct feed *f);

struct broker;

/*
 * Start it if it is due. It first closes the broker's descriptors (NULL: none). True: that failed,
 * and `err` should be reported.
 */
bool feed_start(struct feed *f, const struct broker *b, uint64_t now_ms, struct err *err);

/* The next time to act, besides events of feed_fd() and the process; UINT64_MAX: never. */
uint64_t feed_next_ms(const struct feed *f);

/* The socket to poll for messages; -1: none, or the limit of this second is reached. */
int feed_fd(const struct feed *f, uint64_t now_ms);

/* Receive a message; the caller frees `m`. False: none, or the limit is reached. */
bool feed_hear(struct feed *f, uint64_t now_ms, struct feed_message *m);

/* How many were lost since this last returned nonzero, once per second. Call it each turn. */
uint64_t feed_lost(struct feed *f, uint64_t now_ms);

/* Reap the process; waits for its end. True: `err` should be reported. */
bool feed_take(struct feed *f, uint64_t now_ms, struct err *err);

#endif
