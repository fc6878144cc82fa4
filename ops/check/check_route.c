// SPDX-License-Identifier: Apache-2.0
/* How a profile is returned, and where the target's own dumps go. */
#include "ops/check/parts.h"

#include "base/cleanup.h"
#include "base/text.h"
#include "ops/target/inside.h"
#include "process/room.h"

#include <stdio.h>
#include <sys/stat.h>

static void no_dump(struct ops_check *c, enum error why)
{
	struct err err = ERR_INIT;

	err_raise(&err, why);
	err_advise(&err, FIX_FOLDER_OF_ITS_OWN);
	check_failed(c, &err);
}

#define STANDARD_FDS 3
#define PROFILE_MIN 4096 /* its list of mappings alone is longer */

/*
 * The new thread has its own table with the standard files, as far as they are open. It opens the
 * memory file and, with that one open, the dump: both get the lowest free number.
 */
static bool check_files(const struct session *s, struct ops_check *c)
{
	struct err err = ERR_INIT;
	uint64_t need = 2, now;
	struct stat st;
	char path[64];

	for (int fd = 0; fd < STANDARD_FDS; fd++) {
		snprintf(path, sizeof(path), "/proc/%d/fd/%d", s->proc.mm_pid, fd);
		need += !lstat(path, &st);
	}
	if (!room_rlimit(s->proc.pid, RLIMIT_NOFILE, &now)) {
		check_unread(c, "the limits of the process cannot be read");
		return false;
	}
	if (now >= need)
		return true;
	err_raise(&err, ERROR_FILES_LIMITED, .number = (int64_t)now, .count = (int64_t)need);
	err_advise(&err, FIX_RAISE_NOFILE_TO, .pid = s->proc.pid);
	check_failed(c, &err);
	return false;
}

static bool check_size(const struct session *s, struct ops_check *c)
{
	struct err err = ERR_INIT;
	uint64_t now;
	char text[ERR_TEXT_SIZE];

	if (!room_rlimit(s->proc.pid, RLIMIT_FSIZE, &now)) {
		check_unread(c, "the limits of the process cannot be read");
		return false;
	}
	if (now == RLIM_INFINITY)
		return true;
	err_raise(&err, ERROR_DUMP_CUT_OFF, .size = (int64_t)now);
	err_advise(&err, FIX_LIFT_FSIZE_SOFT, .pid = s->proc.pid);
	if (now < PROFILE_MIN) {
		check_failed(c, &err);
		return false;
	}
	check_passed(c, "is returned through a memfd; %s", err_text(&err, text, sizeof(text)));
	c->err = err;
	c->err.code = ERR_NONE;
	return false;
}

/* When does the target write files without being asked? NULL: never. */
static const char *occasion(const struct check_values *v)
{
	if (v->lg_interval.known && v->lg_interval.number >= 0)
		return "by lg_prof_interval";
	if (v->gdump.known && v->gdump.flag)
		return "by prof_gdump";
	return v->final.known && v->final.flag ? "at exit" : NULL;
}

void check_route(const struct session *s, const struct check_values *values, struct ops_check *rows)
{
	_cleanup_(inside_close) struct inside in = INSIDE_INIT;
	struct ops_check *dump = &rows[CHECK_DUMP], *own = &rows[CHECK_DUMP_PREFIX];
	const char *when = occasion(values);
	char prefix[OPS_TEXT_SIZE / 2];
	struct err err = ERR_INIT, barred = ERR_INIT;

	if (!inside_has_proc(s))
		no_dump(dump, ERROR_NO_PROC_IN_ROOT);
	else if (!s->cost.stops)
		check_unknown(dump, "no call could be made, so this is unknown");
	else if (injector_may_dump(s->inj, &err))
		check_failed(dump, &err);
	else if (s->last.thread_punished)
		no_dump(dump, ERROR_DUMP_THREAD_PUNISHED);
	else if (check_files(s, dump) && check_size(s, dump))
		check_passed(dump, "is returned through a memfd");

	if (!values->has_prefix)
		return;
	if (!values->prefix[0]) {
		check_passed(own,
			     "opt.prof_prefix is empty: the target writes no dumps of its own");
		return;
	}
	output_safe(values->prefix, prefix, sizeof(prefix));
	if (!inside_open(&in, s, values->prefix, true, &barred)) {
		check_passed(own, "the target can write there: %s%s%s", prefix,
			     when ? ", and does so " : "", when ? when : "");
		return;
	}
	if (barred.own) {
		check_unread_for(own, &barred);
		return;
	}
	check_passed(own, "the target cannot write there: %s%s%s", prefix,
		     when ? ", and tries to " : "", when ? when : "");
	if (when)
		err_advise(&own->err, FIX_START_WITH_PREFIX);
}
