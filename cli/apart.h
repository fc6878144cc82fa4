// SPDX-License-Identifier: Apache-2.0
/*
 * The part of a command that reads profiles, in a confined child (sandbox/confined.h). The
 * controller opens the files that the line names, puts what is made in its place, and passes on
 * what the child prints: made harmless where that is a terminal.
 */
#ifndef CLI_APART_H
#define CLI_APART_H

#include "cli/args.h"
#include "symbols/symbolize.h"

struct apart {
	const char *const *inputs; /* the files that it may read; "-" is the standard input */
	size_t n_inputs;
	const int *memory; /* memory files that the inputs are names for; NULL: they are paths */
	const char *base;  /* one more; NULL: none */
	const char *const *outputs; /* those that it may write: checked before it begins */
	size_t n_outputs;
	bool sources; /* it may read source text (sandbox/door.h) */
	bool paged;   /* what is longer than the terminal goes through a pager (cli/pager.h) */
	const struct ops_symbolize_options *symbols;
	/* In the child: prints, and fails as a command does. */
	int (*run)(const void *ctx, struct err *err);
	const void *ctx;
};

/* ERR_OUTPUT from a file that cannot be written; what `run` fails with. */
int apart_run(const struct args *args, const struct apart *apart, struct err *err) __must_check;

/* Is the standard output a terminal, also where it is printed to from apart? */
bool apart_to_terminal(void);

#endif
