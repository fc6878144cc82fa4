// SPDX-License-Identifier: Apache-2.0
#include "ops/ops.h"

#include "base/cleanup.h"
#include "ops/record/journal.h"
#include "ops/target/look.h"
#include "ops/target/open.h"
#include "ops/target/run.h"
#include "ops/values.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/*
 * All of these may be read whatever opt.prof is. thread.prof.* is excluded: reading it with
 * opt.prof false makes jemalloc 5.2.1 crash at the end of the thread.
 */
static const char *const names[] = {
	"opt.prof",
	"prof.active",
	"prof.thread_active_init",
	"config.prof",
	"config.prof_libgcc",
	"config.prof_libunwind",
	"config.prof_frameptr",
	"opt.prof_active",
	"opt.prof_thread_active_init",
	"opt.prof_prefix",
	"opt.lg_prof_sample",
	"opt.lg_prof_interval",
	"opt.prof_gdump",
	"opt.prof_final",
	"opt.prof_leak",
	"opt.prof_accum",
	"prof.lg_sample",
	"prof.interval",
	"prof.gdump",
};
#define N_NAMES (sizeof(names) / sizeof(names[0]))
_Static_assert(N_NAMES + 1 <= SESSION_CALLS_MAX, "status reads in one run");

static int read_all(struct session *s, struct ops_value *values, struct err *err)
{
	struct call calls[N_NAMES + 1];
	char version[sizeof(s->version)] = "";

	calls[N_NAMES] = call_read_string("version", version, sizeof(version));
	for (size_t i = 0; i < N_NAMES; i++) {
		values[i].name = names[i];
		values[i].ctl = mallctl_lookup(names[i]);
		values[i].ret = -1;
		if (!values[i].ctl)
			return err_raise(err, ERROR_VALUE_WITHOUT_TYPE, .name = names[i]);
		calls[i] = value_call(&values[i]);
	}
	if (session_run(s, &(struct run){ .calls = calls, .n = N_NAMES + 1, .keep_going = true },
			err))
		return -1;
	for (size_t i = 0; i < N_NAMES; i++) {
		if (!calls[i].made || calls[i].ret == EAGAIN)
			return session_call_failed(s, &calls[i], err);
		values[i].ret = calls[i].ret;
	}
	if (call_succeeded(&calls[N_NAMES]))
		memcpy(s->version, version, sizeof(version));
	return 0;
}

int ops_status(pid_t pid, const struct ops_options *options, struct ops_status *out,
	       struct err *err)
{
	_cleanup_(session_close) struct session s = SESSION_INIT;
	_cleanup_(cleanup_free) struct ops_value *values = NULL;
	struct ops_jemalloc *je = &out->jemalloc;
	struct jemalloc_values ignored;

	if (session_open(&s, pid, options, err))
		return -1;
	values = calloc(N_NAMES, sizeof(*values));
	if (!values)
		return err_no_memory(err);
	if (read_all(&s, values, err) || look_values(&s, &ignored, err) ||
	    look_dump(&s, &je->dump, err))
		return -1;
	snprintf(je->image, sizeof(je->image), "%s", s.je->image->path);
	snprintf(je->version, sizeof(je->version), "%s", s.version);
	snprintf(je->prefix, sizeof(je->prefix), "%s", s.je->prefix);
	snprintf(je->conf_name, sizeof(je->conf_name), "%s", s.je->conf_name);
	je->linkage = s.je->linkage;
	je->others = s.n_jemallocs - 1;
	je->by_scan = s.je->by_scan;
	je->mallctl = s.je->mallctl;
	je->malloc_stats_print = s.je->malloc_stats_print;
	memcpy(je->opt, s.je->opt, sizeof(je->opt));
	je->prof_active = s.je->prof_active;
	journal_look(&s.proc, &out->recording);
	out->cost = s.cost;
	out->values = take_ptr(values);
	out->n = N_NAMES;
	return 0;
}

void ops_status_fini(struct ops_status *status)
{
	free(status->values);
	status->values = NULL;
	status->n = 0;
}
