// SPDX-License-Identifier: Apache-2.0
#include "serve/audit.h"

#include "api/json.h"
#include "base/cleanup.h"

#include <stdio.h>

const char *serve_verdict(const struct serve_event *e)
{
	static const char *const words[WIRE_REFUSALS] = {
		[WIRE_UNKNOWN_PEER] = "unknown",
		[WIRE_NOT_ALLOWED] = "denied",
		[WIRE_FULL] = "full",
		[WIRE_NO_ONE] = "none",
		[WIRE_SEVERAL] = "several",
	};

	return e->refusal ? words[e->refusal] : e->began ? "began" : e->ok ? "ok" : "failed";
}

/* A field that the log omits is null. */
static void set_known(struct json_object *doc, const char *name, bool known, uint64_t value)
{
	json_set(doc, name, known ? json_object_new_uint64(value) : NULL);
}

static struct json_object *operation(const struct serve_event *e)
{
	struct json_object *doc = json_object_new_object();
	bool done = !e->refusal;
	char text[ERR_TEXT_SIZE];

	json_set_time(doc, "time", &e->time, 6);
	json_set_text(doc, "op", e->op);
	json_set_text(doc, "result", serve_verdict(e));
	set_known(doc, "pid", e->pid, (uint64_t)e->pid);
	json_set_text(doc, "comm", e->comm[0] ? e->comm : NULL);
	set_known(doc, "run", e->run, e->run);
	set_known(doc, "bytes", done, e->bytes);
	set_known(doc, "stops", done, e->stops);
	set_known(doc, "pause_us", done, e->pause_us);
	set_known(doc, "ms", done, e->took_ms);
	set_known(doc, "shared", done, e->shared);
	json_set_text(doc, "error", done && !e->ok ? err_text(e->err, text, sizeof(text)) : NULL);
	return doc;
}

static struct json_object *asker(const struct serve_peer *peer)
{
	struct json_object *doc = json_object_new_object();

	if (peer->transport == WIRE_UNIX) {
		json_set_u64(doc, "uid", peer->uid);
		json_set_int(doc, "client", peer->pid);
		return doc;
	}
	json_set_text(doc, "address", peer->address);
	json_set_text(doc, "token", peer->name[0] ? peer->name : NULL);
	if (peer->transport == WIRE_TLS)
		json_set_text(doc, "certificate", peer->certified ? "verified" : NULL);
	if (peer->certified)
		json_set_text(doc, "subject", peer->subject);
	return doc;
}

char *audit_members(const char *type, struct json_object *doc)
{
	_cleanup_(cleanup_free) char *members = api_members(doc);
	char *text = NULL;

	return members && asprintf(&text, "\"type\":\"%s\",%s", type, members) > 0 ? text : NULL;
}

bool audit_text(const struct serve_event *e, struct event_text *text)
{
	*text = (struct event_text){ 0 };
	text->for_role[WIRE_ROLE_READ] = audit_members("operation", operation(e));
	text->for_role[WIRE_ROLE_CONTROL] = api_members(asker(&e->peer));
	if (text->for_role[WIRE_ROLE_READ] && text->for_role[WIRE_ROLE_CONTROL])
		return true;
	event_text_fini(text);
	return false;
}
