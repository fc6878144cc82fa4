// SPDX-License-Identifier: Apache-2.0
/* prof_dump, which every dump goes through whoever caused it, and which no build exports. */
#include "target/image_reloc.h"
#include "target/jemalloc_scan.h"

#include <string.h>
#include <sys/syscall.h>

#define DEPTH 4
#define CREAT_INSNS 64
#define CALLS_MAX 64

struct dump {
	struct scan *scan;
	uint64_t function; /* that is being walked */
	uint64_t creates;  /* the one that calls creat(), */
	bool ambiguous;	   /* or one of several */
	uint64_t called;   /* as prof_dump is called: to dump, with no other file */
	const char *reg;
	size_t n;
	uint64_t functions[CALLS_MAX];
};

static int is_creat_call(void *ctx, const struct insn *insn)
{
	(void)ctx;
	return insn->kind == INSN_SYSCALL && insn_reg_is(insn, INSN_RAX, SYS_creat);
}

/* creat(3) by name where the linker has not looked it up yet, else by what it does. */
static bool calls_creat(struct scan *s, const struct insn *insn)
{
	uint64_t slot = insn->kind == INSN_CALL_INDIRECT ? insn->memory
							 : decode_stub(&s->code, insn->target);
	uint64_t callee = scan_callee(s, insn);
	char name[32];

	if (!callee)
		return false;
	if (slot && scan_in_image(s, callee) &&
	    image_reloc_name(s->image, slot, name, sizeof(name)))
		return !strcmp(name, "creat") || !strcmp(name, "creat64");
	return decode_function(&s->code, callee, CREAT_INSNS, is_creat_call, NULL);
}

/*
 * To dump into a file of this name, and not for leaks: prof_dump(tsd, true,
 * filename, false), and before 4.0, and where the compiler drops the first
 * argument, prof_dump(true, filename, false).
 */
static void note_call(struct dump *d, const struct insn *insn, uint64_t callee)
{
	const char *reg = NULL;

	if (insn_reg_is(insn, INSN_RSI, 1) && insn_reg_is(insn, INSN_RCX, 0))
		reg = "rdx";
	else if (insn_reg_is(insn, INSN_RDI, 1) && insn_reg_is(insn, INSN_RDX, 0))
		reg = "rsi";
	if (!reg || callee != d->creates)
		return;
	d->called = callee;
	d->reg = reg;
}

static int note_creat(void *ctx, const struct insn *insn)
{
	struct dump *d = ctx;

	if (insn->kind == INSN_OTHER || insn->kind == INSN_SYSCALL || !calls_creat(d->scan, insn))
		return 0;
	d->ambiguous |= d->creates && d->creates != d->function;
	d->creates = d->function;
	return 0;
}

static int note_function(void *ctx, const struct insn *insn)
{
	struct dump *d = ctx;
	uint64_t callee = insn->kind == INSN_OTHER ? 0 : scan_callee(d->scan, insn);

	if (!scan_in_code(d->scan, callee))
		return 0;
	for (size_t i = 0; i < d->n; i++)
		if (d->functions[i] == callee)
			callee = 0;
	if (callee && d->n < CALLS_MAX)
		d->functions[d->n++] = callee;
	return 0;
}

static int note_site(void *ctx, const struct insn *insn)
{
	if (insn->kind == INSN_CALL || insn->kind == INSN_TAIL)
		note_call(ctx, insn, insn->target);
	return 0;
}

uint64_t scan_prof_dump(struct scan *s, const char **reg)
{
	uint64_t handler = s->n_trees == 1 ? ctl_tree_handler(&s->tree, "prof.dump") : 0;
	struct dump d = { .scan = s };

	if (!handler)
		return 0;
	scan_reach(s, handler, DEPTH - 1, note_function, &d);
	for (size_t i = 0; i < d.n; i++) {
		d.function = d.functions[i];
		scan_reach(s, d.function, 0, note_creat, &d);
	}
	if (!d.creates || d.ambiguous)
		return 0;
	scan_reach(s, handler, DEPTH - 1, note_site, &d);
	if (d.called != d.creates)
		return 0;
	*reg = d.reg;
	return d.called;
}
