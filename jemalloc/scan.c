// SPDX-License-Identifier: Apache-2.0
#include "jemalloc/scan.h"

#include "elf/image_file.h"

#include <elf.h>

#define FUNCTIONS_MAX 128
#define INSNS_MAX 3000
#define ALL_INSNS_MAX (8u << 20) /* one second or two */

static size_t read_target(void *ctx, uint64_t addr, void *buf, size_t len)
{
	return peek_some(ctx, addr, buf, len);
}

void scan_open(struct scan *s, struct image *img, pid_t pid)
{
	s->image = img;
	s->n_trees = 0;
	s->code = (struct decode){ .read = read_target, .ctx = &s->memory, .left = ALL_INSNS_MAX };
	peek_init(&s->memory, pid);
	image_peek_code(img, &s->memory);
	if (img->machine != EM_X86_64)
		return;
	s->n_trees = ctl_tree_find(&s->tree, img, &s->memory);
	decode_use_frames(&s->code, img->eh_frame_hdr, img->eh_frame_hdr_size);
}

bool scan_in_image(const struct scan *s, uint64_t addr)
{
	return s->image->start <= addr && addr < s->image->end;
}

bool scan_in_code(const struct scan *s, uint64_t addr)
{
	for (size_t i = 0; i < s->image->n_exec; i++)
		if (s->image->exec[i].start <= addr && addr < s->image->exec[i].end)
			return true;
	return false;
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
	unsigned int depth; /* of the function being walked */
};

static void add_function(struct reach *r, uint64_t entry, unsigned int depth)
{
	if (!scan_in_code(r->scan, entry) || r->n == FUNCTIONS_MAX)
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
	const char *ignored;
	uint64_t dump = scan_prof_dump(s, &ignored);

	fn(ctx, mallctl);
	if (s->n_trees == 1)
		ctl_tree_each(&s->tree, note_handler, &c);
	if (dump)
		fn(ctx, dump);
}
