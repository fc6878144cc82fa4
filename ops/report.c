// SPDX-License-Identifier: Apache-2.0
#include "ops/report.h"

#include "base/cleanup.h"
#include "io/errand.h"
#include "io/output.h"
#include "ops/explain.h"
#include "ops/profile_file.h"
#include "profile/combine.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define THREADS_LISTED 16

void ops_report_fini(struct ops_report *report)
{
	profile_fini(&report->profile);
	*report = (struct ops_report){ 0 };
}

static int check_thread(const struct profile *p, const struct profile_options *options,
			struct err *err)
{
	const char *name = options->thread_name;
	char list[THREADS_LISTED * 64];
	size_t used = 0;

	if (!options->only_thread)
		return 0;
	for (size_t i = 0; i < p->n_threads; i++) {
		if (name ? !strcmp(p->threads[i].name, name) : p->threads[i].id == options->thread)
			return 0;
	}
	if (name)
		err_raise(err, ERROR_NO_THREAD_OF_NAME_IN_PROFILE, .name = name);
	else
		err_raise(err, ERROR_NO_SUCH_THREAD_IN_PROFILE, .number = (int64_t)options->thread);
	if (!p->n_threads) /* the profile has no threads */
		return -1;
	/* "0 main, 1, 2 io, ..." */
	for (size_t i = 0; i < p->n_threads && used < sizeof(list); i++) {
		const struct profile_thread *t = &p->threads[i];

		if (i == THREADS_LISTED) {
			snprintf(list + used, sizeof(list) - used, ", ...");
			break;
		}
		used += (size_t)snprintf(list + used, sizeof(list) - used, "%s%" PRIu64 "%s%.32s",
					 i ? ", " : "", t->id, *t->name ? " " : "", t->name);
	}
	return err_advise(err, FIX_THREADS_OF_PROFILE, .text = list);
}

static int name_and_select(const struct ops_report_request *r, struct ops_report *out,
			   struct err *err)
{
	struct profile *p = &out->profile;

	if (!p->symbols && ops_symbolize(p, &r->symbols, err))
		return -1;
	if (r->jeprof)
		return profile_names_jeprof(p, err) || profile_filter(p, &r->filter, err) ||
				       profile_regroup_jeprof(p, r->grain, err)
			       ? -1
			       : 0;
	if (profile_filter(p, &r->filter, err) ||
	    (r->fold && profile_fold(p, r->fold, &out->n_folded, err)))
		return -1;
	return r->whole ? 0 : profile_regroup(p, r->grain, err);
}

/* A bundle may say anything: an invalid explanation is left out. */
static void explain(struct ops_report *r)
{
	const char *text = r->profile.facts.explain;
	struct err ignored;

	r->has_memory = text && !explain_parse(text, strlen(text), &r->memory, &ignored);
	if (r->has_memory)
		explain_sampling(&r->memory, r->coverage.added);
}

int ops_report(const struct ops_report_request *request, struct ops_report *out, struct err *err)
{
	_cleanup_(ops_report_fini) struct ops_report got = { 0 };
	struct profile *p = &got.profile;
	const struct profile_set set = {
		.paths = request->files,
		.n_paths = request->n_files,
		.add_snapshots = request->add_snapshots,
		.base = request->base,
		.options = request->options,
		.symbols = &request->symbols,
	};

	if (profile_file_read_all(&set, p, err) || check_thread(p, &request->options, err))
		return -1;
	if (request->drop_negative)
		profile_drop_negative(p);
	for (int t = 0; t < PROFILE_TYPES; t++)
		got.total[t] = profile_total(p, (enum profile_type)t);
	if (!request->base && !request->options.only_thread) {
		got.coverage = profile_coverage_of(p);
		explain(&got);
	}
	if (name_and_select(request, &got, err))
		return -1;
	*out = got;
	got = (struct ops_report){ 0 };
	return 0;
}

int ops_check_file(const char *path, bool force, struct err *err)
{
	_cleanup_(output_close) struct output output = OUTPUT_INIT;

	return output_open(&output, path, force, err);
}

int ops_write_file(const char *path, bool force, memory_file_fn *write, const void *ctx,
		   struct err *err)
{
	_cleanup_(cleanup_close) int fd = -1;
	uint64_t bytes;

	/* What is written to disk is complete, and fits. */
	return memory_file_write(write, ctx, &fd, &bytes, err) ||
			       errand_write(path, force, fd, bytes, err)
		       ? -1
		       : 0;
}
