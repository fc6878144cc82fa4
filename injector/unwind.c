// SPDX-License-Identifier: Apache-2.0
/*
 * The exact walk through a stopped thread's frames, over memory that was read
 * already. A frame without unwind information ends it, and the thread counts
 * as unsafe.
 */
#include "elf/unwind.h"
#include "injector/private.h"

#include <string.h>

#define TABLE_ADDR \
	0xffff800000000000ull /* where libunwind believes our own table to be: no user address */

struct walk {
	const struct tracer *t;
	const unsigned char *stack;
	uint64_t stack_addr;
	size_t stack_len;
	unsigned int n; /* frames so far, */
	uint64_t inner; /* and the last of them */
};

static bool read_word(void *ctx, uint64_t addr, uint64_t *word)
{
	const struct walk *w = ctx;
	const struct unwind_table *table = &w->t->inj->cs.table;
	struct err ignored = ERR_INIT;
	uint64_t at = addr - w->stack_addr;

	if (addr >= TABLE_ADDR &&
	    addr - TABLE_ADDR + sizeof(*word) <= table->n * sizeof(*table->v)) {
		memcpy(word, (const char *)table->v + (addr - TABLE_ADDR), sizeof(*word));
		return true;
	}

	if (addr >= w->stack_addr && at + sizeof(*word) <= w->stack_len) {
		memcpy(word, w->stack + at, sizeof(*word));
		return true;
	}
	return mem_read(w->t, addr, word, sizeof(*word), &ignored) == 0;
}

static bool find_table(void *ctx, uint64_t ip, struct unwind_table_place *place)
{
	const struct walk *w = ctx;
	const struct callsite *cs = &w->t->inj->cs;
	const struct image *img = images_find(w->t->inj->images, ip);

	if (img && !img->eh_frame_hdr && cs->table.n && img->start == cs->program.start) {
		*place = (struct unwind_table_place){ .start = cs->program.start,
						      .end = cs->program.end,
						      .base = cs->table.base,
						      .table = TABLE_ADDR,
						      .n_entries = cs->table.n };
		return true;
	}
	return img && unwind_table_of(img, read_word, ctx, place);
}

enum verdict { GO_ON, AT_ROOT, DANGEROUS };

static int judge(void *ctx, uint64_t ip)
{
	struct walk *w = ctx;
	const struct callsite *cs = &w->t->inj->cs;
	uint64_t inner = w->inner;
	bool called = w->n++;

	w->inner = ip;
	if (called && callsite_is_root(cs, ip - 1, inner - 1))
		return AT_ROOT;
	/* A return address may lie just behind the function that called last of all. */
	if (callsite_is_dangerous(cs, ip) || (called && callsite_is_dangerous(cs, ip - 1)))
		return DANGEROUS;
	return GO_ON;
}

static void copy_regs(const struct arch_regs *regs, uint64_t out[UNWIND_REGS])
{
	const struct user_regs_struct *r = &regs->r;
	const uint64_t values[UNWIND_REGS] = { r->rax, r->rdx, r->rcx, r->rbx, r->rsi, r->rdi,
					       r->rbp, r->rsp, r->r8,  r->r9,  r->r10, r->r11,
					       r->r12, r->r13, r->r14, r->r15, r->rip };

	memcpy(out, values, sizeof(values));
}

int unwind_check(const struct tracer *t, const struct arch_regs *regs, const unsigned char *stack,
		 uint64_t stack_addr, size_t stack_len, struct err *err)
{
	struct walk w = { t, stack, stack_addr, stack_len, 0, 0 };
	struct unwind_source source = {
		.read = read_word, .table = find_table, .ctx = &w, .keep = true
	};

	copy_regs(regs, source.regs);
	switch (unwind_walk(&source, judge, &w)) {
	case GO_ON:
	case AT_ROOT:
		return 0;
	case DANGEROUS:
		return err_set(err, ERR_UNSAFE, "it was called from the allocator or the loader");
	default:
		return err_set(err, ERR_UNSAFE,
			       source.guessed ? "a frame on its stack has no unwind information"
					      : "its stack cannot be walked, or is too deep");
	}
}
