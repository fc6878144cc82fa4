// SPDX-License-Identifier: Apache-2.0
#include "ops/render.h"

#include "base/cleanup.h"
#include "io/graphviz.h"
#include "io/memory_file.h"
#include "ops/apart/symbol_keeper.h"
#include "ops/growth.h"
#include "ops/profile_file.h"
#include "profile/bound.h"
#include "profile/combine.h"

#include <errno.h>
#include <unistd.h>

const struct profile_format_options render_plain = { .type = PROFILE_INUSE_SPACE };

struct rendering {
	const struct profile *profile;
	enum profile_format format;
	const struct profile_format_options *options;
	const char *path;
};

static int write_plain(FILE *out, const void *ctx, struct err *err)
{
	const struct rendering *r = ctx;

	return profile_write(r->profile, r->format, r->options, out, err);
}

static int write_rendered(FILE *out, const void *ctx, struct err *err)
{
	_cleanup_(cleanup_close) int graph = -1;
	_cleanup_(cleanup_close) int picture = -1;
	const struct rendering *r = ctx;
	const char *type = NULL;
	char buf[65536];
	uint64_t bytes;
	ssize_t n;

	if (r->format == PROFILE_FORMAT_DOT && r->path)
		type = graphviz_type(r->path);
	if (!type)
		return write_plain(out, r, err);
	if (memory_file_write(write_plain, r, &graph, &bytes, err) ||
	    errand_draw(type, graph, &picture, err))
		return -1;
	for (off_t at = 0; (n = pread(picture, buf, sizeof(buf), at)) > 0; at += n)
		if (fwrite(buf, 1, (size_t)n, out) != (size_t)n)
			return err_raise_sys(err, ERROR_PICTURE_UNWRITTEN, errno);
	return n ? err_raise_sys(err, ERROR_PICTURE_UNREADABLE, errno) : 0;
}

int render_into(FILE *out, const struct profile *p, enum profile_format format,
		const struct profile_format_options *options, const char *path, struct err *err)
{
	const struct rendering r = { p, format, options, path };

	return write_rendered(out, &r, err);
}

int render_write(const struct profile *p, enum profile_format format,
		 const struct profile_format_options *options, const char *path, int *fd,
		 uint64_t *bytes, struct err *err)
{
	const struct rendering r = { p, format, options, path };

	return memory_file_write(write_rendered, &r, fd, bytes, err);
}

struct work {
	struct render_request request;
	int fd;
	uint64_t bytes;
	struct ops_symbolize_options symbols;
};

/* The page of a difference marks significant changes, beyond sampling noise. */
static int render_page(const struct work *w, const struct profile *p, const struct profile *base,
		       int *fd, struct err *err)
{
	_cleanup_(ops_diff_fini) struct ops_diff diff = { 0 };
	struct profile_format_options options = render_plain;
	struct profile *all = &diff.series.all;
	uint64_t bytes;

	if (ops_diff_of(base, p, &diff, err) ||
	    (!all->symbols && ops_symbolize(all, &w->symbols, err)) ||
	    ops_diff_find(&diff, NULL, err))
		return -1;
	options.functions = &diff.functions;
	options.stacks = &diff.stacks;
	return render_write(all, w->request.format, &options, w->request.path, fd, &bytes, err);
}

static int render(const struct work *w, int *fd, struct err *err)
{
	static const struct profile_options options = { 0 };
	_cleanup_(profile_fini) struct profile p = { 0 };
	_cleanup_(profile_fini) struct profile base = { 0 };
	const struct render_request *r = &w->request;
	uint64_t bytes;

	if (profile_file_read_fd(w->fd, w->bytes, &options, &p, err))
		return -1;
	if (r->base_bytes && (profile_file_read_fd(r->base, r->base_bytes, &options, &base, err) ||
			      ops_symbolize_pair(&p, &base, &w->symbols, err)))
		return -1;
	if (r->base_bytes && r->format == PROFILE_FORMAT_HTML)
		return render_page(w, &p, &base, fd, err);
	return (r->base_bytes && profile_subtract(&p, &base, err)) ||
			       (!p.symbols && ops_symbolize(&p, &w->symbols, err)) ||
			       profile_bound(&p, r->max_stacks, profile_default_type(&p), err) ||
			       render_write(&p, r->format, &render_plain, r->path, fd, &bytes, err)
		       ? -1
		       : 0;
}

static void render_confined(void *ctx)
{
	const struct work *w = ctx;
	struct err err = ERR_INIT;
	int fd = -1;

	if (render(w, &fd, &err))
		confined_reply(true, &err, NULL, -1);
	else
		errand_done(NULL, fd);
}

int render_apart(const struct render_apart *a, int *fd, uint64_t *bytes, struct err *err)
{
	const struct confined_options options = {
		.what = a->what,
		.policy = { .pid = a->symbols->pid,
			    .pidfd = a->symbols->pidfd,
			    .debuginfod = a->symbols->debuginfod,
			    .temporary_max_bytes = errand_file_max(a->bytes),
			    .no_memory = !a->symbols->pid },
		.fds = a->fds,
		.n_fds = a->n_fds,
		.memory_max_bytes = errand_memory(a->bytes),
		.file_max_bytes = errand_file_max(a->bytes),
	};
	_cleanup_(symbol_keeper_end) struct symbol_keeper keeper = SYMBOL_KEEPER_INIT;
	const struct errand_rules rules = {
		.look_up = symbol_keeper_look_up,
		.keeper = &keeper,
		.debuginfod = a->symbols->debuginfod,
		.on_warning = a->symbols->on_warning,
		.ctx = a->symbols->ctx,
		.deadline_ms = a->deadline_ms,
	};
	_cleanup_(confined_end) struct confined c = CONFINED_UNTIL(a->stop_fd);
	_cleanup_(cleanup_close) int made = -1;
	struct unpack answer;

	if (confined_start(&c, &options, a->fn, a->ctx, err) ||
	    errand_run(&c, &rules, &answer, &made, err) || errand_check(made, &rules, bytes, err))
		return -1;
	symbol_keeper_finish(&keeper, &c);
	*fd = take_fd(made);
	return 0;
}

int render_file(const struct render_request *request, const struct ops_symbolize_options *symbols,
		uint64_t deadline_ms, int stop_fd, int *fd, uint64_t *bytes, struct err *err)
{
	struct work w = { *request, *fd, *bytes, *symbols };
	const int fds[] = { *fd, request->base_bytes ? request->base : -1 };
	const struct render_apart apart = {
		.what = "render the profile",
		.fds = fds,
		.n_fds = 2,
		.bytes = *bytes + request->base_bytes,
		.symbols = symbols,
		.fn = render_confined,
		.ctx = &w,
		.deadline_ms = deadline_ms,
		.stop_fd = stop_fd,
	};
	int rendered;

	w.symbols.on_warning = symbols->on_warning ? errand_warn : NULL;
	if (render_apart(&apart, &rendered, bytes, err))
		return -1;
	close(*fd);
	*fd = rendered;
	return 0;
}

int render_profile(const struct session *s, const struct render_request *request,
		   const struct ops_symbolize_options *symbols, int *fd, uint64_t *bytes,
		   struct err *err)
{
	return render_file(request, symbols, s->timeout_ms, s->options->stop_fd, fd, bytes, err);
}
