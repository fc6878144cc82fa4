// SPDX-License-Identifier: Apache-2.0
/* How a profile comes back, and where the dumps go that the target makes of itself. */
#include "ops/check.h"

#include "base/cleanup.h"
#include "base/text.h"
#include "ops/inside.h"

static void no_dump(struct ops_check *c, enum err_code code, const char *why)
{
	struct err err = ERR_INIT;

	err_set(&err, code, "%s", why);
	err_fix(&err, "let the target write to a folder of its own: dump --in-target PATH");
	check_failed(c, &err);
}

static void check_dump(const struct session *s, struct ops_check *c)
{
	if (!inside_has_proc(s))
		no_dump(c, ERR_OUTPUT, "there is no /proc in the target's root directory");
	else if (s->cost.stops && s->cost.mode == INJECTOR_INLINE)
		no_dump(c, ERR_FAILED, "a profile comes back only from a thread made for it");
	else
		check_passed(c, "comes back through a memfd");
}

/* When does the target write files without being asked? NULL: never. */
static const char *occasion(const struct check_values *v)
{
	if (v->lg_interval.known && v->lg_interval.number >= 0)
		return "by lg_prof_interval";
	if (v->gdump.known && v->gdump.flag)
		return "by prof_gdump";
	return v->final.known && v->final.flag ? "when it ends" : NULL;
}

static void check_prefix(const struct session *s, const struct check_values *v, struct ops_check *c)
{
	_cleanup_(inside_close) struct inside in = INSIDE_INIT;
	const char *when = occasion(v);
	char prefix[OPS_TEXT_SIZE / 2];
	struct err err = ERR_INIT;

	if (!v->has_prefix)
		return;
	if (!v->prefix[0]) {
		check_passed(c, "opt.prof_prefix is empty: the target writes no dumps of its own");
		return;
	}
	output_safe(v->prefix, prefix, sizeof(prefix));
	if (!inside_open(&in, s, v->prefix, true, &err)) {
		check_passed(c, "the target can write there: %s%s%s", prefix,
			     when ? ", and does so " : "", when ? when : "");
		return;
	}
	if (err.own) {
		check_unknown(c, "%s", err.msg);
		return;
	}
	check_passed(c, "the target cannot write there: %s%s%s", prefix,
		     when ? ", and tries to " : "", when ? when : "");
	if (when)
		check_fix(c, "start it with a prof_prefix in a folder that it may write to");
}

void check_route(const struct session *s, const struct check_values *values, struct ops_check *rows)
{
	check_dump(s, &rows[CHECK_DUMP]);
	check_prefix(s, values, &rows[CHECK_DUMP_PREFIX]);
}
