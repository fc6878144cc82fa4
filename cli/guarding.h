// SPDX-License-Identifier: Apache-2.0
/* Turns options of `guard`, from the command line or a file of rules, into a request. */
#ifndef CLI_GUARDING_H
#define CLI_GUARDING_H

#include "cli/args.h"
#include "ops/guard/guard.h"

/* Set rules, action and limits of *r, which refers to `rules`. ERR_USAGE. */
int guard_request(const struct args *args, struct guard_rule rules[TEXTS_MAX],
		  struct ops_guard_request *r, struct err *err) __must_check;

/* Set the filter of *r, besides its named processes; it refers to `filter`. ERR_USAGE. */
int guard_processes(const struct args *args, struct ops_filter *filter, struct ops_guard_request *r,
		    struct err *err) __must_check;

#endif
