// SPDX-License-Identifier: Apache-2.0
/* Private to injector/: one call's arguments, laid out as bytes for the target. */
#ifndef INJECTOR_CALLARGS_H
#define INJECTOR_CALLARGS_H

#include "injector/tracer.h"

#define ARGS_MAX (8 * 1024)
struct call_args {
	uint64_t fn;
	uint64_t args[6];
	unsigned char bytes[ARGS_MAX]; /* to be written to `addr`; the result word comes first */
	size_t len;
	uint64_t addr;
	uint64_t result; /* address at which the return value is stored */
};
/* `path` replaces the text of CALL_MEMFD. */
int call_args_build(struct call_args *a, const struct callsite *cs, const struct call *call,
		    const char *path, uint64_t addr, struct err *err) __must_check;
/* Read the results back from the target; *go_on is true when the next call may be made. */
int call_args_collect(const struct tracer *t, const struct call_args *a, const struct call *call,
		      uint64_t tls, struct shared_call *out, bool *go_on, struct err *err)
	__must_check;

#endif
