// SPDX-License-Identifier: Apache-2.0
#include "jemalloc/options.h"

#include "jemalloc/scan.h"

#include <elf.h>
#include <stdio.h>
#include <string.h>

/* --- variables --- */

/*
 * Finds the variables behind mallctl's names without symbols, which distributions strip. opt.prof
 * decides whether it is safe to query anything else.
 */

#define BYTES_MAX 64
#define ALLOCATION_DEPTH 3 /* calls from malloc to the decision whether to sample */

/* Bytes of the image's data that some code reads or sets. */
struct bytes {
	const struct scan *scan;
	struct {
		uint64_t addr;
		bool read, set;
	} v[BYTES_MAX];
	size_t n;
};

/* Does it access `size` bytes of the image that are not code? */
static bool accesses_data(const struct scan *s, const struct insn *insn, size_t size)
{
	return insn->has_memory && insn->size == size && image_contains(s->image, insn->memory) &&
	       !image_has_code(s->image, insn->memory);
}

static int note_byte(void *ctx, const struct insn *insn)
{
	struct bytes *b = ctx;
	size_t i = 0;

	if (!accesses_data(b->scan, insn, 1))
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

/* The byte of a bool option holds 0 or 1. */
static bool is_bool(struct scan *s, uint64_t addr)
{
	unsigned char value;

	return peek(&s->memory, addr, &value, sizeof(value)) && value <= 1;
}

static int is_read(void *ctx, const struct insn *insn)
{
	const uint64_t *addr = ctx;

	return insn->has_memory && insn->memory == *addr && insn->size == 1 && insn->reads;
}

bool options_allocation_reads(struct scan *s, uint64_t entry, uint64_t addr)
{
	return scan_reach(s, entry, ALLOCATION_DEPTH, is_read, &addr);
}

uint64_t options_find_prof(struct scan *s)
{
	uint64_t handler = s->n_trees == 1 ? ctl_tree_handler(&s->tree, "opt.prof") : 0;
	struct bytes b = { .scan = s };
	uint64_t addr, dump;

	/* It has to be the only byte that the handler reads. */
	if (!handler || scan_reach(s, handler, 0, note_byte, &b) || b.n != 1 || !b.v[0].read ||
	    b.v[0].set || !is_bool(s, b.v[0].addr))
		return 0;
	addr = b.v[0].addr;
	dump = ctl_tree_handler(&s->tree, "prof.dump");
	return dump && scan_reach(s, dump, 2, is_read, &addr) ? addr : 0;
}

/* The bytes that a handler stores: the value of config.* is a constant in its code. */
static int note_constant(void *ctx, const struct insn *insn)
{
	unsigned int *seen = ctx; /* bits: 0, 1, anything else */

	if (insn->writes_constant && insn->size == 1)
		*seen |= 1u << (insn->constant < 2 ? insn->constant : 2);
	return 0;
}

static enum tristate config_of(struct scan *s, uint64_t handler)
{
	unsigned int seen = 0;

	scan_reach(s, handler, 0, note_constant, &seen);
	return seen == 1u << 1 ? TRI_YES : seen == 1u << 0 ? TRI_NO : TRI_UNKNOWN;
}

enum jemalloc_unwinder jemalloc_unwinder(enum tristate libgcc, enum tristate libunwind,
					 enum tristate frameptr)
{
	if (libunwind == TRI_YES)
		return UNWINDER_LIBUNWIND;
	if (libgcc == TRI_YES)
		return UNWINDER_LIBGCC;
	if (frameptr == TRI_YES)
		return UNWINDER_FRAMES;
	return libunwind == TRI_NO && libgcc == TRI_NO && frameptr == TRI_NO ? UNWINDER_COMPILER
									     : UNWINDER_UNKNOWN;
}

enum jemalloc_unwinder options_find_unwinder(struct scan *s)
{
	uint64_t libgcc, libunwind, frameptr;

	if (s->n_trees != 1)
		return UNWINDER_UNKNOWN;
	libgcc = ctl_tree_handler(&s->tree, "config.prof_libgcc");
	libunwind = ctl_tree_handler(&s->tree, "config.prof_libunwind");
	frameptr = ctl_tree_handler(&s->tree, "config.prof_frameptr"); /* from 5.3.1 on */
	return jemalloc_unwinder(config_of(s, libgcc), config_of(s, libunwind),
				 frameptr ? config_of(s, frameptr) : TRI_NO);
}

/* A lock's flag is set to constants, unlike a value passed by a caller. */
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

uint64_t options_find_active(struct scan *s)
{
	uint64_t active, other;

	if (s->n_trees != 1)
		return 0;
	active = set_by(s, "prof.active");
	other = set_by(s, "prof.thread_active_init");
	return active && other && active != other ? active : 0;
}

/* --- options --- */

/* Finds the variables with the initial profiling options. */

/* The longest handler of an option; measured: 144 bytes. */
#define HANDLER_MAX 256

/* According to their types in jemalloc (jemalloc_internal_externs.h): bool, size_t, ssize_t. */
static const struct opt {
	const char *name;
	size_t size;
	int64_t min, max;
} opts[JEMALLOC_OPTS] = {
	[OPT_PROF] = { "prof", 1, 0, 1 },
	[OPT_PROF_ACTIVE] = { "prof_active", 1, 0, 1 },
	[OPT_PROF_THREAD_ACTIVE_INIT] = { "prof_thread_active_init", 1, 0, 1 },
	[OPT_LG_PROF_SAMPLE] = { "lg_prof_sample", 8, 0, 63 },
	[OPT_LG_PROF_INTERVAL] = { "lg_prof_interval", 8, -1, 63 },
	[OPT_PROF_GDUMP] = { "prof_gdump", 1, 0, 1 },
	[OPT_PROF_FINAL] = { "prof_final", 1, 0, 1 },
	[OPT_PROF_LEAK] = { "prof_leak", 1, 0, 1 },
	[OPT_PROF_ACCUM] = { "prof_accum", 1, 0, 1 },
};

const char *jemalloc_opt_name(enum jemalloc_opt opt)
{
	return opts[opt].name;
}

size_t jemalloc_opt_size(enum jemalloc_opt opt)
{
	return opts[opt].size;
}

bool options_value(enum jemalloc_opt opt, const unsigned char bytes[8], int64_t *value)
{
	int64_t n = 0;

	memcpy(&n, bytes, opts[opt].size);
	if (n < opts[opt].min || n > opts[opt].max)
		return false;
	*value = n;
	return true;
}

struct reading {
	struct scan *scan;
	size_t size;
	uint64_t addr; /* the only variable of that size that it reads */
	bool ambiguous;
};

static int note_read(void *ctx, const struct insn *insn)
{
	struct reading *r = ctx;

	if (!accesses_data(r->scan, insn, r->size))
		return 0;
	r->ambiguous |= !insn->reads || insn->writes || (r->addr && r->addr != insn->memory);
	r->addr = insn->memory;
	return 0;
}

static uint64_t handler_of(const struct scan *s, const char *name)
{
	char full[64];

	snprintf(full, sizeof(full), "opt.%s", name);
	return ctl_tree_handler(&s->tree, full);
}

/* The only variable of that size that the handler of an option reads; 0 if unknown. */
static uint64_t only_read(struct scan *s, const char *name, size_t size)
{
	struct reading r = { .scan = s, .size = size };
	uint64_t handler = handler_of(s, name);

	if (!handler || scan_reach(s, handler, 0, note_read, &r) || r.ambiguous)
		return 0;
	return r.addr;
}

uint64_t options_find_word(struct scan *s, const char *name)
{
	return s->n_trees == 1 ? only_read(s, name, 8) : 0;
}

static uint64_t read_by_handler(struct scan *s, enum jemalloc_opt opt)
{
	uint64_t addr = only_read(s, opts[opt].name, opts[opt].size);
	unsigned char bytes[8];
	int64_t value;

	return addr && peek(&s->memory, addr, bytes, opts[opt].size) &&
			       options_value(opt, bytes, &value)
		       ? addr
		       : 0;
}

/* Which candidates are set by code near mallctl, as by the configuration parser. */
struct setting {
	struct scan *scan;
	uint64_t addr[JEMALLOC_OPTS];
	bool set[JEMALLOC_OPTS];
	uint64_t low, high; /* bounds of `addr` */
	unsigned int wanted;
};

/* Does it write the variable, or take its address, or has an earlier one taken that? */
static int note_set(void *ctx, const struct insn *insn)
{
	struct setting *w = ctx;
	uint64_t wanted = w->addr[w->wanted];
	bool set = insn->has_memory && insn->memory == wanted &&
		   (!insn->size || (insn->writes && insn->size == opts[w->wanted].size));

	for (unsigned int i = 0; i < DECODE_REGS && w->scan->image->type == ET_EXEC; i++)
		set |= insn_reg_is(insn, i, wanted);
	w->set[w->wanted] |=
		set && insn->addr - handler_of(w->scan, opts[w->wanted].name) >= HANDLER_MAX;
	return 0;
}

/* Code at `addr` may refer to a candidate at `memory` or shortly after. */
static void try_setting(void *ctx, uint64_t addr, uint64_t memory)
{
	struct setting *w = ctx;

	for (unsigned int i = 0; i < JEMALLOC_OPTS; i++) {
		/* A constant of 1 or 4 bytes may follow the address. */
		if (!w->addr[i] || w->set[i] || w->addr[i] - memory > 4)
			continue;
		w->wanted = i;
		for (unsigned int back = DECODE_BACK_MIN; back <= DECODE_BACK_MAX; back++)
			decode_line(&w->scan->code, addr - back, 2, note_set, w);
	}
}

static void search_settings(void *ctx, const char *bytes, size_t len, uint64_t addr)
{
	struct setting *w = ctx;

	decode_find_names(bytes, len, addr, w->scan->image->type == ET_EXEC, w->low, w->high,
			  try_setting, w);
}

static bool is_unique(const struct setting *w, unsigned int opt)
{
	for (unsigned int i = 0; i < JEMALLOC_OPTS; i++)
		if (i != opt && w->addr[i] == w->addr[opt])
			return false;
	return true;
}

void options_find(struct scan *s, uint64_t mallctl, uint64_t opt[JEMALLOC_OPTS])
{
	struct setting w = { .scan = s, .low = UINT64_MAX };
	bool any = false;

	if (s->n_trees != 1)
		return;
	for (unsigned int i = 0; i < JEMALLOC_OPTS; i++) {
		w.addr[i] = opt[i] ? opt[i] : read_by_handler(s, i);
		any |= !opt[i] && w.addr[i];
		if (w.addr[i] && w.addr[i] < w.low)
			w.low = w.addr[i];
		if (w.addr[i] > w.high)
			w.high = w.addr[i];
	}
	if (!any)
		return;
	scan_code_near(s, mallctl, search_settings, &w);
	for (unsigned int i = 0; i < JEMALLOC_OPTS; i++)
		if (!opt[i] && w.set[i] && is_unique(&w, i))
			opt[i] = w.addr[i];
}
