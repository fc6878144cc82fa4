// SPDX-License-Identifier: Apache-2.0
/*
 * A run as JSON: a recording or a sampling that a service makes for its clients, and whose result
 * is kept. The document is written when the run begins, and again when it has ended.
 */
#ifndef API_RUN_H
#define API_RUN_H

#include "api/json.h"
#include "ops/guard/guard.h"

#include <time.h>

/* What is known at the beginning. */
struct api_run {
	uint64_t id;
	const char *kind; /* "record", "sample" or "guard" */
	const struct proc *process;
	struct timespec began;
	uint64_t duration_ms;
	uint64_t sample_bytes; /* 0: the current rate */
	const char *by;	       /* the client or the rule */
	/* For "guard"; NULL: another kind. */
	const struct ops_guard_due *due;
	enum ops_guard_action action;
};

/* The document of a running run. */
struct json_object *api_run(const struct api_run *run);

/* Add how it ended. `why`: the error; NULL: it succeeded. */
void api_run_record_ended(struct json_object *run, const struct ops_record *r,
			  const struct err *why);
void api_run_dump_ended(struct json_object *run, const struct ops_dump *d, const struct err *why);
void api_run_sample_ended(struct json_object *run, const struct ops_sample *s,
			  const struct err *why);

/* The process that made it was killed, and the target was restored. */
void api_run_interrupted(struct json_object *run);
/* The same, but the target has not been restored yet. */
void api_run_left(struct json_object *run);

/* Add volatile members: the elapsed time, and the sizes of the files in bytes; 0: no such file. */
void api_run_now(struct json_object *run, uint64_t profile_bytes, uint64_t base_bytes,
		 uint64_t all_bytes);

/* For a document that was read: */
bool api_run_is_running(struct json_object *run);
bool api_run_is_of_rule(struct json_object *run);
pid_t api_run_pid(struct json_object *run);
uint64_t api_run_start_time(struct json_object *run);

#endif
