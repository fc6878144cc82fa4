// SPDX-License-Identifier: Apache-2.0
#include "serve/rules.h"

#include "api/json.h"
#include "serve/audit.h"
#include "serve/runs.h"

#include <string.h>

/* For the callbacks. */
struct at_work {
	const struct rule_work *work;
	const struct feed_out *out;
};

static int on_ready(void *ctx, size_t processes, struct err *err)
{
	const struct at_work *a = ctx;
	const struct feed_message m = { .kind = FEED_READY, .number = processes };

	(void)err;
	feed_tell(a->out, &m);
	return 0;
}

static void on_warning(void *ctx, const struct err *warning)
{
	const struct at_work *a = ctx;
	struct feed_message m = { .kind = FEED_WARNING, .warning = *warning };

	if (a->work->rule->by_default && warning->ids[0] == ERROR_RULE_UNSEEN)
		return;
	err_within(&m.warning, ERROR_IN_RULE, .name = a->work->rule->name);
	feed_tell(a->out, &m);
}

static int on_event(void *ctx, const struct ops_guard_event *e, struct err *err)
{
	const struct at_work *a = ctx;
	const struct serve_rule *rule = a->work->rule;
	struct feed_message m = {
		.kind = FEED_EVENT, .pid = e->pid, .number = e->number, .ok = e->ok
	};
	struct json_object *doc = api_guard_event(e, rule->guard.action);

	(void)err;
	memcpy(m.comm, e->comm, sizeof(m.comm));
	/* The run has the files. */
	json_object_object_del(doc, "file");
	json_object_object_del(doc, "before");
	json_set_text(doc, "name", rule->name);
	json_set(doc, "run", e->number ? json_object_new_uint64(e->number) : NULL);
	m.text.for_role[WIRE_ROLE_READ] = audit_members("rule", doc);
	feed_tell(a->out, &m);
	feed_message_fini(&m);
	if (!e->ok)
		on_warning(ctx, &e->err);
	return 0;
}

static int take(void *ctx, const struct ops_guard_due *due, const struct ops_options *options,
		struct ops_guard_taken *taken, struct err *err)
{
	const struct at_work *a = ctx;

	return run_take(a->work->runs, a->work->rule, due, options, taken, err);
}

int rules_run(const void *ctx, const struct feed_out *out, int stop_fd, struct err *err)
{
	const struct rule_work *work = ctx;
	struct at_work at_work = { work, out };
	struct ops_guard_request request = work->rule->guard;
	struct ops_options options = work->rule->options;
	struct ops_guard_summary sum;

	request.take = take;
	request.ready = on_ready;
	request.event = on_event;
	request.on_warning = on_warning;
	request.ctx = &at_work;
	request.out_fd = -1;
	options.stop_fd = stop_fd;
	return ops_guard(&request, &options, &sum, err);
}
