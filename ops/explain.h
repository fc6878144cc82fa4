// SPDX-License-Identifier: Apache-2.0
/* Where resident memory is, without asking the process: from the kernel, or from a file. */
#ifndef OPS_EXPLAIN_H
#define OPS_EXPLAIN_H

#include "ops/ops.h"
#include "ops/target/session.h"

#include <stddef.h>

/*
 * The kernel's view of a process that may be traced: no call is made in it. `why_not` as in struct
 * ops_explain. The only advice is what most of the memory is.
 */
int explain_seen(struct session *s, const struct err *why_not, struct ops_explain *out,
		 struct err *err) __must_check;

/*
 * The same from a document of ops_explain(), which is untrusted. Numbers that it lacks are 0.
 * ERR_FAILED: it is invalid, or its parts do not add up to the resident memory.
 */
#define EXPLAIN_TEXT_MAX ((size_t)256 << 10)
int explain_parse(const char *text, size_t len, struct ops_explain *out, struct err *err)
	__must_check;

/* Set how much of the allocated memory is used for sampling, from a profile of that moment. */
void explain_sampling(struct ops_explain *e, double bytes);

#endif
