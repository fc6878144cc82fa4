// SPDX-License-Identifier: Apache-2.0
#include "ops/ops.h"

#include "base/cleanup.h"
#include "io/memory_file.h"
#include "io/received.h"
#include "ops/stats_text.h"
#include "ops/target/open.h"
#include "ops/target/run.h"
#include "sandbox/confined.h"

#include <stdlib.h>

#define ANSWER_MAX 8192
#define GROWTH 4 /* of what the target wrote, when it becomes text */

/* What the target wrote, on its way to text. */
struct work {
	enum ops_stats_format format;
	struct stats_of of;
	int fd; /* of our own */
	uint64_t bytes;
	int out; /* for the text */
};

static int write_out(FILE *out, const void *ctx, struct err *err)
{
	const struct work *w = ctx;
	_cleanup_(cleanup_free) char *text = NULL;

	return memory_file_read(w->fd, w->bytes, &text, err) ||
			       stats_text_write(w->format, text, w->bytes, &w->of, out, err)
		       ? -1
		       : 0;
}

static void render(void *ctx)
{
	const struct work *w = ctx;
	struct err err = ERR_INIT;

	confined_reply(memory_file_fill(w->out, write_out, w, &err) != 0, &err, NULL, -1);
}

/* Its text is parsed where nothing can be gained by it. */
static int render_confined(const struct session *s, struct work *w, char **text, size_t *len,
			   struct err *err)
{
	_cleanup_(confined_end) struct confined c = CONFINED_INIT;
	_cleanup_(cleanup_close) int out = -1;
	struct unpack answer;
	uint64_t bytes;
	int fds[2];
	const struct confined_options options = {
		.what = "read the statistics",
		.fds = fds,
		.n_fds = 2,
		.no_door = true,
		.file_max_bytes = GROWTH * w->bytes + ANSWER_MAX,
	};

	if (memory_file_make(&out, err))
		return -1;
	w->out = out;
	fds[0] = w->fd;
	fds[1] = out;
	if (confined_start(&c, &options, render, w, err) ||
	    confined_answer(&c, session_left_ms(s), ANSWER_MAX, &answer, NULL, err) ||
	    memory_file_seal(out, err) || memory_file_size(out, &bytes, err))
		return -1;
	if (memory_file_read(out, bytes, text, err))
		return -1;
	*len = (size_t)bytes;
	return 0;
}

static int take(const struct session *s, enum ops_stats_format format, int fd, char **text,
		size_t *len, struct err *err)
{
	const struct received_rules rules = {
		.what = "the target's report",
		.max_bytes = s->options->max_bytes ? s->options->max_bytes : OPS_STATS_MAX,
		.deadline_ms = s->timeout_ms,
	};
	_cleanup_(cleanup_close) int got = -1;
	struct work w = { format, { s->proc.pid, s->proc.status.comm }, -1, 0, -1 };

	if (received_copy(fd, &rules, &got, &w.bytes, err))
		return -1;
	if (!w.bytes)
		return err_raise(err, ERROR_NO_STATISTICS);
	w.fd = got;
	return render_confined(s, &w, text, len, err);
}

/*
 * Up to 5.2.1 jemalloc hands its JSON over in thousands of small pieces: the
 * per-arena and per-class sections are left out there.
 */
static const char *stats_options(const struct session *s, enum ops_stats_format format)
{
	if (format == OPS_STATS_TEXT)
		return "";
	return session_older(s, 5, 3, 0) ? "Jmdablx" : "J";
}

static int run_stats(struct session *s, enum ops_stats_format format, char **text, size_t *len,
		     struct err *err)
{
	_cleanup_(cleanup_close) int fd = -1;
	struct call call = { .name = stats_options(s, format), .flags = CALL_STATS, .fd = -1 };
	int failed = session_run(s, &(struct run){ .calls = &call, .n = 1 }, err);

	fd = call.fd;
	if (failed)
		return -1;
	if (!call_succeeded(&call) || fd < 0)
		return err_raise_target(err, ERROR_STATS_PRINT_FAILED,
					call.sys ? call.sys : call.ret, SESSION_ARGS(s));
	return take(s, format, fd, text, len, err);
}

int ops_stats(pid_t pid, enum ops_stats_format format, const struct ops_options *options,
	      struct ops_stats *out, struct err *err)
{
	_cleanup_(session_close) struct session s = SESSION_INIT;
	_cleanup_(cleanup_free) char *text = NULL;
	size_t len = 0;

	if (session_open(&s, pid, options, err))
		return -1;
	if (!s.je->malloc_stats_print)
		return err_raise(err, ERROR_STATS_PRINT_MISSING, SESSION_ARGS(&s));
	if (format != OPS_STATS_TEXT && session_older(&s, 4, 3, 0)) {
		err_raise(err, ERROR_STATS_NOT_JSON, SESSION_ARGS(&s), .version = s.version);
		return err_advise(err, FIX_STATS_TEXT);
	}
	if (run_stats(&s, format, &text, &len, err))
		return -1;
	*out = (struct ops_stats){ .cost = s.cost, .text = take_ptr(text), .len = len };
	return 0;
}

void ops_stats_fini(struct ops_stats *stats)
{
	free(stats->text);
	stats->text = NULL;
}
