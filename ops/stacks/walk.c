// SPDX-License-Identifier: Apache-2.0
#include "ops/stacks/walk.h"

#include "elf/unwind.h"

#include <string.h>

#define SP 7 /* index in the registers */

_Static_assert(PROBE_REGS == ARCH_DWARF_REGS,
	       "the kernel's half names registers as libunwind does");

struct walk {
	struct stack_walker *w;
	const struct stack_copy *stack;
	uint64_t *addrs;
	size_t n, max;
};

void stack_walker_init(struct stack_walker *w, const struct images *images, pid_t pid, bool gone_on)
{
	w->images = images;
	w->gone_on = gone_on;
	peek_init(&w->memory, pid);
}

static bool read_word(void *ctx, uint64_t addr, uint64_t *word)
{
	const struct walk *walk = ctx;
	const struct stack_copy *s = walk->stack;
	uint64_t at = addr - s->regs[SP];

	if (addr >= s->regs[SP] && at < s->len && s->len - at >= sizeof(*word)) {
		memcpy(word, s->bytes + at, sizeof(*word));
		return true;
	}
	return (!walk->w->gone_on || images_find(walk->w->images, addr)) &&
	       peek(&walk->w->memory, addr, word, sizeof(*word));
}

static bool find_table(void *ctx, uint64_t ip, struct unwind_table_place *place)
{
	const struct walk *walk = ctx;
	const struct image *img = images_find(walk->w->images, ip);

	return img && unwind_table_of(img, read_word, ctx, place);
}

static int add_frame(void *ctx, uint64_t ip)
{
	struct walk *walk = ctx;

	walk->addrs[walk->n++] = ip;
	return walk->n == walk->max;
}

size_t stack_walk(struct stack_walker *w, const struct stack_copy *stack, uint64_t *addrs,
		  size_t max, bool *whole)
{
	struct walk walk = { .w = w, .stack = stack, .addrs = addrs, .max = max };
	struct unwind_source source = {
		.read = read_word, .table = find_table, .ctx = &walk, .keep = w->gone_on
	};

	memcpy(source.regs, stack->regs, sizeof(source.regs));
	*whole = unwind_walk(&source, add_frame, &walk) == 0;
	return walk.n;
}
