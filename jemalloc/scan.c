// SPDX-License-Identifier: Apache-2.0
#include "jemalloc/scan.h"

#include "arch/machine.h"
#include "elf/image_file.h"

#include <elf.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>

#define FUNCTIONS_MAX 128
#define INSNS_MAX 3000
#define ALL_INSNS_MAX (8u << 20) /* takes a second or two */
#define NEAR (UINT64_C(4) << 20)

static size_t read_target(void *ctx, uint64_t addr, void *buf, size_t len)
{
	return peek_some(ctx, addr, buf, len);
}

void scan_open_code(struct scan *s, struct image *img, pid_t pid)
{
	s->image = img;
	s->n_trees = 0;
	s->code = (struct decode){ .read = read_target, .ctx = &s->memory, .left = ALL_INSNS_MAX };
	peek_init(&s->memory, pid);
	image_peek_code(img, &s->memory);
	if (img->machine == ARCH_ELF_MACHINE)
		decode_use_frames(&s->code, img->eh_frame_hdr, img->eh_frame_hdr_size);
	else
		s->code.left = 0;
}

void scan_open(struct scan *s, struct image *img, pid_t pid)
{
	scan_open_code(s, img, pid);
	if (img->machine == ARCH_ELF_MACHINE)
		s->n_trees = ctl_tree_find(&s->tree, img, &s->memory);
}

struct near {
	uint64_t addr;
	scan_code_fn *fn;
	void *ctx;
};

static int search_near(void *ctx, unsigned int pflags, const char *bytes, size_t len, uint64_t addr)
{
	const struct near *n = ctx;
	size_t i = 0, end = len;

	if (!(pflags & PF_X) || addr > n->addr || n->addr - addr >= len)
		return 0;
	if (n->addr - addr > NEAR)
		i = (size_t)(n->addr - addr - NEAR);
	if (end > n->addr - addr + NEAR)
		end = (size_t)(n->addr - addr + NEAR);
	if (i < end)
		n->fn(n->ctx, bytes + i, end - i, addr + i);
	return 0;
}

void scan_code_near(struct scan *s, uint64_t addr, scan_code_fn *fn, void *ctx)
{
	struct near n = { addr, fn, ctx };

	image_each_segment(s->image, search_near, &n);
}

uint64_t scan_callee(struct scan *s, const struct insn *insn)
{
	uint64_t slot = 0, target = insn->target;

	if (insn->kind == INSN_CALL_INDIRECT && insn->has_memory && insn->size == sizeof(slot))
		slot = insn->memory;
	else if (insn->kind == INSN_CALL || insn->kind == INSN_TAIL)
		slot = decode_stub(&s->code, target);
	else
		return 0;
	if (slot && !peek(&s->memory, slot, &target, sizeof(target)))
		return 0;
	return target;
}

struct reach {
	struct scan *scan;
	insn_fn *fn;
	void *ctx;
	size_t n;
	struct {
		uint64_t entry;
		unsigned int depth;
	} v[FUNCTIONS_MAX];
	unsigned int depth; /* call depth of the function being walked */
};

static void add_function(struct reach *r, uint64_t entry, unsigned int depth)
{
	if (!image_has_code(r->scan->image, entry) || r->n == FUNCTIONS_MAX)
		return;
	for (size_t i = 0; i < r->n; i++)
		if (r->v[i].entry == entry)
			return;
	r->v[r->n].entry = entry;
	r->v[r->n++].depth = depth;
}

static int visit(void *ctx, const struct insn *insn)
{
	struct reach *r = ctx;

	if (r->depth && insn->kind != INSN_OTHER)
		add_function(r, scan_callee(r->scan, insn), r->depth - 1);
	return r->fn(r->ctx, insn);
}

int scan_reach(struct scan *s, uint64_t entry, unsigned int depth, insn_fn *fn, void *ctx)
{
	struct reach r = { .scan = s, .fn = fn, .ctx = ctx };
	int ret = 0;

	add_function(&r, entry, depth);
	for (size_t i = 0; i < r.n && !ret; i++) {
		r.depth = r.v[i].depth;
		ret = decode_function(&s->code, r.v[i].entry, INSNS_MAX, visit, &r);
	}
	return ret;
}

/* --- prof dump --- */

/* Finds prof_dump, which every dump calls whatever caused it, and which no build exports. */

#define DEPTH 3 /* from the handler to the call of prof_dump */
#define CREAT_INSNS 64

struct dump {
	struct scan *scan;
	uint64_t found;
	unsigned int file_arg;
	bool ambiguous;
};

static int is_creat_call(void *ctx, const struct insn *insn)
{
	(void)ctx;
#ifdef SYS_creat /* newer architectures have only openat(2), and need the name */
	return insn->kind == INSN_SYSCALL && insn_reg_is(insn, INSN_SYSCALL_NR, SYS_creat);
#else
	return (void)insn, 0;
#endif
}

/*
 * Recognizes creat(3) by the symbol that the linker will resolve or has resolved, else by its code.
 * In newer C libraries the function itself makes no system call.
 */
static int note_creat(void *ctx, const struct insn *insn)
{
	struct scan *s = ctx;
	uint64_t slot, callee;
	char name[32];

	if (insn->kind == INSN_OTHER || insn->kind == INSN_SYSCALL)
		return 0;
	slot = insn->kind == INSN_CALL_INDIRECT ? insn->memory
						: decode_stub(&s->code, insn->target);
	callee = scan_callee(s, insn);
	if (!callee)
		return 0;
	if (slot && image_reloc_name(s->image, slot, name, sizeof(name)))
		return !strcmp(name, "creat") || !strcmp(name, "creat64");
	return decode_function(&s->code, callee, CREAT_INSNS, is_creat_call, NULL) != 0;
}

/*
 * Recognizes a call for a dump to a file, not for leaks: prof_dump(tsd, true, filename, false);
 * before 4.0, or if the compiler drops the first argument, prof_dump(true, filename, false).
 */
static unsigned int file_arg_of(const struct insn *insn)
{
	if (insn_reg_is(insn, INSN_ARG_2, 1) && insn_reg_is(insn, INSN_ARG_4, 0))
		return 3;
	if (insn_reg_is(insn, INSN_ARG_1, 1) && insn_reg_is(insn, INSN_ARG_3, 0))
		return 2;
	return 0;
}

/* It creates the file itself, or, before 5.3.0, in a function that it calls. */
static int note_site(void *ctx, const struct insn *insn)
{
	struct dump *d = ctx;
	unsigned int file_arg = file_arg_of(insn);

	if ((insn->kind != INSN_CALL && insn->kind != INSN_TAIL) || !file_arg ||
	    insn->target == d->found || !scan_reach(d->scan, insn->target, 1, note_creat, d->scan))
		return 0;
	d->ambiguous |= d->found != 0;
	d->found = insn->target;
	d->file_arg = file_arg;
	return 0;
}

uint64_t scan_prof_dump(struct scan *s, unsigned int *file_arg)
{
	uint64_t handler = s->n_trees == 1 ? ctl_tree_handler(&s->tree, "prof.dump") : 0;
	struct dump d = { .scan = s };

	if (!handler)
		return 0;
	scan_reach(s, handler, DEPTH, note_site, &d);
	if (!d.found || d.ambiguous)
		return 0;
	*file_arg = d.file_arg;
	return d.found;
}

struct control {
	scan_control_fn *fn;
	void *ctx;
};

static int note_handler(void *ctx, const char *name, uint64_t handler)
{
	const struct control *c = ctx;

	(void)name;
	c->fn(c->ctx, handler);
	return 0;
}

void scan_control(struct scan *s, uint64_t mallctl, scan_control_fn *fn, void *ctx)
{
	struct control c = { fn, ctx };
	unsigned int ignored;
	uint64_t dump = scan_prof_dump(s, &ignored);

	fn(ctx, mallctl);
	if (s->n_trees == 1)
		ctl_tree_each(&s->tree, note_handler, &c);
	if (dump)
		fn(ctx, dump);
}
