// SPDX-License-Identifier: Apache-2.0
#include "ops/growth.h"

#include "base/cleanup.h"
#include "io/errand.h"
#include "io/output.h"
#include "ops/profile_file.h"
#include "ops/render.h"
#include "profile/combine.h"

static const struct profile_options whole = { 0 };

int ops_diff_of(const struct profile *before, const struct profile *after, struct ops_diff *out,
		struct err *err)
{
	_cleanup_(ops_diff_fini) struct ops_diff d = { 0 };
	struct profile_series *s = &d.series;

	s->type = profile_default_type(after);
	if (profile_series_add(s, before, err) || profile_series_add(s, after, err) ||
	    profile_series_difference(s, before, after, err))
		return -1;
	d.before = profile_total(before, s->type);
	d.after = profile_total(after, s->type);
	d.before_ns = before->facts.duration_ns;
	d.after_ns = after->facts.duration_ns;
	d.coverage_before = profile_coverage_of(before);
	d.coverage = profile_coverage_of(after);
	s->all.period = after->period;
	if (profile_keep_facts(&s->all, &after->facts, err))
		return -1;
	*out = d;
	d = (struct ops_diff){ 0 };
	return 0;
}

int ops_diff(const char *before, const char *after, const struct ops_symbolize_options *symbols,
	     struct ops_diff *out, struct err *err)
{
	_cleanup_(profile_fini) struct profile a = { 0 };
	_cleanup_(profile_fini) struct profile b = { 0 };
	_cleanup_(ops_diff_fini) struct ops_diff diff = { 0 };

	if (profile_file_read(before, &whole, &a, err) || profile_file_read(after, &whole, &b, err))
		return -1;
	if (ops_symbolize_pair(&a, &b, symbols, err))
		return -1;
	if (ops_diff_of(&a, &b, &diff, err))
		return err_within(err, ERROR_IN_FILE, .path = after);
	if (!diff.series.all.symbols && ops_symbolize(&diff.series.all, symbols, err))
		return -1;
	*out = diff;
	diff = (struct ops_diff){ 0 };
	return 0;
}

int ops_diff_find(struct ops_diff *diff, const struct profile_fold *fold, struct err *err)
{
	profile_diff_fini(&diff->functions);
	profile_diff_fini(&diff->stacks);
	if (fold && profile_fold(&diff->series.all, fold, &diff->n_folded, err))
		return -1;
	return profile_diff(&diff->series, &diff->functions, &diff->stacks, err);
}

int ops_diff_write(const struct ops_diff *diff, enum profile_format format, const char *path,
		   bool force, int stream_fd, struct err *err)
{
	_cleanup_(cleanup_close) int fd = -1;
	struct profile_format_options options = render_plain;
	uint64_t bytes = 0;

	options.functions = &diff->functions;
	options.stacks = &diff->stacks;
	if (render_write(&diff->series.all, format, &options, path, &fd, &bytes, err))
		return -1;
	return path ? errand_write(path, force, fd, bytes, err)
		    : output_copy(stream_fd, "the output stream", fd, bytes, 0, err);
}

void ops_diff_fini(struct ops_diff *diff)
{
	profile_diff_fini(&diff->functions);
	profile_diff_fini(&diff->stacks);
	profile_series_fini(&diff->series);
}
