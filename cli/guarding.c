// SPDX-License-Identifier: Apache-2.0
#include "cli/guarding.h"

#include "base/text.h"

#include <limits.h>
#include <string.h>

#define INTERVAL_MS 1000
#define COOLDOWN_MS 600000
#define AGAIN 10 /* percent */
#define AGAIN_MAX 1000000
#define KEEP 5
#define MAX_BYTES (UINT64_C(1) << 30)
#define ACTION_MS 30000

/* "dump", "record 30s", "sample" */
static int parse_action(const char *text, struct ops_guard_request *r, struct err *err)
{
	static const char *const names[] = {
		[OPS_GUARD_DUMP] = "dump",
		[OPS_GUARD_RECORD] = "record",
		[OPS_GUARD_SAMPLE] = "sample",
	};

	r->action_ms = ACTION_MS;
	for (int i = 0; i <= OPS_GUARD_SAMPLE; i++) {
		const char *rest = text_begins(text, names[i]) ? text + strlen(names[i]) : NULL;

		r->action = (enum ops_guard_action)i;
		if (rest && !*rest)
			return 0;
		if (!rest || *rest != ' ' || r->action == OPS_GUARD_DUMP)
			continue;
		if (text_duration_parse(rest + 1, &r->action_ms, err))
			return -1;
		return r->action_ms ? 0 : err_raise(err, ERROR_MUST_BE_MORE_THAN_0);
	}
	err_raise(err, ERROR_ACTION_UNKNOWN, .text = text);
	return err_advise(err, FIX_ACTIONS);
}

int guard_request(const struct args *args, struct guard_rule rules[TEXTS_MAX],
		  struct ops_guard_request *r, struct err *err)
{
	static const struct texts usual = { .v = { "rss>80%", "cgroup>90%" }, .n = 2 };
	const struct texts *when = args->when.n ? &args->when : &usual;

	if (args->on_event && args->on_event_exec)
		return err_raise(err, ERROR_EXCLUSIVE, .name = "--on-profile",
				 .what = "--on-profile-exec");
	if (args->again > AGAIN_MAX || args->kept > INT_MAX)
		return err_raise(err, ERROR_NOT_IN_RANGE, .number = 0, .limit = AGAIN_MAX,
				 .text = args->again > AGAIN_MAX ? "--again" : "--keep");
	*r = (struct ops_guard_request){
		.policy = { .cooldown_ms = args->cooldown_ms ? args->cooldown_ms : COOLDOWN_MS,
			    .again_percent = args->again < 0 ? AGAIN : (unsigned int)args->again },
		.activate = args->turn_on,
		.keep = args->kept < 0 ? KEEP : (unsigned int)args->kept,
		.max_bytes = args->max_bytes ? args->max_bytes : MAX_BYTES,
		.interval_ms = args->interval_ms ? args->interval_ms : INTERVAL_MS,
		.for_ms = args->for_ms,
		.count = (uint64_t)args->count,
		.on_profile = args->on_event,
		.on_profile_exec = args->on_event_exec,
		.rules = rules,
	};
	if (parse_action(args->action ? args->action : "dump", r, err))
		return err_within(err, ERROR_IN_OPTION, .name = "do");
	for (; r->n_rules < when->n; r->n_rules++) {
		if (guard_rule_parse(when->v[r->n_rules], &rules[r->n_rules], err))
			return err_within(err, ERROR_IN_OPTION, .name = "when");
	}
	return 0;
}

int guard_processes(const struct args *args, struct ops_filter *filter, struct ops_guard_request *r,
		    struct err *err)
{
	bool filtered = args_filter(args, filter);

	if (args->all && (r->n_named || filtered))
		return err_raise(err, ERROR_EXCLUSIVE, .name = "--all", .what = "PID");
	if (!args->all && !r->n_named && !filtered)
		return err_raise(err, ERROR_WATCH_NEEDS_PROCESSES, .name = "guard");
	r->filter = args->all || filtered ? filter : NULL;
	return 0;
}
