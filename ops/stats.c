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
#include <string.h>
#include <unistd.h>

#define ANSWER_MAX 8192
#define GROWTH 4 /* limit on the growth of a target's output when it becomes text */

/* The output of one process. */
struct part {
	struct ops_stats_of *of;
	int fd; /* our own file; -1: none */
	uint64_t bytes;
};

/* The output of the targets, to be made into text. */
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

static int read_all(const struct work *w, struct texts *t, struct err *err)
{
	t->v = calloc(w->n, sizeof(*t->v));
	if (!t->v)
		return err_no_memory(err);
	for (; t->n < w->n; t->n++) {
		const struct part *part = &w->v[t->n];
		char *text;

		if (memory_file_read(part->fd, part->bytes, &text, err))
			return -1;
		t->v[t->n] = (struct stats_of){ part->of->cost.pid, part->of->cost.comm, text,
						part->bytes };
	}
	return 0;
}

struct writing {
	enum ops_stats_format format;
	const struct texts *texts;
};

static int write_out(FILE *out, const void *ctx, struct err *err)
{
	const struct writing *w = ctx;

	if (!w->texts->n)
		return 0;
	return stats_text_write(w->format, w->texts->v, w->texts->n, out, err);
}

static void render(void *ctx)
{
	const struct work *w = ctx;
	_cleanup_(free_texts) struct texts t = { 0 };
	_cleanup_(pack_fini) struct pack answer = { 0 };
	const struct writing writing = { w->format, &t };
	struct err err = ERR_INIT;
	size_t n = 0;
	int failed = read_all(w, &t, &err);

	/* Keeps valid ones; the answer has an error, or none, for each. */
	for (size_t i = 0; !failed && i < t.n; i++) {
		struct err why = ERR_INIT;

		if (stats_text_check(w->format, &t.v[i], &why)) {
			pack_err(&answer, &why);
			free((char *)t.v[i].text);
		} else {
			pack_err(&answer, NULL);
			t.v[n++] = t.v[i];
		}
	}
	if (!failed) {
		t.n = n;
		failed = memory_file_fill(w->out, write_out, &writing, &err);
	}
	confined_reply(failed != 0, &err, &answer, -1);
}

/* --- the controller --- */

/* The text is parsed where an attacker has nothing to gain. */
static int render_confined(struct work *w, unsigned int left_ms, int stop_fd, char **text,
			   size_t *len, struct err *err)
{
	_cleanup_(confined_end) struct confined c = CONFINED_UNTIL(stop_fd);
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
	    confined_answer(&c, left_ms, w->n * ANSWER_MAX, &answer, NULL, err))
		return -1;
	for (size_t i = 0; i < w->n; i++)
		unpack_err(&answer, &w->v[i].of->why);
	if (!unpack_done(&answer))
		return err_raise(err, ERROR_STATS_MALFORMED);
	if (memory_file_seal(out, err) || memory_file_size(out, &bytes, err) ||
	    memory_file_read(out, bytes, text, err))
		return -1;
	*len = (size_t)bytes;
	return 0;
}

/*
 * Up to 5.2.1 jemalloc passes its JSON in thousands of small pieces: its per-arena and per-class
 * sections are omitted there.
 */
static const char *stats_options(const struct session *s, enum ops_stats_format format)
{
	if (format == OPS_STATS_TEXT)
		return "";
	return session_older(s, 5, 3, 0) ? "Jmdablx" : "J";
}

/* Gets the output of one process; *left_ms is the time left to read it. */
static int ask(const struct ops_match *m, enum ops_stats_format format,
	       const struct ops_options *options, struct part *part, unsigned int *left_ms,
	       struct err *err)
{
	struct ops_options own = *options;
	_cleanup_(session_close) struct session s = SESSION_INIT;
	_cleanup_(cleanup_close) int fd = -1;
	struct call call = { .flags = CALL_STATS, .fd = -1 };
	struct received_rules rules = {
		.what = "the target's report",
		.max_bytes = options->max_bytes ? options->max_bytes : OPS_STATS_MAX,
	};
	int failed;

	own.start_time = m->start_time;
	if (session_open(&s, m->pid, &own, err))
		return -1;
	if (!s.je->malloc_stats_print)
		return err_raise(err, ERROR_STATS_PRINT_MISSING, SESSION_ARGS(&s));
	if (format != OPS_STATS_TEXT && session_older(&s, 4, 3, 0)) {
		err_raise(err, ERROR_STATS_NOT_JSON, SESSION_ARGS(&s), .version = s.version);
		return err_advise(err, FIX_STATS_TEXT);
	}
	call.name = stats_options(&s, format);
	failed = session_run(&s, &(struct run){ .calls = &call, .n = 1 }, err);
	fd = call.fd;
	if (failed)
		return -1;
	if (!call_succeeded(&call) || fd < 0)
		return err_raise_target(err, ERROR_STATS_PRINT_FAILED,
					call.sys ? call.sys : call.ret, SESSION_ARGS(&s));
	rules.deadline_ms = s.timeout_ms;
	if (received_copy(fd, &rules, &part->fd, &part->bytes, err))
		return -1;
	if (!part->bytes)
		return err_raise(err, ERROR_NO_STATISTICS);
	part->of->cost = s.cost;
	*left_ms = session_left_ms(&s);
	return 0;
}

int ops_stats(const struct ops_match *of, size_t n, enum ops_stats_format format,
	      const struct ops_options *options, struct ops_stats *out, struct err *err)
{
	_cleanup_(ops_stats_fini) struct ops_stats stats = { .v = calloc(n, sizeof(*stats.v)) };
	_cleanup_(close_parts) struct work w = { .format = format, .out = -1 };
	unsigned int left_ms = 0;

	w.v = calloc(n, sizeof(*w.v));
	if (!stats.v || !w.v)
		return err_no_memory(err);
	for (; stats.n < n; stats.n++) {
		struct ops_stats_of *one = &stats.v[stats.n];

		one->cost.pid = of[stats.n].pid;
		memcpy(one->cost.comm, of[stats.n].comm, sizeof(one->cost.comm));
		w.v[w.n] = (struct part){ .of = one, .fd = -1 };
		w.n += !ask(&of[stats.n], format, options, &w.v[w.n], &left_ms, &one->why);
	}
	if (w.n && render_confined(&w, left_ms, options->stop_fd, &stats.text, &stats.len, err))
		return -1;
	*out = stats;
	stats = (struct ops_stats){ 0 };
	return 0;
}

bool ops_stats_failed(const struct ops_stats *stats, struct err *err)
{
	if (!stats->v->why.ids[0])
		return false;
	*err = stats->v->why;
	return true;
}

void ops_stats_fini(struct ops_stats *stats)
{
	free(stats->v);
	free(stats->text);
	*stats = (struct ops_stats){ 0 };
}
