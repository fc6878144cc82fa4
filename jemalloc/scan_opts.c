// SPDX-License-Identifier: Apache-2.0
/* The variables that keep what profiling was started with. */
#include "elf/image_file.h"
#include "jemalloc/jemalloc.h"
#include "jemalloc/scan.h"

#include <elf.h>
#include <stdio.h>
#include <string.h>

/* The code that reads the configuration stands in the same object file as mallctl's, or near it. */
#define NEAR (UINT64_C(4) << 20)
/* From the first byte of an instruction to the four that say where its memory lies. */
#define OPCODE_MIN 1
#define OPCODE_MAX 4
/* No handler of an option is longer; measured: 144 bytes. */
#define HANDLER_MAX 256

/* As their type in jemalloc says (jemalloc_internal_externs.h): a bool, size_t, ssize_t. */
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

/* One byte or eight, of a machine that has the lowest first. */
static bool is_value(const struct opt *opt, const unsigned char bytes[8], int64_t *value)
{
	int64_t n = 0;

	memcpy(&n, bytes, opt->size);
	if (n < opt->min || n > opt->max)
		return false;
	*value = n;
	return true;
}

static bool peek_opt(const struct proc *p, const struct jemalloc *je, enum jemalloc_opt opt,
		     int64_t *value)
{
	struct err ignored = ERR_INIT;
	unsigned char bytes[8];

	return je->opt[opt] &&
	       !proc_read(p->mm_pid, je->opt[opt], bytes, opts[opt].size, &ignored) &&
	       is_value(&opts[opt], bytes, value);
}

void jemalloc_peek_values(const struct jemalloc *je, const struct proc *p,
			  struct jemalloc_values *out)
{
	struct err ignored = ERR_INIT;
	unsigned char active;

	*out = (struct jemalloc_values){ .prof_active = TRI_UNKNOWN };
	for (unsigned int i = 0; i < JEMALLOC_OPTS; i++)
		out->opt[i].known = peek_opt(p, je, i, &out->opt[i].value);
	if (je->prof_active &&
	    !proc_read(p->mm_pid, je->prof_active, &active, sizeof(active), &ignored))
		out->prof_active = active ? TRI_YES : TRI_NO;
}

void jemalloc_read_values(struct jemalloc *je, const struct proc *p, struct jemalloc_values *out)
{
	jemalloc_find_opts(je, p->mm_pid);
	jemalloc_peek_values(je, p, out);
}

enum tristate jemalloc_value_is(const struct jemalloc_values *values, enum jemalloc_opt opt)
{
	if (!values->opt[opt].known)
		return TRI_UNKNOWN;
	return values->opt[opt].value ? TRI_YES : TRI_NO;
}

struct reading {
	struct scan *scan;
	size_t size;
	uint64_t addr; /* the only variable of that size that is read */
	bool ambiguous;
};

static int note_read(void *ctx, const struct insn *insn)
{
	struct reading *r = ctx;

	if (!insn->has_memory || insn->size != r->size || !scan_in_image(r->scan, insn->memory) ||
	    scan_in_code(r->scan, insn->memory))
		return 0;
	r->ambiguous |= !insn->reads || insn->writes || (r->addr && r->addr != insn->memory);
	r->addr = insn->memory;
	return 0;
}

static uint64_t handler_of(const struct scan *s, const struct opt *opt)
{
	char name[64];

	snprintf(name, sizeof(name), "opt.%s", opt->name);
	return ctl_tree_handler(&s->tree, name);
}

static uint64_t read_by_handler(struct scan *s, const struct opt *opt)
{
	struct reading r = { .scan = s, .size = opt->size };
	uint64_t handler = handler_of(s, opt);
	unsigned char bytes[8];
	int64_t value;

	if (!handler || scan_reach(s, handler, 0, note_read, &r) || r.ambiguous || !r.addr ||
	    !peek(&s->memory, r.addr, bytes, opt->size) || !is_value(opt, bytes, &value))
		return 0;
	return r.addr;
}

/* Which of the candidates the code near mallctl sets, as what reads the configuration does. */
struct setting {
	struct scan *scan;
	uint64_t mallctl;
	uint64_t addr[JEMALLOC_OPTS];
	bool set[JEMALLOC_OPTS];
	uint64_t low, high; /* of `addr` */
	unsigned int wanted;
};

/* It writes the variable, or takes its address to do so; or one before it took that. */
static int note_set(void *ctx, const struct insn *insn)
{
	struct setting *w = ctx;
	uint64_t wanted = w->addr[w->wanted];
	bool set = insn->has_memory && insn->memory == wanted &&
		   (!insn->size || (insn->writes && insn->size == opts[w->wanted].size));

	for (unsigned int i = 0; i < DECODE_REGS && w->scan->image->type == ET_EXEC; i++)
		set |= insn_reg_is(insn, i, wanted);
	w->set[w->wanted] |=
		set && insn->addr - handler_of(w->scan, &opts[w->wanted]) >= HANDLER_MAX;
	return 0;
}

/* Four bytes at `addr` that may say where a candidate is: at `memory`, or a little behind it. */
static void try_setting(struct setting *w, uint64_t addr, uint64_t memory)
{
	for (unsigned int i = 0; i < JEMALLOC_OPTS; i++) {
		/* What follows is a constant of 1 or 4 bytes to write, or nothing. */
		if (!w->addr[i] || w->set[i] || w->addr[i] - memory > 4)
			continue;
		w->wanted = i;
		for (unsigned int back = OPCODE_MIN; back <= OPCODE_MAX; back++)
			decode_line(&w->scan->code, addr - back, 2, note_set, w);
	}
}

/* Four bytes at `at` of code at `addr` as what an instruction adds to the address behind it. */
static uint64_t relative_to(const char *at, uint64_t addr)
{
	int32_t n;

	memcpy(&n, at, sizeof(n));
	return addr + 4 + (uint64_t)(int64_t)n;
}

/* The same as an address, in programs where those are constants. */
static uint64_t absolute(const char *at)
{
	uint32_t n;

	memcpy(&n, at, sizeof(n));
	return n;
}

/* Nearly every byte of the code comes through here: what the loop compares with is its own. */
static int search_settings(void *ctx, unsigned int pflags, const char *bytes, size_t len,
			   uint64_t addr)
{
	struct setting *w = ctx;
	const bool constants = w->scan->image->type == ET_EXEC;
	const uint64_t low = w->low, span = w->high - w->low;
	size_t i = OPCODE_MAX, end = len;

	if (!(pflags & PF_X) || addr > w->mallctl || w->mallctl - addr >= len)
		return 0;
	if (w->mallctl - addr > NEAR)
		i = (size_t)(w->mallctl - addr - NEAR);
	if (end > w->mallctl - addr + NEAR)
		end = (size_t)(w->mallctl - addr + NEAR);
	for (; i + 4 <= end; i++) {
		uint64_t memory = relative_to(bytes + i, addr + i);

		if (memory + 4 - low <= span + 4)
			try_setting(w, addr + i, memory);
		if (constants && absolute(bytes + i) - low <= span)
			try_setting(w, addr + i, absolute(bytes + i));
	}
	return 0;
}

static void bound(struct setting *w)
{
	w->low = UINT64_MAX;
	for (unsigned int i = 0; i < JEMALLOC_OPTS; i++) {
		if (!w->addr[i])
			continue;
		if (w->addr[i] < w->low)
			w->low = w->addr[i];
		if (w->addr[i] > w->high)
			w->high = w->addr[i];
	}
}

static bool is_unique(const struct setting *w, unsigned int opt)
{
	for (unsigned int i = 0; i < JEMALLOC_OPTS; i++)
		if (i != opt && w->addr[i] == w->addr[opt])
			return false;
	return true;
}

void scan_opts(struct scan *s, uint64_t mallctl, uint64_t opt[JEMALLOC_OPTS])
{
	struct setting w = { .scan = s, .mallctl = mallctl };
	bool any = false;

	if (s->n_trees != 1)
		return;
	for (unsigned int i = 0; i < JEMALLOC_OPTS; i++) {
		w.addr[i] = opt[i] ? opt[i] : read_by_handler(s, &opts[i]);
		any |= !opt[i] && w.addr[i];
	}
	if (!any)
		return;
	bound(&w);
	image_each_segment(s->image, search_settings, &w);
	for (unsigned int i = 0; i < JEMALLOC_OPTS; i++)
		if (!opt[i] && w.set[i] && is_unique(&w, i))
			opt[i] = w.addr[i];
}
