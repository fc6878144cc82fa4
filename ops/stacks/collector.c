// SPDX-License-Identifier: Apache-2.0
#include "ops/stacks/collector.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "io/memory_file.h"
#include "ops/stacks/walk.h"
#include "ops/target/facts.h"
#include "ops/target/mapped.h"

#include <poll.h>
#include <stdlib.h>

#define DEPTH_MAX 512
#define ANSWER_MAX 8192
#define REFRESH_MS 1000
#define PATIENCE_MS 5000     /* many samples take milliseconds */
#define COLLECTOR_CPU_S 3600 /* a recording may be long */

enum message { MESSAGE_SAMPLE, MESSAGE_QUESTION, MESSAGE_WRITE, MESSAGES };

/* --- in the child --- */

struct work {
	const struct collector_kind *kind;
	struct session *s; /* a copy of the controller's: its images are read again */
	int out;
	uint64_t program; /* see proc_program(); 0 at first */
	uint64_t read_ms; /* when the images were read last */
	char *mappings;	  /* their text at that time */
	size_t mappings_len;
	void *sample; /* the current one */
	void *state;
	struct stack_walker walker;
	uint64_t cut;
	struct err failed; /* the first failure */
};

static int read_images(struct work *w, struct err *err)
{
	_cleanup_(maps_fini) struct maps maps = { 0 };
	_cleanup_(cleanup_free) char *text = NULL;
	struct images images = { 0 };
	size_t len;

	w->read_ms = now_ms();
	if (mapped_read(&w->s->proc, &text, &len, err) ||
	    maps_read(&maps, w->s->proc.mm_pid, err) ||
	    images_read(&images, w->s->proc.mm_pid, &maps, err))
		return -1;
	/* Does it run another program? Uses only what this child may read: no proc_replaced(). */
	if (w->program && proc_program(w->s->proc.mm_pid) != w->program) {
		images_fini(&images);
		return err_raise(err, ERROR_TARGET_REPLACED, SESSION_ARGS(w->s));
	}
	images_fini(&w->s->images);
	w->s->images = images;
	free(w->mappings);
	w->mappings = take_ptr(text);
	w->mappings_len = len;
	if (!w->program)
		w->program = proc_program(w->s->proc.mm_pid);
	stack_walker_init(&w->walker, &w->s->images, w->s->proc.mm_pid, true);
	return 0;
}

static void add(struct work *w, struct unpack *u)
{
	const struct stack_copy *stack;
	struct err ignored = ERR_INIT;
	uint64_t addrs[DEPTH_MAX];
	bool whole;
	size_t n;

	unpack_bytes(u, w->sample, w->kind->size);
	if (!unpack_done(u))
		return;
	stack = w->kind->stack(w->sample);
	if (!stack || stack->len > sizeof(stack->bytes))
		return;
	n = stack_walk(&w->walker, stack, addrs, DEPTH_MAX, &whole);
	/* It may have loaded a library since. If reading fails, the old images are kept. */
	if (!whole && n && !images_find(&w->s->images, addrs[n - 1]) &&
	    now_ms() >= w->read_ms + REFRESH_MS && !read_images(w, &ignored))
		n = stack_walk(&w->walker, stack, addrs, DEPTH_MAX, &whole);
	w->cut += !whole;
	if (n == 1) /* the caller is unknown */
		addrs[n++] = addrs[0] + 1;
	if (!w->failed.code && n > 1)
		(void)!w->kind->add(w->state, w->sample, addrs, n, &w->failed);
}

static void reply(struct work *w, struct unpack *u)
{
	_cleanup_(pack_fini) struct pack p = { 0 };
	struct err err = w->failed;
	int failed = err.code ? -1 : w->kind->answer(w->state, w->s, u, &p, &err);

	confined_reply(failed, &err, &p, -1);
}

struct writing {
	struct work *w;
	struct unpack *totals;
	struct pack *answer;
};

static int write_stacks(FILE *out, const void *ctx, struct err *err)
{
	const struct writing *w = ctx;

	return w->w->kind->write(w->w->state, w->totals, out, w->answer, err);
}

static void write_profile(struct work *w, struct unpack *u)
{
	_cleanup_(pack_fini) struct pack p = { 0 };
	struct writing writing = { .w = w, .totals = u, .answer = &p };
	struct err err = w->failed, ignored = ERR_INIT;
	bool failed = err.code;

	w->s->recorded_ms = unpack_u64(u);
	pack_u64(&p, w->cut);
	if (!failed) {
		(void)!read_images(w, &ignored);
		failed = memory_file_fill(w->out, write_stacks, &writing, &err) ||
			 mapped_write(w->out, w->mappings, w->mappings_len, &err) ||
			 facts_append(w->out, w->s, &err);
	}
	confined_reply(failed, &err, &p, -1);
}

static void serve(void *ctx)
{
	struct work *w = ctx;
	struct err err = ERR_INIT;
	struct unpack u;

	if (read_images(w, &err)) {
		confined_reply(true, &err, NULL, -1);
		return;
	}
	confined_reply(false, NULL, NULL, -1);
	while (confined_next(&u, NULL)) {
		switch ((enum message)unpack_max(&u, MESSAGES - 1)) {
		case MESSAGE_SAMPLE:
			add(w, &u);
			break;
		case MESSAGE_QUESTION:
			reply(w, &u);
			break;
		case MESSAGE_WRITE:
		case MESSAGES:
			write_profile(w, &u);
			break;
		}
	}
	w->kind->fini(w->state);
}

/* --- in the controller --- */

int collector_start(struct collector *c, const struct collector_kind *kind, const struct session *s,
		    int out, struct err *err)
{
	_cleanup_(cleanup_free) void *sample = malloc(kind->size);
	_cleanup_(cleanup_free) void *state = calloc(1, kind->state_size);
	_cleanup_(cleanup_free) struct work *w = calloc(1, sizeof(*w));
	const struct confined_options options = {
		.what = kind->what,
		.policy = { .pid = s->proc.pid, .pidfd = s->proc.pidfd },
		.fds = &out,
		.n_fds = 1,
		.cpu_max_s = COLLECTOR_CPU_S,
	};
	struct unpack u;

	if (!w || !sample || !state)
		return err_no_memory(err);
	w->kind = c->kind = kind;
	w->s = (struct session *)s;
	w->out = out;
	w->sample = sample;
	w->state = state;
	c->child.stop_fd = s->options->stop_fd;
	if (confined_start(&c->child, &options, serve, w, err) ||
	    confined_answer(&c->child, session_left_ms(s), ANSWER_MAX, &u, NULL, err))
		return -1;
	c->child.stop_fd = -1;
	return 0;
}

void collector_end(struct collector *c)
{
	confined_end(&c->child);
}

int collector_add(struct collector *c, const void *sample, struct err *err)
{
	_cleanup_(pack_fini) struct pack p = { 0 };
	struct pollfd room = { .fd = c->child.sock, .events = POLLOUT };

	/* Writable means that there is room for a sample (unix_writable(), net/unix/af_unix.c). */
	if (poll(&room, 1, PATIENCE_MS) != 1) {
		c->child.broken = true;
		err_raise(err, ERROR_CHILD_LATE, .what = c->child.what, .ms = PATIENCE_MS);
		return err_advise(err, FIX_GIVE_IT_TIME);
	}
	pack_u64(&p, MESSAGE_SAMPLE);
	pack_bytes(&p, sample, c->kind->size);
	return confined_ask(&c->child, &p, -1, err);
}

static int ask(struct collector *c, const struct session *s, struct pack *p,
	       const struct pack *more, struct unpack *answer, struct err *err)
{
	pack_bytes(p, more->v, more->len);
	p->failed |= more->failed;
	return confined_ask(&c->child, p, -1, err) || confined_answer(&c->child, session_left_ms(s),
								      ANSWER_MAX, answer, NULL, err)
		       ? -1
		       : 0;
}

int collector_ask(struct collector *c, const struct session *s, const struct pack *question,
		  struct unpack *answer, struct err *err)
{
	_cleanup_(pack_fini) struct pack p = { 0 };

	pack_u64(&p, MESSAGE_QUESTION);
	return ask(c, s, &p, question, answer, err);
}

int collector_write(struct collector *c, const struct session *s, const struct pack *totals,
		    uint64_t *cut, struct unpack *answer, struct err *err)
{
	_cleanup_(pack_fini) struct pack p = { 0 };

	pack_u64(&p, MESSAGE_WRITE);
	pack_u64(&p, s->recorded_ms);
	if (ask(c, s, &p, totals, answer, err))
		return -1;
	*cut = unpack_u64(answer);
	return 0;
}
