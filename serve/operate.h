// SPDX-License-Identifier: Apache-2.0
/* Private to serve/: what is done in the process that an operation has for itself. */
#ifndef SERVE_OPERATE_H
#define SERVE_OPERATE_H

#include "api/metrics.h"
#include "ops/apart/subprocess.h"
#include "serve/serve.h"
#include "serve/store.h"

struct broker;

struct work {
	const struct wire_to_broker *ask;
	struct ops_options options;
	int content;			   /* a memory file, for what is answered */
	int addresses;			   /* of WIRE_SYMBOLS, or -1 */
	const struct api_own_metrics *own; /* of the broker, so far */
	const char *target;		   /* where /sd says that profiles are */
	const char *node;		   /* what it calls this host; NULL: its host name */
	const struct store *runs;	   /* what is kept */
	uint64_t run;			   /* the number of one that begins, */
	int began_fd;			   /* and its comm goes there when it has; -1 */
	const char *by;			   /* who asked for it */
	bool tls;			   /* it speaks TLS */
	const char *one_comm;		   /* of the process that is meant at the root; or NULL */
	const struct broker *broker;	   /* whose descriptors are closed first */
	const struct subprocess *process;  /* that this is */
};

/* How it went. What the answer is, also where it is an error, is in work->content. */
struct result {
	char comm[PROC_COMM_SIZE]; /* raw; "" if unknown */
	unsigned int stops;
	uint64_t pause_us;
	char name[WIRE_NAME_SIZE]; /* see struct wire_to_front */
	enum wire_reason reason;   /* why it failed, where the client minds */
	bool began;		   /* a run: it was answered then, and this is how it ended */
	bool unkept;		   /* what is on disk does not say so */
	enum wire_refusal refusal; /* of compat_find(): there is no such process, */
	pid_t pid;		   /* or it is this one */
	uint64_t start_time;
	bool failed;
	struct err err;
};

/* A subprocess_fn; ctx is struct work. It packs a result, and fails only where it cannot. */
int operate_run(void *ctx, int stop_fd, struct pack *answer, struct err *err);

bool operate_unpack(struct unpack *u, struct result *result);

/* Put an error into the content, in the place of what is there: as text or as JSON. */
int operate_say(const struct wire_to_broker *ask, int content, const struct err *why,
		struct err *err) __must_check;

/* --- what operations share --- */

/* `doc` is taken. */
int answer_json(const struct work *w, struct json_object *doc, struct err *err) __must_check;
int answer_text(const struct work *w, const char *text, size_t len, struct err *err) __must_check;

void operate_cost(struct result *r, const struct ops_cost *cost);

/* As profile/format/ names them; NULL: as jemalloc wrote it. */
const char *operate_profile_format(enum wire_format format);

/* Of such a profile; 0: all. */
size_t operate_max_stacks(enum wire_format format);

#endif
