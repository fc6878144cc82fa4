// SPDX-License-Identifier: Apache-2.0
#include "ops/ops.h"

#include "base/cleanup.h"
#include "io/memory_file.h"
#include "io/received.h"
#include "ops/stats_text.h"
#include "ops/target/open.h"
#include "ops/target/run.h"
#include "sandbox/confined.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define ANSWER_MAX 8192
#define GROWTH 4 /* of what the target wrote, when it becomes text */

/* What a process wrote. */
struct part {
	pid_t pid;
	char comm[PROC_COMM_SIZE]; /* raw */
	int fd;			   /* of our own; -1: none */
	uint64_t bytes;
};

/* What the targets wrote, on its way to text. */
struct work {
	enum ops_stats_format format;
	struct part *v;
	size_t n;
	int out; /* for the text */
};

static void close_parts(struct work *w)
{
	for (size_t i = 0; i < w->n; i++) {
		if (w->v[i].fd >= 0)
			close(w->v[i].fd);
	}
	free(w->v);
}

/* --- in the child --- */

struct texts {
	struct stats_of *v;
	size_t n;
};

static void free_texts(struct texts *t)
{
	for (size_t i = 0; i < t->n; i++)
		free((char *)t->v[i].text);
	free(t->v);
}

static int write_out(FILE *out, const void *ctx, struct err *err)
{
	const struct work *w = ctx;
	_cleanup_(free_texts) struct texts t = { .v = calloc(w->n, sizeof(*t.v)) };

	if (!t.v)
		return err_no_memory(err);
	for (; t.n < w->n; t.n++) {
		const struct part *part = &w->v[t.n];
		char *text;

		if (memory_file_read(part->fd, part->bytes, &text, err))
			return -1;
		t.v[t.n] = (struct stats_of){ part->pid, part->comm, text, part->bytes };
	}
	return stats_text_write(w->format, t.v, t.n, out, err);
}

static void render(void *ctx)
{
	const struct work *w = ctx;
	struct err err = ERR_INIT;

	confined_reply(memory_file_fill(w->out, write_out, w, &err) != 0, &err, NULL, -1);
}

/* --- the controller --- */

/* The text is parsed where nothing can be gained by it. */
static int render_confined(struct work *w, unsigned int left_ms, char **text, size_t *len,
			   struct err *err)
{
	_cleanup_(confined_end) struct confined c = CONFINED_INIT;
	_cleanup_(cleanup_close) int out = -1;
	_cleanup_(cleanup_free) int *fds = calloc(w->n + 1, sizeof(*fds));
	struct unpack answer;
	uint64_t bytes = 0;
	struct confined_options options = {
		.what = "read the statistics",
		.fds = fds,
		.n_fds = w->n + 1,
		.no_door = true,
	};

	if (!fds)
		return err_no_memory(err);
	if (memory_file_make(&out, err))
		return -1;
	w->out = fds[w->n] = out;
	for (size_t i = 0; i < w->n; i++) {
		fds[i] = w->v[i].fd;
		bytes += w->v[i].bytes;
	}
	options.file_max_bytes = GROWTH * bytes + w->n * ANSWER_MAX;
	if (confined_start(&c, &options, render, w, err) ||
	    confined_answer(&c, left_ms, ANSWER_MAX, &answer, NULL, err) ||
	    memory_file_seal(out, err) || memory_file_size(out, &bytes, err))
		return -1;
	if (memory_file_read(out, bytes, text, err))
		return -1;
	*len = (size_t)bytes;
	return 0;
}

static int take(const struct session *s, int fd, struct part *part, struct err *err)
{
	const struct received_rules rules = {
		.what = "the target's report",
		.max_bytes = s->options->max_bytes ? s->options->max_bytes : OPS_STATS_MAX,
		.deadline_ms = s->timeout_ms,
	};

	if (received_copy(fd, &rules, &part->fd, &part->bytes, err))
		return -1;
	return part->bytes ? 0 : err_raise(err, ERROR_NO_STATISTICS);
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

static int run_stats(struct session *s, enum ops_stats_format format, struct part *part,
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
	return take(s, fd, part, err);
}

/* What one process writes, and how long is left to read it. */
static int ask(struct part *part, enum ops_stats_format format, const struct ops_options *options,
	       struct ops_cost *cost, unsigned int *left_ms, struct err *err)
{
	_cleanup_(session_close) struct session s = SESSION_INIT;

	if (session_open(&s, part->pid, options, err))
		return -1;
	if (!s.je->malloc_stats_print)
		return err_raise(err, ERROR_STATS_PRINT_MISSING, SESSION_ARGS(&s));
	if (format != OPS_STATS_TEXT && session_older(&s, 4, 3, 0)) {
		err_raise(err, ERROR_STATS_NOT_JSON, SESSION_ARGS(&s), .version = s.version);
		return err_advise(err, FIX_STATS_TEXT);
	}
	if (run_stats(&s, format, part, err))
		return -1;
	snprintf(part->comm, sizeof(part->comm), "%s", s.proc.status.comm);
	*cost = s.cost;
	*left_ms = session_left_ms(&s);
	return 0;
}

int ops_stats(const pid_t *pids, size_t n, enum ops_stats_format format,
	      const struct ops_options *options, struct ops_stats *out, struct err *err)
{
	_cleanup_(ops_stats_fini) struct ops_stats stats = { 0 };
	_cleanup_(close_parts) struct work w = { .format = format, .out = -1 };
	unsigned int left_ms = 0;

	stats.costs = calloc(n, sizeof(*stats.costs));
	w.v = calloc(n, sizeof(*w.v));
	if (!stats.costs || !w.v)
		return err_no_memory(err);
	for (; stats.n < n; stats.n++) {
		struct part *part = &w.v[w.n++];

		*part = (struct part){ .pid = pids[stats.n], .fd = -1 };
		if (ask(part, format, options, &stats.costs[stats.n], &left_ms, err))
			return n > 1 ? err_within(err, ERROR_IN_PROCESS, .pid = part->pid) : -1;
	}
	if (render_confined(&w, left_ms, &stats.text, &stats.len, err))
		return -1;
	*out = stats;
	stats = (struct ops_stats){ 0 };
	return 0;
}

void ops_stats_fini(struct ops_stats *stats)
{
	free(stats->costs);
	free(stats->text);
	*stats = (struct ops_stats){ 0 };
}
