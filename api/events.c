// SPDX-License-Identifier: Apache-2.0
#include "api/json.h"

#include "base/json.h"
#include "ops/guard/guard.h"
#include "ops/watch/watch.h"

#include <inttypes.h>
#include <json-c/json.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

static struct json_object *frame_json(const struct watch_frame *f)
{
	struct json_object *o = json_object_new_object();
	char text[600];

	snprintf(text, sizeof(text), "0x%" PRIx64, f->addr);
	json_set_text(o, "address", text);
	json_set_text(o, "image", f->image);
	if (f->name)
		snprintf(text, sizeof(text), "%.512s+0x%" PRIx64, f->name, f->offset);
	json_set_text(o, "name", f->name ? text : NULL);
	return o;
}

char *api_members(struct json_object *doc)
{
	const char *text = json_object_to_json_string_ext(
		doc, JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE);
	size_t len = text ? strlen(text) : 0;
	char *members = len > 2 ? strndup(text + 1, len - 2) : NULL;

	json_object_put(doc);
	return members;
}

struct json_object *api_watch_event(const struct ops_watch_event *e, bool since_start)
{
	struct json_object *doc = json_object_new_object(), *stack = json_object_new_array();

	json_set_time(doc, "time", &e->time, 6);
	if (since_start)
		json_set_u64(doc, "since_start_us", e->since_start_us);
	json_set_int(doc, "pid", e->pid);
	json_set_int(doc, "tid", e->tid);
	json_set_text(doc, "comm", e->comm);
	json_set_text(doc, "kind", watch_kind_name(e->kind));
	json_set_text(doc, "file", e->file);
	json_set_text(doc, "host_file", e->host_file);
	json_set_bool(doc, "file_confirmed", e->file_confirmed);
	json_set_bool(doc, "ok", e->ok);
	json_set_text(doc, "error", e->error);
	json_set_u64(doc, "duration_us", e->duration_us);
	json_set(doc, "bytes", e->has_bytes ? json_object_new_uint64(e->bytes) : NULL);
	json_set_text(doc, "source", e->probed ? "uprobe" : "tracepoint");
	json_set_text(doc, "by", e->by_us ? "jeprof-ctl" : NULL);
	json_set_text(doc, "cgroup", e->cgroup[0] ? e->cgroup : NULL);
	json_set_text(doc, "container", e->container[0] ? e->container : NULL);
	for (size_t i = 0; i < e->n_frames; i++)
		json_object_array_add(stack, frame_json(&e->frames[i]));
	json_set(doc, "stack", stack);
	return doc;
}

struct json_object *api_watch_lost(uint64_t n)
{
	struct json_object *doc = json_object_new_object();
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	json_set_time(doc, "time", &now, 6);
	json_set_u64(doc, "lost", n);
	return doc;
}

const char *api_guard_action(enum ops_guard_action action)
{
	static const char *const names[] = {
		[OPS_GUARD_DUMP] = "dump",
		[OPS_GUARD_RECORD] = "record",
		[OPS_GUARD_SAMPLE] = "sample",
	};

	return names[action];
}

struct json_object *api_guard_event(const struct ops_guard_event *e, enum ops_guard_action action)
{
	struct json_object *doc = json_object_new_object(), *error = NULL;
	char warning[ERR_TEXT_SIZE];

	json_set_time(doc, "time", &e->time, 6);
	json_set_int(doc, "pid", e->pid);
	json_set_text(doc, "comm", e->comm);
	json_set_text(doc, "rule", e->rule->text);
	json_set_u64(doc, "rss_bytes", e->rss_bytes);
	json_set_u64(doc, "level_bytes", e->level);
	json_set(doc, "limit_bytes", e->limit ? json_object_new_uint64(e->limit) : NULL);
	json_set_text(doc, "group", e->group);
	json_set_text(doc, "cgroup", e->cgroup);
	json_set_text(doc, "container", e->container[0] ? e->container : NULL);
	json_set_text(doc, "action", api_guard_action(action));
	json_set_bool(doc, "ok", e->ok);
	json_set_text(doc, "file", e->file);
	json_set_text(doc, "before", e->before);
	json_set(doc, "bytes", e->ok ? json_object_new_uint64(e->bytes) : NULL);
	json_set_u64(doc, "took_ms", e->took_ms);
	json_set_u64(doc, "pause_us", e->cost.pause_us);
	json_set_u64(doc, "call_us", e->cost.call_us);
	if (e->ok && e->err.ids[0])
		json_set_text(doc, "warning", api_warning_text(&e->err, warning, sizeof(warning)));
	if (e->ok)
		return doc;
	error = api_error(&e->err);
	json_set(doc, "error", json_object_get(json_object_object_get(error, "error")));
	json_object_put(error);
	return doc;
}
