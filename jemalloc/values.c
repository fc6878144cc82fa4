// SPDX-License-Identifier: Apache-2.0
/* Reads the variables of a jemalloc in a process. */
#include "jemalloc/jemalloc.h"
#include "jemalloc/options.h"

void jemalloc_peek_values(const struct jemalloc *je, const struct proc *p,
			  struct jemalloc_values *out)
{
	struct err ignored = ERR_INIT;
	unsigned char active, bytes[8];

	*out = (struct jemalloc_values){ .prof_active = TRI_UNKNOWN };
	for (unsigned int i = 0; i < JEMALLOC_OPTS; i++)
		out->opt[i].known =
			je->opt[i] &&
			!proc_read(p->mm_pid, je->opt[i], bytes, jemalloc_opt_size(i), &ignored) &&
			options_value(i, bytes, &out->opt[i].value);
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
