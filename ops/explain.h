// SPDX-License-Identifier: Apache-2.0
/* Where resident memory is, without asking the process: as the kernel shows it, or a file says. */
#ifndef OPS_EXPLAIN_H
#define OPS_EXPLAIN_H

#include "ops/ops.h"
#include "ops/target/session.h"

#include <stddef.h>

/*
 * What the kernel shows of a process that may be traced: no call is made in it. `why_not` as in
 * struct ops_explain. Of the advice, what most of it is.
 */
int explain_seen(struct session *s, const struct err *why_not, struct ops_explain *out,
		 struct err *err) __must_check;

/*
 * The same as a document of ops_explain() has it, which may be anybody's. Numbers that it lacks
 * are 0. ERR_FAILED: it is none, or its parts are not what is resident.
 */
#define EXPLAIN_TEXT_MAX ((size_t)256 << 10)
int explain_parse(const char *text, size_t len, struct ops_explain *out, struct err *err)
	__must_check;

/* So much of what is allocated is for sampling, as a profile of that moment tells. */
void explain_sampling(struct ops_explain *e, double bytes);

#endif
