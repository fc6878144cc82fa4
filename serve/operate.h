// SPDX-License-Identifier: Apache-2.0
/* Private to serve/: operations, each in a subprocess of its own. */
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
	int content;			   /* a memory file for the answer */
	int addresses;			   /* for WIRE_SYMBOLS; or -1 */
	const struct api_own_metrics *own; /* the broker's counters */
	const char *target;		   /* the address that /sd gives */
	const char *node;		   /* the name it gives; NULL: the host name */
	const struct store *runs;	   /* kept runs */
	uint64_t run;			   /* the number of a run that starts, */
	int began_fd;			   /* and the pipe for its comm when it has; or -1 */
	const char *by;			   /* the client, for the run */
	bool tls;			   /* `target` uses TLS */
	const char *one_comm;		   /* of the process for paths without a PID; or NULL */
	const struct broker *broker;	   /* its descriptors are closed first */
	const struct subprocess *process;  /* this one */
};

/* The outcome. The answer itself, which may be an error, is in work->content. */
struct result {
	char comm[PROC_COMM_SIZE]; /* raw; "" if unknown */
	unsigned int stops;
	uint64_t pause_us;
	char name[WIRE_NAME_SIZE]; /* see struct wire_to_front */
	enum wire_reason reason;   /* why it failed, if HTTP has a status for it */
	bool began;		   /* a run that began, which was the answer; this is its end */
	bool unkept;		   /* that end could not be written to disk */
	enum wire_refusal refusal; /* of compat_find(): not one such process, */
	pid_t pid;		   /* or this one */
	uint64_t start_time;
	bool failed;
	struct err err;
};

/* A subprocess_fn; ctx is a struct work. Packs a result; fails only if it cannot. */
int operate_run(void *ctx, int stop_fd, struct pack *answer, struct err *err);

bool operate_unpack(struct unpack *u, struct result *result);

/* Replace the content by an error, as text or as JSON. */
int operate_say(const struct wire_to_broker *ask, int content, const struct err *why,
		struct err *err) __must_check;

/* --- shared by operations --- */

/* Takes `doc`. */
int answer_json(const struct work *w, struct json_object *doc, struct err *err) __must_check;
int answer_text(const struct work *w, const char *text, size_t len, struct err *err) __must_check;

void operate_cost(struct result *r, const struct ops_cost *cost);

/* The name that profile/format/ knows; NULL: jemalloc's own format. */
const char *operate_profile_format(enum wire_format format);

/* Limit for profiles of that format; 0: none. */
size_t operate_max_stacks(enum wire_format format);

#endif
