// SPDX-License-Identifier: Apache-2.0
/* What the options of `guard` mean, on a command line or in a file of rules. */
#ifndef CLI_GUARDING_H
#define CLI_GUARDING_H

#include "cli/args.h"
#include "ops/guard/guard.h"

/* When, how and how often; `rules` is the caller's, and *r keeps it. ERR_USAGE. */
int guard_request(const struct args *args, struct guard_rule rules[TEXTS_MAX],
		  struct ops_guard_request *r, struct err *err) __must_check;

/* Which processes, besides r->n_named that are named; the same for `filter`. ERR_USAGE. */
int guard_processes(const struct args *args, struct ops_filter *filter, struct ops_guard_request *r,
		    struct err *err) __must_check;

#endif
