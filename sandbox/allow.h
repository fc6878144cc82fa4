// SPDX-License-Identifier: Apache-2.0
/* Seccomp filters for our own processes, built from lists of allowed system calls. */
#ifndef SANDBOX_ALLOW_H
#define SANDBOX_ALLOW_H

#include "base/err.h"

#include <seccomp.h>
#include <stddef.h>

/* A system call with conditions on its arguments. If a call has several rules, any one suffices. */
struct allow_rule {
	int call;
	unsigned int n;
	struct scmp_arg_cmp args[2];
};

#define ALLOW_LACKS(bits) SCMP_CMP_MASKED_EQ, (bits), 0
#define ALLOW_HAS(bits) SCMP_CMP_MASKED_EQ, (bits), (bits)

struct allow_list {
	const int *calls; /* allowed with any arguments */
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
 * From now on all system calls of this process except those in the lists fail with EPERM. On a
 * kernel without seccomp(2) all remain allowed, which is not an error. ERR_FAILED: the filter could
 * not be created or installed.
 */
int allow_only(const struct allow_list *lists, size_t n, struct err *err) __must_check;

#endif
