// SPDX-License-Identifier: Apache-2.0
/*
 * Finds functions by references of the code to strings: jemalloc itself reads dozens of its values
 * by name to report them, by calls of mallctl. Only the file is searched, each byte once, however
 * large it is.
 */
#include "elf/image_file.h"
#include "jemalloc/scan.h"

#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STRINGS_MAX 256
#define TARGETS_MAX 64
#define TRIES_MAX (4u << 20) /* strings that may be a name */
#define VOTES_MIN 4
#define LINE_MAX_ 24 /* instructions from the reference to the call */
#define LOOKUP_DEPTH 2
#define CTL_OFFSET 32 /* of the handler within a node */

/* Names that jemalloc reads individually in every version from 4.0 on. */
static const char *const names[] = {
	"opt.abort",	   "opt.narenas",    "opt.dss",		"opt.stats_print",
	"opt.junk",	   "opt.zero",	     "opt.utrace",	"opt.xmalloc",
	"opt.tcache",	   "opt.prof",	     "opt.prof_prefix", "opt.prof_active",
	"opt.prof_accum",  "opt.prof_gdump", "opt.prof_final",	"opt.prof_leak",
	"config.debug",	   "config.fill",    "config.utrace",	"config.xmalloc",
	"arenas.quantum",  "arenas.page",    "arenas.nbins",	"arenas.narenas",
	"stats.allocated", "stats.active",   "stats.metadata",	"stats.resident",
	"stats.mapped",	   "stats.retained",
};
#define N_NAMES (sizeof(names) / sizeof(names[0]))
_Static_assert(N_NAMES <= 32, "a bit for each");

static const char first_line[] = "___ Begin jemalloc statistics ___";

struct target {
	uint64_t addr;
	uint32_t names; /* the names it is called with, one bit each */
};

struct xrefs {
	struct scan *scan;
	struct {
		uint64_t addr;
		unsigned int name;
	} strings[STRINGS_MAX];
	size_t n_strings;
	unsigned int tries; /* at most TRIES_MAX */
	uint64_t low, high; /* bounds of their addresses */
	struct target targets[TARGETS_MAX];
	size_t n_targets;
	unsigned int name; /* the one whose use is being followed */
	uint64_t string;   /* its address */
};

static void add_string(struct xrefs *x, const char *s, size_t len, uint64_t addr)
{
	for (unsigned int i = 0; i < N_NAMES; i++) {
		size_t size = strlen(names[i]) + 1;

		if (len < size || memcmp(s, names[i], size) != 0 || x->n_strings == STRINGS_MAX)
			continue;
		x->strings[x->n_strings].addr = addr;
		x->strings[x->n_strings++].name = i;
	}
}

static int search_strings(void *ctx, unsigned int pflags, const char *bytes, size_t len,
			  uint64_t addr)
{
	const char *end = bytes + len, *at = bytes;
	struct xrefs *x = ctx;

	if ((pflags & PF_X) && x->n_strings)
		return 0;
	while ((at = memchr(at, '.', (size_t)(end - at)))) {
		const char *start = at;

		while (start > bytes && at - start < 8 && start[-1])
			start--;
		if ((start == bytes || !start[-1]) && x->tries++ < TRIES_MAX)
			add_string(x, start, (size_t)(end - start),
				   addr + (uint64_t)(start - bytes));
		at++;
	}
	return 0;
}

static int follow_use(void *ctx, const struct insn *insn)
{
	struct xrefs *x = ctx;
	uint64_t target;
	size_t i = 0;

	if ((insn->kind != INSN_CALL && insn->kind != INSN_CALL_INDIRECT) ||
	    !insn_reg_is(insn, INSN_ARG_1, x->string))
		return 0;
	target = scan_callee(x->scan, insn);
	if (!image_has_code(x->scan->image, target))
		return 1;
	while (i < x->n_targets && x->targets[i].addr != target)
		i++;
	if (i == TARGETS_MAX)
		return 1;
	if (i == x->n_targets)
		x->targets[x->n_targets++] = (struct target){ .addr = target };
	x->targets[i].names |= UINT32_C(1) << x->name;
	return 1;
}

static void note_use(void *ctx, uint64_t code, uint64_t string)
{
	struct xrefs *x = ctx;

	if (string < x->low || string > x->high)
		return;
	for (size_t i = 0; i < x->n_strings; i++) {
		if (x->strings[i].addr != string)
			continue;
		x->name = x->strings[i].name;
		x->string = string;
		decode_line(&x->scan->code, code, LINE_MAX_, follow_use, x);
		return;
	}
}

static int search_uses(void *ctx, unsigned int pflags, const char *bytes, size_t len, uint64_t addr)
{
	struct xrefs *x = ctx;

	if (!(pflags & PF_X))
		return 0;
	decode_find_addresses(bytes, len, addr, x->scan->image->type == ET_EXEC, note_use, x);
	return 0;
}

/* The winner, if it is unique. */
static uint64_t count_votes(const struct xrefs *x, char *said, size_t size)
{
	const struct target *best = NULL, *second = NULL;
	int n, n_second;

	for (size_t i = 0; i < x->n_targets; i++) {
		const struct target *t = &x->targets[i];

		if (!best || __builtin_popcount(t->names) > __builtin_popcount(best->names)) {
			second = best;
			best = t;
		} else if (!second ||
			   __builtin_popcount(t->names) > __builtin_popcount(second->names)) {
			second = t;
		}
	}
	n = best ? __builtin_popcount(best->names) : 0;
	n_second = second ? __builtin_popcount(second->names) : 0;
	if (n < VOTES_MIN)
		snprintf(said, size, "no function is called with %d of its option names",
			 VOTES_MIN);
	else if (n < 2 * n_second)
		snprintf(said, size, "both %#llx and %#llx are called with its option names",
			 (unsigned long long)best->addr, (unsigned long long)second->addr);
	else
		return best->addr;
	return 0;
}

/* Does the code look a name up in the tree, and call the handler found? */
struct lookup {
	const struct ctl_tree *tree;
	bool uses_tree, calls, reads_handler;
};

static int note_lookup(void *ctx, const struct insn *insn)
{
	struct lookup *l = ctx;
	uint64_t at = insn->memory - l->tree->root;

	/* The root node, or the field that the compiler resolved: its children. */
	l->uses_tree |=
		insn->has_memory && (at < CTL_OFFSET + 8 || insn->memory == l->tree->children);
	for (unsigned int i = 0; i < DECODE_REGS; i++)
		l->uses_tree |= insn_reg_is(insn, i, l->tree->root) ||
				insn_reg_is(insn, i, l->tree->children);
	l->reads_handler |= insn->has_offset && insn->offset == CTL_OFFSET;
	l->calls |= insn->kind == INSN_CALL_INDIRECT && !insn->has_memory;
	return 0;
}

static bool is_lookup(struct scan *s, uint64_t mallctl)
{
	struct lookup deep = { .tree = &s->tree }, near = { .tree = &s->tree };

	scan_reach(s, mallctl, LOOKUP_DEPTH, note_lookup, &deep);
	scan_reach(s, mallctl, LOOKUP_DEPTH - 1, note_lookup, &near);
	return deep.uses_tree && near.reads_handler && near.calls;
}

uint64_t scan_mallctl(struct scan *s, char *said, size_t size)
{
	struct xrefs x = { .scan = s, .low = UINT64_MAX };
	uint64_t mallctl;

	if (s->n_trees != 1) {
		snprintf(said, size, "its data contains %s tree of mallctl names",
			 s->n_trees ? "more than one" : "no");
		return 0;
	}
	image_each_segment(s->image, search_strings, &x);
	for (size_t i = 0; i < x.n_strings; i++) {
		if (x.strings[i].addr < x.low)
			x.low = x.strings[i].addr;
		if (x.strings[i].addr > x.high)
			x.high = x.strings[i].addr;
	}
	image_each_segment(s->image, search_uses, &x);
	mallctl = count_votes(&x, said, size);
	if (!mallctl || is_lookup(s, mallctl))
		return mallctl;
	snprintf(said, size,
		 "string references lead to %#llx, which does not look names up in the tree at "
		 "%#llx",
		 (unsigned long long)mallctl, (unsigned long long)s->tree.root);
	return 0;
}

struct report {
	struct scan *scan;
	uint64_t line; /* address of the report's first line */
	uint64_t found;
	bool ambiguous;
	bool names_line; /* found in the function being examined */
	uint64_t candidate;
};

static int note_line(void *ctx, const struct insn *insn)
{
	struct report *r = ctx;

	r->names_line |= insn->has_memory && insn->memory == r->line;
	for (unsigned int i = 0; i < DECODE_REGS; i++)
		r->names_line |= insn_reg_is(insn, i, r->line);
	return r->names_line;
}

static int note_candidate(void *ctx, const struct insn *insn)
{
	struct report *r = ctx;

	if (insn->kind == INSN_OTHER)
		return 0;
	if (insn_reg_is(insn, INSN_ARG_1, 0) && insn_reg_is(insn, INSN_ARG_2, 0))
		r->candidate = scan_callee(r->scan, insn);
	return 1;
}

static void try_call(void *ctx, uint64_t addr, uint64_t to)
{
	struct report *r = ctx;

	(void)to;
	r->candidate = 0;
	decode_line(&r->scan->code, addr, LINE_MAX_, note_candidate, r);
	if (!r->candidate || r->candidate == r->found ||
	    !image_has_code(r->scan->image, r->candidate))
		return;
	r->names_line = false;
	scan_reach(r->scan, r->candidate, 1, note_line, r);
	if (!r->names_line)
		return;
	r->ambiguous |= r->found != 0;
	r->found = r->candidate;
}

/* Find the first of the two null arguments. */
static void search_calls(void *ctx, const char *bytes, size_t len, uint64_t addr)
{
	decode_find_zeros(bytes, len, addr, try_call, ctx);
}

uint64_t scan_stats_print(struct scan *s, uint64_t mallctl)
{
	struct report r = { .scan = s };

	r.line = image_search(s->image, PF_R, first_line, strlen(first_line));
	if (!r.line)
		return 0;
	scan_code_near(s, mallctl, search_calls, &r);
	return r.ambiguous ? 0 : r.found;
}
