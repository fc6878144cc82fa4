// SPDX-License-Identifier: Apache-2.0
#include "serve/watching.h"

#include "api/json.h"
#include "base/json.h"
#include "ops/watch/watch.h"
#include "serve/audit.h"

#include <string.h>

static int on_ready(void *ctx, size_t processes, struct err *err)
{
	const struct feed_message m = { .kind = FEED_READY, .number = processes };

	(void)err;
	feed_tell(ctx, &m);
	return 0;
}

/* As many of the innermost calls as fit. Takes `doc`, which is {"stack":[...]}. */
static char *fit_stack(struct json_object *doc, size_t room)
{
	struct json_object *stack = json_object_object_get(doc, "stack");
	size_t n;

	while ((n = json_object_array_length(stack)) &&
	       strlen(json_object_to_json_string_ext(doc, JSON_C_TO_STRING_PLAIN)) > room)
		json_object_array_del_idx(stack, n - 1, 1);
	return api_members(doc);
}

/* Function names need the role of profiles; the rest is visible from outside the process. */
static int on_event(void *ctx, const struct ops_watch_event *e, struct err *err)
{
	struct feed_message m = { .kind = FEED_EVENT, .pid = e->pid, .ok = e->ok };
	struct json_object *doc = api_watch_event(e, false), *stack = json_object_new_object();
	char **text = m.text.for_role;

	(void)err;
	json_set(stack, "stack", json_object_get(json_object_object_get(doc, "stack")));
	json_object_object_del(doc, "stack");
	text[WIRE_ROLE_READ] = audit_members("dump", doc);
	if (text[WIRE_ROLE_READ] && strlen(text[WIRE_ROLE_READ]) < EVENT_MAX / 4 * 3)
		text[WIRE_ROLE_PROFILE] = fit_stack(stack, EVENT_MAX / 8);
	else
		json_object_put(stack);
	if (text[WIRE_ROLE_READ])
		feed_tell(ctx, &m);
	else
		feed_lose(ctx, 1);
	feed_message_fini(&m);
	return 0;
}

static int on_lost(void *ctx, uint64_t n, struct err *err)
{
	(void)err;
	feed_lose(ctx, n);
	return 0;
}

static void on_warning(void *ctx, const struct err *warning)
{
	feed_tell(ctx, &(struct feed_message){ .kind = FEED_WARNING, .warning = *warning });
}

int watching_run(const void *ctx, const struct feed_out *out, int stop_fd, struct err *err)
{
	const struct ops_options *options = ctx;
	const struct ops_watch_request request = {
		.all = true,
		.stacks = true,
		.debuginfod = options->debuginfod,
		.stop_fd = stop_fd,
		.out_fd = -1,
		.ready = on_ready,
		.event = on_event,
		.lost = on_lost,
		.on_warning = on_warning,
		.ctx = (void *)out,
	};
	struct ops_watch_summary sum;

	return ops_watch(&request, &sum, err);
}
