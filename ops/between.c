// SPDX-License-Identifier: Apache-2.0
#include "base/cleanup.h"
#include "base/clock.h"
#include "io/output.h"
#include "ops/dump.h"
#include "ops/ops.h"
#include "ops/render.h"
#include "ops/target/open.h"

#include <limits.h>
#include <poll.h>
#include <unistd.h>

/* The process of both dumps. */
struct between {
	const struct ops_dump_request *request;
	struct ops_options options;
	struct proc proc;
	uint64_t program, begun_ms;
	struct ops_dump dump; /* of both */
};

static void close_between(struct between *b)
{
	proc_close(&b->proc);
}

static int take(struct between *b, struct session *s, int *fd, uint64_t *bytes, struct err *err)
{
	struct ops_cost before;

	if (session_open_proc(s, b->proc.pid, &b->options, err) || session_may_trace(s, err) ||
	    session_find_jemalloc(s, err) || dump_check_memory(s, err) ||
	    session_open_injector(s, err) || dump_take(s, b->request, "-", fd, &b->dump, err))
		return -1;
	*bytes = b->dump.bytes;
	before = b->dump.cost;
	b->dump.cost = s->cost;
	cost_add(&b->dump.cost, &before);
	return 0;
}

static int take_first(struct between *b, int *fd, uint64_t *bytes, struct err *err)
{
	_cleanup_(session_close) struct session s = SESSION_INIT;

	return take(b, &s, fd, bytes, err);
}

static int wait_until(const struct between *b, uint64_t until_ms, struct err *err)
{
	struct pollfd fds[] = {
		{ .fd = b->options.stop_fd, .events = POLLIN },
		{ .fd = b->proc.pidfd, .events = POLLIN },
	};

	for (uint64_t now = now_ms(); now < until_ms; now = now_ms()) {
		uint64_t left = until_ms - now;

		if (poll(fds, 2, left < INT_MAX ? (int)left : INT_MAX) <= 0)
			continue;
		if (!fds[1].revents)
			return err_raise(err, ERROR_INTERRUPTED);
		return err_raise(err, ERROR_TARGET_ENDED, .pid = b->proc.pid,
				 .comm = b->proc.status.comm);
	}
	return 0;
}

/* After an execve(2), its mappings and all its memory are new. */
static int check_program(const struct between *b, struct err *err)
{
	return proc_program_changed(b->proc.mm_pid, b->program)
		       ? err_raise(err, ERROR_TARGET_REPLACED, .pid = b->proc.pid,
				   .comm = b->proc.status.comm)
		       : 0;
}

static int take_second(struct between *b, int base, uint64_t base_bytes, struct err *err)
{
	_cleanup_(session_close) struct session s = SESSION_INIT;
	_cleanup_(cleanup_close) int fd = -1;
	const struct ops_dump_request *r = b->request;
	const struct render_request request = {
		.format = profile_format_by_name(r->format ? r->format : "pprof"),
		.max_stacks = r->max_stacks,
		.base = base,
		.base_bytes = base_bytes,
	};
	struct ops_symbolize_options symbols = {
		.debuginfod = b->options.debuginfod,
		.no_cache = r->no_cache,
		.on_warning = r->on_warning,
		.ctx = r->ctx,
	};
	uint64_t bytes;

	s.recorded_ms = now_ms() - b->begun_ms;
	if (check_program(b, err) || take(b, &s, &fd, &bytes, err) || check_program(b, err))
		return -1;
	symbols.pid = s.proc.pid;
	symbols.pidfd = s.proc.pidfd;
	if (render_profile(&s, &request, &symbols, &fd, &bytes, err) ||
	    output_copy(b->request->stream_fd, "the output stream", fd, bytes, s.timeout_ms, err))
		return -1;
	b->dump.bytes = bytes;
	return 0;
}

int ops_dump_between(pid_t pid, uint64_t ms, const struct ops_dump_request *request,
		     const struct ops_options *options, struct ops_dump *out, struct err *err)
{
	_cleanup_(close_between) struct between b = { .request = request, .options = *options };
	_cleanup_(cleanup_close) int first = -1;
	uint64_t bytes;

	if (request->format && profile_format_by_name(request->format) == PROFILE_FORMAT_NONE)
		return profile_format_unknown(request->format, "", err);
	if (proc_open_at(&b.proc, pid, options->start_time, err))
		return -1;
	b.options.start_time = b.proc.start_time;
	b.program = proc_program(b.proc.mm_pid);
	if (take_first(&b, &first, &bytes, err))
		return -1;
	b.begun_ms = now_ms();
	if (wait_until(&b, b.begun_ms + ms, err) || take_second(&b, first, bytes, err))
		return -1;
	*out = b.dump;
	return 0;
}
