// SPDX-License-Identifier: Apache-2.0
/*
 * The variables behind mallctl's names, where distributions have stripped
 * them. opt.prof decides whether anything else may be asked.
 */
#include "jemalloc/scan.h"

#define BYTES_MAX 64
#define ALLOCATION_DEPTH 3 /* calls from malloc to where it decides whether to sample */

/* Bytes of the image's data that some code reads, and that it sets. */
struct bytes {
	const struct scan *scan;
	struct {
		uint64_t addr;
		bool read, set;
	} v[BYTES_MAX];
	size_t n;
};

static int note_byte(void *ctx, const struct insn *insn)
{
	struct bytes *b = ctx;
	size_t i = 0;

	if (!insn->has_memory || insn->size != 1 || !scan_in_image(b->scan, insn->memory) ||
	    scan_in_code(b->scan, insn->memory))
		return 0;
	while (i < b->n && b->v[i].addr != insn->memory)
		i++;
	if (i == BYTES_MAX)
		return 1;
	b->v[i].addr = insn->memory;
	b->v[i].read |= insn->reads;
	b->v[i].set |= insn->writes && !insn->writes_constant;
	b->n += i == b->n;
	return 0;
}

/* A byte of code is a bool: jemalloc's options have no other values. */
static bool is_bool(struct scan *s, uint64_t addr)
{
	unsigned char value;

	return peek(&s->memory, addr, &value, sizeof(value)) && value <= 1;
}

/* The only byte that the handler of `name` reads, 0 if there is none, or several. */
static uint64_t read_by(struct scan *s, const char *name)
{
	struct bytes b = { .scan = s };
	uint64_t handler = ctl_tree_handler(&s->tree, name);

	if (!handler || scan_reach(s, handler, 0, note_byte, &b) || b.n != 1 || !b.v[0].read ||
	    b.v[0].set)
		return 0;
	return is_bool(s, b.v[0].addr) ? b.v[0].addr : 0;
}

static int is_read(void *ctx, const struct insn *insn)
{
	const uint64_t *addr = ctx;

	return insn->has_memory && insn->memory == *addr && insn->size == 1 && insn->reads;
}

bool scan_allocation_reads(struct scan *s, uint64_t entry, uint64_t addr)
{
	return scan_reach(s, entry, ALLOCATION_DEPTH, is_read, &addr);
}

uint64_t scan_opt_prof(struct scan *s)
{
	uint64_t addr = s->n_trees == 1 ? read_by(s, "opt.prof") : 0;
	uint64_t dump = addr ? ctl_tree_handler(&s->tree, "prof.dump") : 0;

	return dump && scan_reach(s, dump, 2, is_read, &addr) ? addr : 0;
}

/* A lock's own flag is set to constants; what a caller hands over is not. */
static uint64_t set_by(struct scan *s, const char *name)
{
	struct bytes b = { .scan = s };
	uint64_t handler = ctl_tree_handler(&s->tree, name), addr = 0;

	if (!handler || scan_reach(s, handler, 1, note_byte, &b))
		return 0;
	for (size_t i = 0; i < b.n; i++) {
		if (!b.v[i].read || !b.v[i].set)
			continue;
		if (addr)
			return 0;
		addr = b.v[i].addr;
	}
	return addr && is_bool(s, addr) ? addr : 0;
}

uint64_t scan_prof_active(struct scan *s)
{
	uint64_t active, other;

	if (s->n_trees != 1)
		return 0;
	active = set_by(s, "prof.active");
	other = set_by(s, "prof.thread_active_init");
	return active && other && active != other ? active : 0;
}
