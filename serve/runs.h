// SPDX-License-Identifier: Apache-2.0
/* Private to serve/: operations on runs (serve/store.h), as in serve/operate.c. */
#ifndef SERVE_RUNS_H
#define SERVE_RUNS_H

#include "serve/operate.h"

int run_do_record(const struct work *w, struct result *r, struct err *err);
int run_do_sample(const struct work *w, struct result *r, struct err *err);
/* Take the profile of a rule that fired, as a run. In the subprocess of the guard. */
int run_take(const struct store *runs, const struct serve_rule *rule,
	     const struct ops_guard_due *due, const struct ops_options *options,
	     struct ops_guard_taken *taken, struct err *err);

int run_do_list(const struct work *w, struct result *r, struct err *err);
int run_do_show(const struct work *w, struct result *r, struct err *err);
int run_do_profile(const struct work *w, struct result *r, struct err *err);
int run_do_delete(const struct work *w, struct result *r, struct err *err);

#endif
