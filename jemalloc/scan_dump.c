// SPDX-License-Identifier: Apache-2.0
/* prof_dump, which every dump goes through whoever caused it, and which no build exports. */
#include "elf/image_head.h"
#include "jemalloc/jemalloc.h"
#include "jemalloc/scan.h"

#include <elf.h>
#include <string.h>
#include <sys/syscall.h>

#define DEPTH 3 /* from the handler to the call of prof_dump */
#define CREAT_INSNS 64

struct dump {
	struct scan *scan;
	uint64_t found;
	const char *reg;
	bool ambiguous;
};

static int is_creat_call(void *ctx, const struct insn *insn)
{
	(void)ctx;
	return insn->kind == INSN_SYSCALL && insn_reg_is(insn, INSN_RAX, SYS_creat);
}

/*
 * creat(3) by the name that the linker is to look up, or has looked up, else by what it does.
 * In newer C libraries the function itself makes no system call.
 */
static bool calls_creat(struct scan *s, const struct insn *insn)
{
	uint64_t slot = insn->kind == INSN_CALL_INDIRECT ? insn->memory
							 : decode_stub(&s->code, insn->target);
	uint64_t callee = scan_callee(s, insn);
	char name[32];

	if (!callee)
		return false;
	if (slot && image_reloc_name(s->image, slot, name, sizeof(name)))
		return !strcmp(name, "creat") || !strcmp(name, "creat64");
	return decode_function(&s->code, callee, CREAT_INSNS, is_creat_call, NULL);
}

static int note_creat(void *ctx, const struct insn *insn)
{
	return insn->kind != INSN_OTHER && insn->kind != INSN_SYSCALL && calls_creat(ctx, insn);
}

/*
 * To dump into a file of this name, and not for leaks: prof_dump(tsd, true,
 * filename, false), and before 4.0, and where the compiler drops the first
 * argument, prof_dump(true, filename, false).
 */
static const char *name_register(const struct insn *insn)
{
	if (insn_reg_is(insn, INSN_RSI, 1) && insn_reg_is(insn, INSN_RCX, 0))
		return "rdx";
	if (insn_reg_is(insn, INSN_RDI, 1) && insn_reg_is(insn, INSN_RDX, 0))
		return "rsi";
	return NULL;
}

/* It makes the file by itself, or, before 5.3.0, has a function for that. */
static int note_site(void *ctx, const struct insn *insn)
{
	struct dump *d = ctx;
	const char *reg = name_register(insn);

	if ((insn->kind != INSN_CALL && insn->kind != INSN_TAIL) || !reg ||
	    insn->target == d->found || !scan_reach(d->scan, insn->target, 1, note_creat, d->scan))
		return 0;
	d->ambiguous |= d->found != 0;
	d->found = insn->target;
	d->reg = reg;
	return 0;
}

uint64_t scan_prof_dump(struct scan *s, const char **reg)
{
	uint64_t handler = s->n_trees == 1 ? ctl_tree_handler(&s->tree, "prof.dump") : 0;
	struct dump d = { .scan = s };

	if (!handler)
		return 0;
	scan_reach(s, handler, DEPTH, note_site, &d);
	if (!d.found || d.ambiguous)
		return 0;
	*reg = d.reg;
	return d.found;
}

static int count_name(void *ctx, const char *name, uint64_t handler)
{
	(void)name;
	(void)handler;
	++*(size_t *)ctx;
	return 0;
}

void jemalloc_find_dump(const struct jemalloc *je, const struct proc *p, struct jemalloc_dump *out)
{
	struct scan scan;

	*out = (struct jemalloc_dump){ .reg = "" };
	scan_open(&scan, je->image, p->mm_pid);
	if (scan.n_trees == 1)
		ctl_tree_each(&scan.tree, count_name, &out->n_names);
	out->prof_dump = scan_prof_dump(&scan, &out->reg);
}

/* "prof_dump", also as a clone that gcc or clang made with fewer arguments; not its cold part. */
static bool is_prof_dump(const char *name, bool *cloned)
{
	static const char plain[] = "prof_dump";
	static const char *const clones[] = { ".constprop.", ".isra.", ".part.", ".lto_priv." };
	const char *tail = name + sizeof(plain) - 1;

	if (strncmp(name, plain, sizeof(plain) - 1) != 0 || strstr(name, ".cold"))
		return false;
	*cloned = *tail;
	for (size_t i = 0; *tail && i < sizeof(clones) / sizeof(*clones); i++)
		if (!strncmp(tail, clones[i], strlen(clones[i])))
			return true;
	return !*tail;
}

struct named {
	const struct jemalloc *je;
	struct jemalloc_text text;
	struct jemalloc_dump *out;
	size_t n;
	bool in_text; /* `out` lies in what is known to be this jemalloc's code */
};

static int note_name(void *ctx, const char *name, const struct symbol *sym)
{
	struct named *n = ctx;
	bool cloned;

	if (sym->type != STT_FUNC || !is_prof_dump(name, &cloned))
		return 0;
	n->n++;
	n->in_text = jemalloc_text_has(&n->text, sym->addr);
	n->out->prof_dump = sym->addr;
	if (cloned)
		n->out->reg = "";
	else
		n->out->reg = jemalloc_version_cmp(n->je->version, 4, 0, 0) < 0 ? "rsi" : "rdx";
	return n->in_text;
}

bool jemalloc_find_prof_dump(const struct jemalloc *je, const struct proc *p,
			     struct jemalloc_dump *out)
{
	struct named n = { .je = je, .out = out };
	struct err ignored = ERR_INIT;

	jemalloc_find_dump(je, p, out);
	if (out->prof_dump || !image_may_name(je->image, "prof_dump"))
		return out->prof_dump;
	(void)!jemalloc_text(&n.text, je, p->mm_pid, &ignored);
	image_each_symbol(je->image, note_name, &n);
	jemalloc_text_fini(&n.text);
	/* Of several jemallocs in one program, only the one whose code is known to be there. */
	if (n.n > 1 && !n.in_text)
		out->prof_dump = 0;
	return out->prof_dump;
}
