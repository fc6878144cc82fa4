// SPDX-License-Identifier: Apache-2.0
/*
 * A run as JSON: a recording, or a sampling, that a service does for its clients, and whose result
 * is kept. The document is written when it begins, and again when it has ended.
 */
#ifndef API_RUN_H
#define API_RUN_H

#include "api/json.h"
#include "ops/guard/guard.h"
#include "ops/sample/sample.h"

#include <time.h>

/* What is known when it begins. */
struct api_run {
	uint64_t id;
	const char *kind; /* "record", "sample" or "guard" */
	const struct proc *process;
	struct timespec began;
	uint64_t duration_ms;
	uint64_t sample_bytes; /* 0: as it is */
	const char *by;	       /* the client or the rule */
	/* Of "guard"; NULL: it is none. */
	const struct ops_guard_due *due;
	enum ops_guard_action action;
};

/* It is running. */
struct json_object *api_run(const struct api_run *run);

/* How it ended: `why` is NULL, or why it failed. */
void api_run_record_ended(struct json_object *run, const struct ops_record *r,
			  const struct err *why);
void api_run_dump_ended(struct json_object *run, const struct ops_dump *d, const struct err *why);
void api_run_sample_ended(struct json_object *run, const struct ops_sample *s,
			  const struct err *why);

/* Whoever did it was killed, and its process was put back. */
void api_run_interrupted(struct json_object *run);
/* The same, and it was not yet. */
void api_run_left(struct json_object *run);

/* What is true now alone: how long it has taken, and the files there are, in bytes; 0: none. */
void api_run_now(struct json_object *run, uint64_t profile_bytes, uint64_t base_bytes,
		 uint64_t all_bytes);

/* Of a document that was read: */
bool api_run_is_running(struct json_object *run);
bool api_run_is_of_rule(struct json_object *run);
pid_t api_run_pid(struct json_object *run);
uint64_t api_run_start_time(struct json_object *run);

#endif
