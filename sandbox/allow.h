// SPDX-License-Identifier: Apache-2.0
/* Seccomp filters of our own processes, made of lists of what they may call. */
#ifndef SANDBOX_ALLOW_H
#define SANDBOX_ALLOW_H

#include "base/err.h"

#include <seccomp.h>
#include <stddef.h>

/* A call with what its arguments must be. Several rules of one call: any of them will do. */
struct allow_rule {
	int call;
	unsigned int n;
	struct scmp_arg_cmp args[2];
};

#define ALLOW_LACKS(bits) SCMP_CMP_MASKED_EQ, (bits), 0
#define ALLOW_HAS(bits) SCMP_CMP_MASKED_EQ, (bits), (bits)

struct allow_list {
	const int *calls; /* with any arguments */
	size_t n_calls;
	const struct allow_rule *rules;
	size_t n_rules;
};

#define ALLOW_COUNT(array) (sizeof(array) / sizeof(*(array)))
#define ALLOW_LIST(calls, rules)                                         \
	{                                                                \
		(calls), ALLOW_COUNT(calls), (rules), ALLOW_COUNT(rules) \
	}

/*
 * From now on this process makes no other calls than those of the lists: EPERM. A kernel without
 * seccomp(2) lets it make all, which is no error. ERR_FAILED: the filter could not be made or set.
 */
int allow_only(const struct allow_list *lists, size_t n, struct err *err) __must_check;

#endif
