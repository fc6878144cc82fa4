// SPDX-License-Identifier: Apache-2.0
/*
 * Private to serve/: a process that goes on, and tells the broker what it sees: finished lines, and
 * the numbers that the broker needs. What comes is bounded in size and per second: the rest is
 * lost, and counted. One that ends is started again, later each time.
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
	FEED_READY = 1, /* all is in place; `number`: of so many processes */
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

/* --- in that process --- */

struct feed_out {
	int sock;
	_Atomic uint64_t *lost; /* shared with the broker */
};

/* It never waits. */
void feed_tell(const struct feed_out *out, const struct feed_message *m);
void feed_lose(const struct feed_out *out, uint64_t n);

/* Until stop_fd. */
typedef int feed_fn(const void *ctx, const struct feed_out *out, int stop_fd, struct err *err);

/* --- in the broker --- */

struct feed {
	feed_fn *fn;
	const void *ctx;
	struct subprocess process;
	int sock; /* -1: there is none */
	_Atomic uint64_t *lost;
	uint64_t lost_told;
	uint64_t told_ms;   /* when it was told, of now_ms(), as all here */
	uint64_t begun_ms;  /* when it began */
	uint64_t second_ms; /* the second in which `heard` came */
	unsigned int heard;
	struct backoff again;
	bool ready;
	enum error warned; /* of what was warned last */
};

/* `ctx` stays the caller's. ERR_FAILED. */
int feed_open(struct feed *f, feed_fn *fn, const void *ctx, struct err *err) __must_check;
/* It has ended. */
void feed_close(struct feed *f);

struct broker;

/*
 * Start it if it is due; it closes the broker's descriptors first (NULL: none). True: that failed,
 * and `err` is worth a warning.
 */
bool feed_start(struct feed *f, const struct broker *b, uint64_t now_ms, struct err *err);

/* When something is to be done, besides what feed_fd() and its process say; UINT64_MAX: never. */
uint64_t feed_next_ms(const struct feed *f);

/* What to wait for: messages, as far as they may come now; or -1. */
int feed_fd(const struct feed *f, uint64_t now_ms);

/* One that came: `m` is the caller's. False: none, or no more now. */
bool feed_hear(struct feed *f, uint64_t now_ms, struct feed_message *m);

/* How many were lost since this was not 0: at most once per second. It is called each turn. */
uint64_t feed_lost(struct feed *f, uint64_t now_ms);

/* It has ended, or is waited for. True: `err` is worth a warning. */
bool feed_take(struct feed *f, uint64_t now_ms, struct err *err);

#endif
