// SPDX-License-Identifier: Apache-2.0
/* Finds a jemalloc's prof_dump by its code, else by its name. */
#include "jemalloc/jemalloc.h"
#include "jemalloc/scan.h"

#include <elf.h>
#include <string.h>

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

	*out = (struct jemalloc_dump){ 0 };
	scan_open(&scan, je->image, p->mm_pid);
	if (scan.n_trees == 1)
		ctl_tree_each(&scan.tree, count_name, &out->n_names);
	out->prof_dump = scan_prof_dump(&scan, &out->file_arg);
}

/* "prof_dump", or a clone by gcc or clang, perhaps with fewer arguments; not its cold part. */
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
	bool in_text; /* `out` is in code known to be this jemalloc's */
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
		n->out->file_arg = 0;
	else
		n->out->file_arg = jemalloc_version_cmp(n->je->version, 4, 0, 0) < 0 ? 2 : 3;
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
	/* With several in one program, accept only one in code known to be this jemalloc's. */
	if (n.n > 1 && !n.in_text)
		out->prof_dump = 0;
	return out->prof_dump;
}
