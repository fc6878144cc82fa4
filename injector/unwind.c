// SPDX-License-Identifier: Apache-2.0
#include "injector/unwind.h"

#include "base/vec.h"
#include "elf/unwind.h"
#include "injector/safepoint.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* --- tables --- */

/* Pointer encodings (LSB, "DWARF Exception Header Encoding"). */
#define PE_ABSPTR 0x00
#define PE_UDATA4 0x03
#define PE_SDATA4 0x0b
#define PE_PCREL 0x10
#define PE_FORMAT 0x0f

#define EXTENDED_LENGTH 0xffffffffu

/* A place in the section; `bad` once something lay outside of it. */
struct cursor {
	const unsigned char *bytes;
	size_t at, end;
	bool bad;
};

static uint64_t take(struct cursor *c, size_t size)
{
	uint64_t v = 0;

	if (c->bad || c->end - c->at < size) {
		c->bad = true;
		return 0;
	}
	memcpy(&v, c->bytes + c->at, size);
	c->at += size;
	return v;
}

static uint64_t take_uleb(struct cursor *c)
{
	uint64_t v = 0, byte;
	unsigned int shift = 0;

	do {
		byte = take(c, 1);
		if (shift < 64)
			v |= (byte & 0x7f) << shift;
		shift += 7;
	} while ((byte & 0x80) && !c->bad);
	return v;
}

static size_t pointer_size(unsigned int encoding)
{
	switch (encoding & PE_FORMAT) {
	case PE_ABSPTR:
		return sizeof(uint64_t);
	case PE_UDATA4:
	case PE_SDATA4:
		return sizeof(uint32_t);
	default:
		return 0;
	}
}

/* How the FDEs of this CIE encode their addresses; -1 when that cannot be told. */
static int cie_encoding(struct cursor c)
{
	unsigned int encoding = PE_ABSPTR, version;
	const char *augmentation;
	size_t size;

	version = (unsigned int)take(&c, 1);
	augmentation = (const char *)c.bytes + c.at;
	if (c.bad || (version != 1 && version != 3) || !memchr(augmentation, 0, c.end - c.at))
		return -1;
	c.at += strlen(augmentation) + 1;
	take_uleb(&c); /* code and data alignment, return register */
	take_uleb(&c);
	version == 1 ? take(&c, 1) : take_uleb(&c);
	if (*augmentation == 'z')
		take_uleb(&c);
	for (const char *a = augmentation; *a && !c.bad; a++) {
		if (*a == 'R')
			encoding = (unsigned int)take(&c, 1);
		if (*a == 'L')
			take(&c, 1);
		if (*a == 'P') {
			size = pointer_size((unsigned int)take(&c, 1));
			c.bad |= !size;
			take(&c, size);
		}
	}
	return c.bad ? -1 : (int)encoding;
}

static bool fits(int64_t v)
{
	return v == (int32_t)v;
}

static int add(struct unwind_table *t, size_t *cap, uint64_t start, uint64_t fde)
{
	if (!fits((int64_t)(start - t->base)) || !fits((int64_t)fde))
		return 0;
	if (!vec_grow(t->v, *cap, t->n))
		return -1;
	t->v[t->n++] = (struct unwind_entry){ (int32_t)(start - t->base), (int32_t)fde };
	return 0;
}

/* The entry at `at` with its body `c`, behind the length. */
static int read_entry(struct unwind_table *t, size_t *cap, struct cursor c, size_t at)
{
	size_t id_at = c.at, cie_at;
	uint32_t id = (uint32_t)take(&c, sizeof(id));
	struct cursor cie = { .bytes = c.bytes };
	uint64_t start;
	int encoding;

	if (c.bad || id == 0 || id > id_at)
		return 0;
	cie_at = id_at - id;
	cie.end = c.end;
	cie.at = cie_at + 2 * sizeof(uint32_t); /* length and id */
	if (cie.at > cie.end)
		return 0;
	encoding = cie_encoding(cie);
	if (encoding < 0 || (encoding & ~(PE_FORMAT | PE_PCREL)) ||
	    !pointer_size((unsigned int)encoding))
		return 0;
	cie_at = c.at;
	start = take(&c, pointer_size((unsigned int)encoding));
	if ((encoding & PE_FORMAT) == PE_SDATA4)
		start = (uint64_t)(int64_t)(int32_t)start;
	if (encoding & PE_PCREL)
		start += t->base + cie_at;
	return c.bad ? 0 : add(t, cap, start, at);
}

static int entry_cmp(const void *a, const void *b)
{
	const struct unwind_entry *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

void unwind_table_make(struct unwind_table *t, const unsigned char *bytes, size_t len,
		       uint64_t addr)
{
	struct cursor c = { .bytes = bytes, .end = len };
	size_t cap = 0;

	*t = (struct unwind_table){ .base = addr };
	while (!c.bad && c.at < len) {
		size_t at = c.at;
		uint32_t length = (uint32_t)take(&c, sizeof(length));
		struct cursor body = { .bytes = bytes, .at = c.at };

		if (c.bad || length == EXTENDED_LENGTH || length > len - c.at)
			break;
		if (!length)
			continue; /* each part that was linked in may end with one */
		body.end = c.at + length;
		if (read_entry(t, &cap, body, at) < 0)
			break;
		c.at = body.end;
	}
	if (t->n)
		qsort(t->v, t->n, sizeof(*t->v), entry_cmp);
}

void unwind_table_fini(struct unwind_table *t)
{
	free(t->v);
	*t = (struct unwind_table){ 0 };
}

/* --- walking --- */

/*
 * The exact walk through a stopped thread's frames, over memory that was read
 * already. A frame without unwind information ends it, and the thread counts
 * as unsafe.
 */

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
