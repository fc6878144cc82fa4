// SPDX-License-Identifier: Apache-2.0
#include "serve/runs.h"

#include "api/run.h"
#include "base/cleanup.h"
#include "base/text.h"
#include "io/memory_file.h"
#include "io/output.h"
#include "ops/convert.h"
#include "ops/dump.h"
#include "serve/compat.h"
#include "serve/store.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define PROFILE "profile.heap"
#define NAMES_MS 10000

/* --- doing a run --- */

struct doing {
	const struct work *work;
	struct result *result;
	uint64_t duration_ms;
	int lg_sample; /* or OPS_LG_KEEP */
	bool only_off; /* fail if profiling is active: another program turned it on */
	struct ops_options options;
	struct proc proc;
	struct run run;
	uint64_t id;
	struct json_object *doc;
	bool began;
	/* Of a rule, or NULL. */
	const struct serve_rule *rule;
	const struct ops_guard_due *due;
};

static void doing_fini(struct doing *d)
{
	run_close(&d->run);
	json_object_put(d->doc);
	proc_close(&d->proc);
}

static struct doing asked_for(const struct work *w, struct result *r)
{
	const struct wire_to_broker *ask = w->ask;

	return (struct doing){
		.work = w,
		.result = r,
		.duration_ms = ask->duration_ms,
		.lg_sample = ask->flags & WIRE_HAS_LG ? ask->lg_sample : OPS_LG_KEEP,
		.only_off = ask->words,
		.run = RUN_INIT,
	};
}

static uint64_t sample_bytes(const struct doing *d)
{
	return d->lg_sample == OPS_LG_KEEP ? 0 : UINT64_C(1) << d->lg_sample;
}

/* Open the process and write the run to disk, before anything is changed. */
static int prepare(struct doing *d, const char *kind, struct err *err)
{
	const struct wire_to_broker *ask = d->work->ask;
	struct api_run run = {
		.kind = kind,
		.process = &d->proc,
		.duration_ms = d->duration_ms,
		.sample_bytes = sample_bytes(d),
		.by = d->rule ? d->rule->name : d->work->by,
		.due = d->due,
		.action = d->rule ? d->rule->guard.action : OPS_GUARD_DUMP,
	};

	d->id = d->work->run;
	d->options = d->work->options;
	if (proc_open_at(&d->proc, ask->pid, ask->start_time, err))
		return -1;
	d->options.start_time = d->proc.start_time;
	memcpy(d->result->comm, d->proc.status.comm, sizeof(d->result->comm));
	clock_gettime(CLOCK_REALTIME, &run.began);
	if (d->rule ? run_begin_next(d->work->runs, &d->id, &d->run, err)
		    : run_begin(d->work->runs, d->id, &d->run, err))
		return -1;
	run.id = d->id;
	d->doc = api_run(&run);
	if (!run_write(&d->run, d->doc, err))
		return 0;
	run_drop(&d->run);
	return -1;
}

/* The run has begun, which is the answer to the client. */
static void begin(struct doing *d)
{
	_cleanup_(json_close) struct json_object *doc = NULL;
	struct err ignored;

	d->began = d->rule; /* no client waits */
	if (d->rule || store_load(d->work->runs, d->work->run, &doc, &ignored) ||
	    answer_json(d->work,
			d->work->ask->words ? compat_began(d->work->ask, doc, false)
					    : json_object_get(doc),
			&ignored))
		return;
	d->began = write(d->work->began_fd, d->result->comm, sizeof(d->result->comm)) ==
		   sizeof(d->result->comm);
}

/* Symbolize while the process lives: later its files may be gone. */
static void add_names(const struct doing *d, const char *from, const char *to)
{
	_cleanup_(output_close) struct output output = OUTPUT_INIT;
	_cleanup_(cleanup_close) int in = -1;
	_cleanup_(cleanup_close) int out = -1;
	struct ops_convert_request request = { .base = -1, .format = "raw", .pid = d->proc.pid };
	struct ops_options options = d->options;
	char path[PATH_MAX];
	struct err ignored;
	uint64_t bytes;

	/* For a run that was stopped, too. */
	options.stop_fd = -1;
	options.timeout_ms = NAMES_MS;
	in = open(run_file(&d->run, from, path), O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	if (in < 0 || memory_file_make(&out, &ignored))
		return;
	request.profile = in;
	request.out = out;
	/* If this fails, requests symbolize. */
	if (!ops_convert(&request, &options, &ignored) &&
	    !memory_file_size(out, &bytes, &ignored) &&
	    !output_open(&output, run_file(&d->run, to, path), true, &ignored))
		(void)!output_commit(&output, out, bytes, 0, &ignored);
}

/* Write the end of the run to disk, and remove old runs. */
static int end(struct doing *d, int failed, struct err *err)
{
	const struct wire_to_broker *ask = d->work->ask;
	struct err why;
	uint64_t other;

	d->result->began = d->began;
	if (failed && !d->began) {
		run_drop(&d->run);
		other = err->code == ERR_BUSY ? store_find(d->work->runs, ask->pid, 0) : 0;
		if (!other)
			return -1;
		err_raise(err, ERROR_RUN_AT_WORK, .pid = ask->pid, .number = (int64_t)other);
		return err_advise(err, FIX_STOP_RUN, .number = (int64_t)other);
	}
	add_names(d, PROFILE, "profile.raw");
	add_names(d, "profile.base.heap", "profile.base.raw");
	d->result->unkept = run_write(&d->run, d->doc, &why);
	if (d->result->unkept && !failed) {
		*err = why;
		failed = -1;
	}
	store_retain(d->work->runs);
	return failed;
}

/* --- recordings --- */

static void recording_began(void *ctx, const struct ops_cost *cost)
{
	(void)cost;
	begin(ctx);
}

static int record(struct doing *d, struct ops_record *record, struct err *err)
{
	char path[PATH_MAX];
	const struct ops_record_request request = {
		.duration_ms = d->duration_ms,
		.file = run_file(&d->run, PROFILE, path),
		.lg_sample = d->lg_sample,
		.only_off = d->only_off,
		.began = recording_began,
		.ctx = d,
	};
	int failed = ops_record(d->proc.pid, &request, &d->options, record, err);

	if (failed && err->code != ERR_LOST)
		err_explain(err);
	api_run_record_ended(d->doc, record, failed ? err : NULL);
	return failed;
}

int run_do_record(const struct work *w, struct result *r, struct err *err)
{
	_cleanup_(doing_fini) struct doing d = asked_for(w, r);
	_cleanup_(ops_record_fini) struct ops_record got = { 0 };
	int failed;

	if (prepare(&d, "record", err))
		return -1;
	failed = record(&d, &got, err);
	operate_cost(r, &got.cost);
	return end(&d, failed, err);
}

/* --- samplings --- */

static int sampling_began(void *ctx, const struct ops_sample_progress *progress, struct err *err)
{
	(void)progress;
	(void)err;
	begin(ctx);
	return 0;
}

static int sample(struct doing *d, struct ops_sample *sample, struct err *err)
{
	_cleanup_(cleanup_close) int fd = -1;
	char path[PATH_MAX];
	struct ops_sample_request request = {
		.duration_ms = d->duration_ms,
		.sample_bytes = sample_bytes(d),
		.file = run_file(&d->run, PROFILE, path),
		.began = sampling_began,
		.ctx = d,
	};
	int failed = memory_file_make(&fd, err);

	request.fd = fd;
	failed = failed || ops_sample(d->proc.pid, &request, &d->options, sample, err) ? -1 : 0;
	if (failed && err->code != ERR_LOST)
		err_explain(err);
	api_run_sample_ended(d->doc, sample, failed ? err : NULL);
	return failed;
}

int run_do_sample(const struct work *w, struct result *r, struct err *err)
{
	_cleanup_(doing_fini) struct doing d = asked_for(w, r);
	_cleanup_(ops_sample_fini) struct ops_sample got = { 0 };
	int failed;

	if (prepare(&d, "sample", err))
		return -1;
	failed = sample(&d, &got, err);
	operate_cost(r, &got.cost);
	return end(&d, failed, err);
}

/* --- by a rule --- */

static int take_dump(struct doing *d, struct ops_guard_taken *taken, struct err *err)
{
	_cleanup_(ops_dump_fini) struct ops_dump dump = { 0 };
	const struct ops_dump_request request = { .file = taken->file, .stream_fd = -1 };
	int failed = ops_dump(d->proc.pid, &request, &d->options, &dump, err);

	if (failed && err->code != ERR_LOST)
		err_explain(err);
	api_run_dump_ended(d->doc, &dump, failed ? err : NULL);
	taken->cost = dump.cost;
	taken->bytes = dump.bytes;
	taken->warning = dump.warning;
	return failed;
}

static int take_record(struct doing *d, struct ops_guard_taken *taken, struct err *err)
{
	_cleanup_(ops_record_fini) struct ops_record got = { 0 };
	int failed = record(d, &got, err);

	taken->cost = got.cost;
	taken->bytes = got.last_bytes;
	taken->warning = got.warning;
	return failed;
}

static int take_sample(struct doing *d, struct ops_guard_taken *taken, struct err *err)
{
	_cleanup_(ops_sample_fini) struct ops_sample got = { 0 };
	int failed = sample(d, &got, err);

	taken->cost = got.cost;
	taken->bytes = got.bytes;
	taken->warning = *ops_sample_warning(&got);
	return failed;
}

int run_take(const struct store *runs, const struct serve_rule *rule,
	     const struct ops_guard_due *due, const struct ops_options *options,
	     struct ops_guard_taken *taken, struct err *err)
{
	static int (*const actions[])(struct doing * d, struct ops_guard_taken * taken,
				      struct err * err) = {
		[OPS_GUARD_DUMP] = take_dump,
		[OPS_GUARD_RECORD] = take_record,
		[OPS_GUARD_SAMPLE] = take_sample,
	};
	const struct wire_to_broker ask = { .pid = due->pid, .start_time = due->start_time };
	const struct work work = {
		.ask = &ask, .options = *options, .content = -1, .began_fd = -1, .runs = runs
	};
	struct result r = { .err = ERR_INIT };
	_cleanup_(doing_fini) struct doing d = {
		.work = &work,
		.result = &r,
		.duration_ms = rule->guard.action == OPS_GUARD_DUMP ? 0 : rule->guard.action_ms,
		.lg_sample = OPS_LG_KEEP,
		.run = RUN_INIT,
		.rule = rule,
		.due = due,
	};
	int failed;

	if (prepare(&d, "guard", err))
		return -1;
	run_file(&d.run, PROFILE, taken->file);
	failed = end(&d, actions[rule->guard.action](&d, taken, err), err);
	/* One that failed before it began was not kept. */
	taken->number = failed && !d.began ? 0 : d.id;
	return failed;
}

/* --- kept runs --- */

int run_do_list(const struct work *w, struct result *r, struct err *err)
{
	struct json_object *doc, *all;

	(void)r;
	if (store_list(w->runs, w->ask->pid, &all, err))
		return -1;
	doc = json_object_new_object();
	json_set(doc, "runs", all);
	return answer_json(w, doc, err);
}

int run_do_show(const struct work *w, struct result *r, struct err *err)
{
	struct json_object *doc;

	(void)r;
	if (store_load(w->runs, w->ask->run, &doc, err))
		return -1;
	if (w->ask->op != WIRE_RUN_STOP || !api_run_is_running(doc) || !api_run_is_of_rule(doc))
		return answer_json(w, doc, err);
	json_object_put(doc);
	return err_raise(err, ERROR_RUN_OF_RULE, .number = (int64_t)w->ask->run);
}

int run_do_profile(const struct work *w, struct result *r, struct err *err)
{
	const struct wire_to_broker *ask = w->ask;
	_cleanup_(cleanup_close) int profile = -1;
	_cleanup_(cleanup_close) int base = -1;
	struct ops_convert_request request = {
		.format = operate_profile_format(ask->format),
		.max_stacks = operate_max_stacks(ask->format),
		.out = w->content,
	};
	bool growth = ask->base || ask->flags & WIRE_GROWTH;
	uint64_t bytes;

	if (store_open_profile(w->runs, ask->run, false, request.format != NULL, &profile, err) ||
	    (growth && store_open_profile(w->runs, ask->base ? ask->base : ask->run, !ask->base,
					  true, &base, err)))
		return -1;
	/* "run-1795651200.folded" */
	snprintf(r->name, sizeof(r->name), "run-%" PRIu64 "%s%s", ask->run, growth ? ".growth" : "",
		 wire_suffix(ask->format));
	if (!request.format) {
		if (memory_file_size(profile, &bytes, err))
			return -1;
		return output_copy(w->content, "the profile", profile, bytes, 0, err);
	}
	request.profile = profile;
	request.base = base;
	return ops_convert(&request, &w->options, err);
}

int run_do_delete(const struct work *w, struct result *r, struct err *err)
{
	(void)r;
	return store_remove(w->runs, w->ask->run, err);
}
