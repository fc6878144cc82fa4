// SPDX-License-Identifier: Apache-2.0

#include "cli/apart.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/ink.h"
#include "base/text.h"
#include "cli/out.h"
#include "cli/pager.h"
#include "io/archive.h"
#include "io/memory_file.h"
#include "ops/apart/symbol_keeper.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PIECE 65536			    /* bytes printed at a time */
#define CPU_MAX_S 3600			    /* a profile of 16 GB takes minutes */
#define MAX_MS (UINT64_C(2000) * CPU_MAX_S) /* wall clock, for a child that sleeps */

static bool to_terminal;

bool apart_to_terminal(void)
{
	return confined_inside() ? to_terminal : isatty(STDOUT_FILENO);
}

/* --- in the child --- */

struct work {
	const struct apart *apart;
	bool packed; /* an input may be a bundle */
};

/* Load libraries while files can still be opened. */
static int load(void *ctx, struct err *err)
{
	const struct work *w = ctx;
	const struct libarchive *ignored;
	struct err none;

	(void)err;
	if (w->packed)
		(void)!libarchive_load(&ignored, &none);
	return 0;
}

static void run(void *ctx)
{
	const struct work *w = ctx;
	struct err err = ERR_INIT;

	if (w->apart->run(w->apart->ctx, &err) || out_flush(&err))
		confined_reply(true, &err, NULL, -1);
	else
		errand_done(NULL, -1);
}

/* --- the controller --- */

struct outputs {
	struct output *v;
	size_t n;
};

static void close_outputs(struct outputs *o)
{
	for (size_t i = 0; i < o->n; i++)
		output_close(&o->v[i]);
	free(o->v);
}

static int open_outputs(const struct args *args, const struct apart *a, struct outputs *o,
			struct err *err)
{
	o->v = calloc(a->n_outputs + 1, sizeof(*o->v));
	if (!o->v)
		return err_no_memory(err);
	for (; o->n < a->n_outputs; o->n++) {
		o->v[o->n] = (struct output)OUTPUT_INIT;
		if (output_open(&o->v[o->n], a->outputs[o->n], args->force, err)) {
			output_close(&o->v[o->n]);
			return -1;
		}
	}
	return 0;
}

/* The bytes to read, and whether some of them may be compressed. */
static uint64_t look_at(const char *path, bool *packed)
{
	_cleanup_(cleanup_close) int fd = -1;
	char head[2];
	struct stat st;

	if (strcmp(path, "-") != 0 ? stat(path, &st) : fstat(STDIN_FILENO, &st))
		return 0;
	if (!S_ISREG(st.st_mode)) {
		*packed = true;
		return 0;
	}
	fd = errand_open(path);
	*packed |= fd >= 0 && pread(fd, head, 2, 0) == 2 && bundle_is(head, sizeof(head) + 1);
	return (uint64_t)st.st_size;
}

static uint64_t look_at_all(const struct apart *a, bool *packed)
{
	uint64_t bytes = a->base ? look_at(a->base, packed) : 0;
	struct stat st;

	for (size_t i = 0; i < a->n_inputs; i++) {
		if (!a->memory)
			bytes += look_at(a->inputs[i], packed);
		else if (!fstat(a->memory[i], &st))
			bytes += (uint64_t)st.st_size;
	}
	return bytes;
}

/* Print up to the next color, or the color itself. Returns the length consumed; 0: failed. */
static size_t show_piece(const char *text, size_t n, bool end, bool color, struct err *err)
{
	static char safe[OUTPUT_SAFE_SIZE(PIECE)];
	size_t ink = color ? ink_length(text) : 0, len = n;
	const char *next = color && !ink ? memchr(text + 1, '\033', n - 1) : NULL;

	if (ink)
		return out_write(text, ink, err) ? 0 : ink;
	n = output_safe_lines(text, next ? (size_t)(next - text) : n, end || next, safe, &len);
	return out_write(safe, len, err) ? 0 : n;
}

/* A terminal interprets escape sequences: pass on colors only. */
static int show(int fd, uint64_t bytes, bool color, struct err *err)
{
	static char text[PIECE + 1];

	for (uint64_t at = 0; at < bytes;) {
		ssize_t n = pread(fd, text, PIECE, (off_t)at);
		size_t shown = 0, some = 1;

		if (n <= 0)
			return err_raise_sys(err, ERROR_OUTPUT_PIPE_BROKEN, n ? errno : EIO);
		text[n] = '\0';
		/* A character or color that crosses the end of the piece is read again. */
		while (some && shown < (size_t)n && (n < PIECE || n - (ssize_t)shown > INK_MAX)) {
			some = show_piece(text + shown, (size_t)n - shown, n < PIECE, color, err);
			shown += some;
		}
		if (!some)
			return -1;
		at += shown;
	}
	return 0;
}

static int show_paged(const struct args *args, int fd, uint64_t bytes, bool color, struct err *err)
{
	_cleanup_(pager_close) struct pager pager = PAGER_INIT;
	int failed;

	pager_begin(&pager, args, fd, bytes);
	failed = show(fd, bytes, color, err) || out_flush(err) ? -1 : 0;
	switch (pager_end(&pager)) {
	case PAGER_SHOWED: /* the user quit before the end */
		return failed && err->sys != EPIPE ? -1 : 0;
	case PAGER_SHOWED_NOTHING:
		return show(fd, bytes, color, err);
	case PAGER_NONE:
		break;
	}
	return failed;
}

static int pass_on(const struct args *args, bool paged, const struct errand_rules *rules, int fd,
		   struct err *err)
{
	bool color = out_has_color(args, STDOUT_FILENO);
	uint64_t bytes;

	if (errand_check(fd, rules, &bytes, err))
		return -1;
	if (!to_terminal)
		return output_copy(STDOUT_FILENO, "stdout", fd, bytes, rules->deadline_ms, err);
	return paged && !args->json ? show_paged(args, fd, bytes, color, err)
				    : show(fd, bytes, color, err);
}

static int serve(const struct args *args, bool paged, struct confined *c,
		 const struct errand_rules *rules, int out, struct err *err)
{
	struct unpack answer;

	if (errand_run(c, rules, &answer, NULL, err) || pass_on(args, paged, rules, out, err))
		return -1;
	symbol_keeper_finish(rules->keeper, c);
	return 0;
}

int apart_run(const struct args *args, const struct apart *a, struct err *err)
{
	_cleanup_(confined_end) struct confined c = CONFINED_INIT;
	_cleanup_(close_outputs) struct outputs outputs = { 0 };
	_cleanup_(cleanup_close) int out = -1;
	struct work w = { .apart = a };
	uint64_t bytes;
	_cleanup_(symbol_keeper_end) struct symbol_keeper keeper = SYMBOL_KEEPER_INIT;
	struct errand_rules rules = {
		.look_up = symbol_keeper_look_up,
		.keeper = &keeper,
		.inputs = a->inputs,
		.n_inputs = a->n_inputs,
		.base = a->base,
		.memory = a->memory,
		.debuginfod = a->symbols->debuginfod,
		.on_warning = a->symbols->on_warning,
		.ctx = a->symbols->ctx,
		.deadline_ms = now_ms() + (args->timeout_ms ? args->timeout_ms : MAX_MS),
	};
	struct confined_options options = {
		.what = "read the profile",
		.policy = { .root = a->symbols->root,
			    .debuginfod = a->symbols->debuginfod,
			    .sources = a->sources,
			    .no_memory = true },
		.enter = load,
		.cpu_max_s = CPU_MAX_S,
	};

	if (open_outputs(args, a, &outputs, err) || memory_file_make(&out, err) || out_flush(err))
		return -1;
	rules.outputs = outputs.v;
	rules.n_outputs = outputs.n;
	options.out = out;
	bytes = look_at_all(a, &w.packed);
	options.memory_max_bytes = errand_memory(bytes);
	options.file_max_bytes = options.policy.temporary_max_bytes = errand_file_max(bytes);
	to_terminal = isatty(STDOUT_FILENO);
	if (confined_start(&c, &options, run, &w, err))
		return -1;
	return serve(args, a->paged, &c, &rules, out, err);
}
