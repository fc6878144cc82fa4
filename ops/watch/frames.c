// SPDX-License-Identifier: Apache-2.0

#include "ops/watch/frames.h"

#include "base/cleanup.h"
#include "ops/stacks/walk.h"
#include "ops/watch/images.h"
#include "symbols/lookup.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* --- walking a stack --- */

/* A dump has begun. Its process is added to `whos`. */
static void watch_stack_begin(struct watch_stacks *s, struct watch_processes *whos,
			      const struct watch_begin *begin)
{
	static struct stack_walker w; /* large */
	const pid_t pid = (pid_t)begin->process.pid;
	struct watch_images *who = watch_images_find(whos, pid, begin->process.began_ns);
	struct watch_stack *out = &s->v[s->next];
	bool whole;

	if (!who || !begin->stack.len || begin->stack.len > sizeof(begin->stack.bytes))
		return;
	s->next = (s->next + 1) % STACKS_MAX;
	*out = (struct watch_stack){ .pid = pid,
				     .tid = (pid_t)begin->tid,
				     .dump_began_ns = begin->dump_began_ns };
	stack_walker_init(&w, &who->images, pid, false);
	out->n = stack_walk(&w, &begin->stack, out->addrs, OPS_WATCH_FRAMES, &whole);
	/* It may have loaded a library since. */
	if (!whole && out->n && !images_find(&who->images, out->addrs[out->n - 1]) &&
	    watch_images_refresh(who))
		out->n = stack_walk(&w, &begin->stack, out->addrs, OPS_WATCH_FRAMES, &whole);
}

static const struct watch_stack *find_stack(const struct watch_stacks *s,
					    const struct watch_dump *dump)
{
	for (size_t i = 0; i < STACKS_MAX; i++) {
		const struct watch_stack *k = &s->v[i];

		if (k->pid == (pid_t)dump->pid && k->tid == (pid_t)dump->tid &&
		    k->dump_began_ns == dump->began_ns && k->n > 1)
			return k;
	}
	return NULL;
}

/*
 * At its entry, a function's frame is not set up yet: if the kernel does not know that, a stack by
 * frame pointers lacks the caller of prof_dump, which is added here.
 */
static size_t by_frame_pointers(const struct watch_dump *dump, uint64_t *addrs)
{
	uint32_t n = dump->n_frames < WATCH_FRAMES ? dump->n_frames : WATCH_FRAMES;
	size_t out = 0;

	for (uint32_t i = 0; i < n; i++) {
		if (i == 1 && dump->cookie && dump->caller && dump->frames[i] != dump->caller)
			addrs[out++] = dump->caller;
		addrs[out++] = dump->frames[i];
	}
	if (n == 1 && dump->cookie && dump->caller)
		addrs[out++] = dump->caller;
	return out;
}

/* --- the child --- */

#define ANSWER_MAX ((size_t)2 << 20)
#define PATIENCE_MS 3000
#define PATH_ROOM (PATH_MAX + 64)

enum kind { KIND_BEGIN, KIND_END };

/* --- in the child --- */

struct walker {
	struct watch_processes processes;
	struct watch_stacks stacks;
};

/*
 * Answers with the frames of a dump that has ended, with their names if its process is known: by
 * unwind tables, else by frame pointers, as far as they lead into code.
 */
static void answer(struct walker *w, struct unpack *u)
{
	_cleanup_(pack_fini) struct pack p = { 0 };
	struct watch_frame frames[OPS_WATCH_FRAMES];
	uint64_t addrs[OPS_WATCH_FRAMES];
	static struct watch_dump dump;
	const struct watch_stack *k;
	struct watch_images *who;
	size_t n;

	unpack_bytes(u, &dump, offsetof(struct watch_dump, comm));
	who = watch_images_find(&w->processes, (pid_t)dump.pid, dump.process_began_ns);
	k = find_stack(&w->stacks, &dump);
	if (k) {
		n = k->n;
		memcpy(addrs, k->addrs, n * sizeof(*addrs));
	} else {
		n = by_frame_pointers(&dump, addrs);
	}
	/* A register that is not a frame pointer may lead anywhere: cut at the first data. */
	for (size_t i = 0; who && who->images.n && i < n; i++)
		if (!images_find(&who->images, addrs[i]))
			n = i;
	for (size_t i = 0; i < n; i++)
		frames[i] = (struct watch_frame){ .addr = addrs[i] };
	if (who)
		watch_images_name(who, frames, n);
	if (dump.cookie && n && !frames[0].name)
		frames[0].name = "prof_dump";
	pack_u64(&p, n);
	for (size_t i = 0; i < n; i++) {
		pack_u64(&p, frames[i].addr);
		pack_u64(&p, frames[i].offset);
		pack_text(&p, frames[i].image);
		pack_text(&p, frames[i].name);
	}
	confined_reply(false, NULL, &p, -1);
}

static void serve(void *ctx)
{
	struct walker *w = ctx;
	static struct watch_begin begin;
	struct unpack u;

	while (confined_next(&u, NULL)) {
		if (unpack_u64(&u) == KIND_END) {
			answer(w, &u);
			continue;
		}
		unpack_bytes(&u, &begin, sizeof(begin));
		watch_stack_begin(&w->stacks, &w->processes, &begin);
	}
	watch_images_fini(&w->processes);
}

/* --- in the controller --- */

int watch_frames_start(struct watch_frames *f, struct err *err)
{
	const struct confined_options options = { .what = "name the frames of a dump",
						  .policy = { .debuginfod = f->debuginfod } };
	_cleanup_(cleanup_free) struct walker *w = calloc(1, sizeof(*w));

	if (!w)
		return err_no_memory(err);
	return confined_start(&f->child, &options, serve, w, err);
}

static void forget_texts(struct watch_frames *f)
{
	while (f->n_texts)
		free(f->texts[--f->n_texts]);
}

void watch_frames_fini(struct watch_frames *f)
{
	confined_end(&f->child);
	forget_texts(f);
}

/* A child that hangs or crashed is replaced. If that fails, the frames stay unknown. */
static void replace(struct watch_frames *f)
{
	struct err ignored;

	confined_end(&f->child);
	if (watch_frames_start(f, &ignored))
		f->child = (struct confined)CONFINED_INIT;
}

static bool tell(struct watch_frames *f, enum kind kind, const void *bytes, size_t len)
{
	_cleanup_(pack_fini) struct pack p = { 0 };
	struct err ignored;

	pack_u64(&p, kind);
	pack_bytes(&p, bytes, len);
	return !confined_ask(&f->child, &p, -1, &ignored);
}

void watch_frames_begin(struct watch_frames *f, const struct watch_begin *begin)
{
	if (f->child.sock >= 0 && !tell(f, KIND_BEGIN, begin, sizeof(*begin)))
		replace(f);
}

static const char *keep_text(struct watch_frames *f, char *text)
{
	if (text)
		f->texts[f->n_texts++] = text;
	return text;
}

size_t watch_frames_unpack(struct watch_frames *f, struct unpack *u,
			   struct watch_frame frames[OPS_WATCH_FRAMES])
{
	size_t n = (size_t)unpack_max(u, OPS_WATCH_FRAMES);

	forget_texts(f);
	for (size_t i = 0; i < n; i++) {
		frames[i].addr = unpack_u64(u);
		frames[i].offset = unpack_u64(u);
		frames[i].image = keep_text(f, unpack_text(u, PATH_ROOM));
		frames[i].name = keep_text(f, unpack_text(u, SYMBOLS_NAME_MAX));
	}
	return unpack_done(u) ? n : 0;
}

size_t watch_frames_end(struct watch_frames *f, const struct watch_dump *dump,
			struct watch_frame frames[OPS_WATCH_FRAMES])
{
	struct err ignored;
	struct unpack u;

	if (f->child.sock < 0)
		return 0;
	if (!tell(f, KIND_END, dump, offsetof(struct watch_dump, comm)) ||
	    confined_answer(&f->child, PATIENCE_MS, ANSWER_MAX, &u, NULL, &ignored)) {
		f->unanswered++;
		replace(f);
		return 0;
	}
	return watch_frames_unpack(f, &u, frames);
}
