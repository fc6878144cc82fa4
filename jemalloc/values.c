// SPDX-License-Identifier: Apache-2.0
/* Reads the variables of a jemalloc in a process. */
#include "jemalloc/jemalloc.h"
#include "jemalloc/options.h"

static bool peek_opt(const struct proc *p, const struct jemalloc *je, enum jemalloc_opt opt,
		     int64_t *value)
{
	struct err ignored = ERR_INIT;
	unsigned char bytes[8];

	return je->opt[opt] &&
	       !proc_read(p->mm_pid, je->opt[opt], bytes, jemalloc_opt_size(opt), &ignored) &&
	       options_value(opt, bytes, value);
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
