// SPDX-License-Identifier: Apache-2.0
#include "ops/watch/stack.h"

#include "elf/peek.h"
#include "elf/unwind.h"

#include <string.h>

#define SP 7 /* among them */

_Static_assert(WATCH_REGS == UNWIND_REGS, "the kernel's half names registers as libunwind does");

struct walk {
	struct images *images;
	struct peek code; /* tables, and what is not on the stack */
	const unsigned char *stack;
	uint64_t sp;
	size_t len;
};

static bool read_word(void *ctx, uint64_t addr, uint64_t *word)
{
	struct walk *w = ctx;
	uint64_t at = addr - w->sp;

	if (addr >= w->sp && at + sizeof(*word) <= w->len) {
		memcpy(word, w->stack + at, sizeof(*word));
		return true;
	}
	return peek(&w->code, addr, word, sizeof(*word));
}

static bool find_table(void *ctx, uint64_t ip, struct unwind_table_place *place)
{
	const struct walk *w = ctx;
	const struct image *img = images_find(w->images, ip);

	return img && unwind_table_of(img, read_word, ctx, place);
}

static int add_frame(void *ctx, uint64_t ip)
{
	struct watch_stack *out = ctx;

	out->addrs[out->n++] = ip;
	return out->n == OPS_WATCH_FRAMES;
}

void watch_stack_begin(struct watch_stacks *s, struct watch_processes *whos,
		       const struct watch_begin *begin)
{
	static struct walk w; /* large */
	const pid_t pid = (pid_t)begin->process.pid;
	struct watch_images *who = watch_images_find(whos, pid, begin->process.began_ns);
	struct unwind_source source = { .read = read_word, .table = find_table, .ctx = &w };
	struct watch_stack *out = &s->v[s->next];

	if (!who || !begin->stack_len || begin->stack_len > sizeof(begin->stack))
		return;
	s->next = (s->next + 1) % STACKS_MAX;
	*out = (struct watch_stack){ .pid = pid,
				     .tid = (pid_t)begin->tid,
				     .dump_began_ns = begin->dump_began_ns };
	w.images = &who->images;
	w.stack = begin->stack;
	w.sp = begin->regs[SP];
	w.len = begin->stack_len;
	peek_init(&w.code, pid);
	memcpy(source.regs, begin->regs, sizeof(source.regs));
	/* Where it ends before its time, what was found until then is true. */
	if (unwind_walk(&source, add_frame, out) < 0 && out->n &&
	    !images_find(&who->images, out->addrs[out->n - 1]) && watch_images_refresh(who)) {
		out->n = 0; /* it has loaded a library since */
		(void)unwind_walk(&source, add_frame, out);
	}
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
 * By frame pointers the caller of prof_dump is missed where the kernel does not know that a
 * function's frame does not stand yet at its entry: it goes in.
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

/* Where a register was no frame pointer it leads anywhere. */
static size_t cut_at_data(const struct watch_images *who, const uint64_t *addrs, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!images_find(&who->images, addrs[i]))
			return i;
	return n;
}

size_t watch_stack_end(const struct watch_stacks *s, const struct watch_dump *dump,
		       struct watch_images *who, struct watch_frame frames[OPS_WATCH_FRAMES])
{
	const struct watch_stack *k = find_stack(s, dump);
	uint64_t addrs[OPS_WATCH_FRAMES];
	size_t n = 0;

	if (k) {
		n = k->n;
		memcpy(addrs, k->addrs, n * sizeof(*addrs));
	} else {
		n = by_frame_pointers(dump, addrs);
	}
	if (who && who->images.n)
		n = cut_at_data(who, addrs, n);
	for (size_t i = 0; i < n; i++)
		frames[i] = (struct watch_frame){ .addr = addrs[i] };
	if (who)
		watch_images_name(who, frames, n);
	if (dump->cookie && n && !frames[0].name)
		frames[0].name = "prof_dump";
	return n;
}
