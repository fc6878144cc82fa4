// SPDX-License-Identifier: Apache-2.0
#include "api/run.h"

#include <string.h>

struct json_object *api_run(const struct api_run *run)
{
	struct json_object *doc = json_object_new_object();
	const struct ops_guard_due *due = run->due;

	json_set_u64(doc, "id", run->id);
	json_set_text(doc, "kind", run->kind);
	json_set_text(doc, "state", "running");
	json_set_int(doc, "pid", run->process->pid);
	json_set_u64(doc, "start_time", run->process->start_time);
	json_set_text(doc, "comm", run->process->status.comm);
	json_set_text(doc, "by", run->by);
	json_set_time(doc, "began", &run->began, 3);
	json_set_u64(doc, "began_ms",
		     (uint64_t)run->began.tv_sec * 1000 + (uint64_t)run->began.tv_nsec / 1000000);
	json_set_u64(doc, "duration_ms", run->duration_ms);
	if (run->sample_bytes)
		json_set_u64(doc, "sample_bytes", run->sample_bytes);
	else
		json_set(doc, "sample_bytes", NULL);
	/* The rule that fired, and why. */
	if (due) {
		json_set_text(doc, "rule.name", run->by);
		json_set_text(doc, "rule.text", due->rule->text);
		json_set_text(doc, "rule.action", api_guard_action(run->action));
		json_set_u64(doc, "rule.rss_bytes", due->rss_bytes);
		json_set_u64(doc, "rule.level_bytes", due->level);
		json_set(doc, "rule.limit_bytes",
			 due->limit ? json_object_new_uint64(due->limit) : NULL);
	}
	json_set(doc, "error", NULL);
	json_set(doc, "result", NULL);
	return doc;
}

static void set_state(struct json_object *doc, const char *state, const struct err *why)
{
	struct json_object *error = why ? api_error(why) : NULL;

	json_set_text(doc, "state", state);
	json_set(doc, "error",
		 error ? json_object_get(json_object_object_get(error, "error")) : NULL);
	json_object_put(error);
}

static void set_end(struct json_object *doc, bool early, const struct ops_cost *cost,
		    const struct err *warning, const struct err *why)
{
	char text[ERR_TEXT_SIZE];

	set_state(doc, why ? "failed" : early ? "stopped" : "done", why);
	json_set_u64(doc, "result.stops", cost->stops);
	json_set_u64(doc, "result.pause_us", cost->pause_us);
	json_set_text(doc, "result.warning",
		      warning->ids[0] ? api_warning_text(warning, text, sizeof(text)) : NULL);
}

static void set_known(struct json_object *doc, const char *path, uint64_t value)
{
	if (value)
		json_set_u64(doc, path, value);
	else
		json_set(doc, path, NULL);
}

void api_run_dump_ended(struct json_object *doc, const struct ops_dump *d, const struct err *why)
{
	set_end(doc, false, &d->cost, &d->warning, why);
	json_set_u64(doc, "result.duration_ms", 0);
}

void api_run_record_ended(struct json_object *doc, const struct ops_record *r,
			  const struct err *why)
{
	set_end(doc, r->early, &r->cost, &r->warning, why);
	json_set_u64(doc, "result.duration_ms", r->duration_ms);
	json_set_bool(doc, "result.adopted", r->adopted);
	json_set_bool(doc, "result.stopped", r->stopped);
	set_known(doc, "result.allocated_before_bytes", r->allocated_before_bytes);
	set_known(doc, "result.allocated_after_bytes", r->allocated_after_bytes);
	set_known(doc, "result.rss_before_bytes", r->rss_before_bytes);
	set_known(doc, "result.rss_after_bytes", r->rss_after_bytes);
}

void api_run_sample_ended(struct json_object *doc, const struct ops_sample *s,
			  const struct err *why)
{
	set_end(doc, s->early, &s->cost, ops_sample_warning(s), why);
	json_set_u64(doc, "result.duration_ms", s->duration_ms);
	json_set_bool(doc, "result.ended", s->ended);
	set_known(doc, "result.allocations", s->allocations);
	json_set_u64(doc, "result.samples", s->samples);
	json_set_u64(doc, "result.lost", s->lost);
	json_set_u64(doc, "result.allocated_bytes", s->allocated_bytes);
	json_set_u64(doc, "result.live_bytes", s->live_bytes);
	json_set_u64(doc, "result.old_bytes", s->old_bytes);
	json_set_u64(doc, "result.overhead_us", s->overhead_us);
}

void api_run_interrupted(struct json_object *doc)
{
	set_state(doc, "interrupted", NULL);
}

void api_run_left(struct json_object *doc)
{
	set_state(doc, "left", NULL);
}

bool api_run_is_running(struct json_object *doc)
{
	const char *state = json_object_get_string(json_object_object_get(doc, "state"));

	return state && !strcmp(state, "running");
}

bool api_run_is_of_rule(struct json_object *doc)
{
	return json_object_object_get(doc, "rule") != NULL;
}

pid_t api_run_pid(struct json_object *doc)
{
	return (pid_t)json_get_u64(doc, "pid");
}

uint64_t api_run_start_time(struct json_object *doc)
{
	return json_get_u64(doc, "start_time");
}

void api_run_now(struct json_object *doc, uint64_t profile_bytes, uint64_t base_bytes,
		 uint64_t all_bytes)
{
	uint64_t duration = json_get_u64(doc, "duration_ms"), began = json_get_u64(doc, "began_ms"),
		 now, past;
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	now = (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
	past = now > began ? now - began : 0;
	if (api_run_is_running(doc)) {
		json_set_u64(doc, "elapsed_ms", past);
		json_set_u64(doc, "remaining_ms", duration > past ? duration - past : 0);
	} else {
		json_set(doc, "elapsed_ms", NULL);
		json_set(doc, "remaining_ms", NULL);
	}
	set_known(doc, "profile_bytes", profile_bytes);
	set_known(doc, "base_bytes", base_bytes);
	json_set_u64(doc, "bytes", all_bytes);
}
