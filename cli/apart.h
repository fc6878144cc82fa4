// SPDX-License-Identifier: Apache-2.0
/*
 * Runs the part of a command that reads profiles in a confined child (sandbox/confined.h). The
 * controller opens the files named on the command line, moves the results into place, and passes
 * on what the child prints, escaped if stdout is a terminal.
 */
#ifndef CLI_APART_H
#define CLI_APART_H

#include "cli/args.h"
#include "symbols/symbolize.h"

struct apart {
	const char *const *inputs; /* files the child may read; "-" is stdin */
	size_t n_inputs;
	const int *memory; /* memory files of the inputs, which then are names; NULL: paths */
	const char *base;  /* another input; NULL: none */
	const char *const *outputs; /* files it may write, checked before it starts */
	size_t n_outputs;
	bool sources; /* it may read source files (sandbox/door.h) */
	bool paged;   /* output longer than the terminal goes through a pager */
	const struct ops_symbolize_options *symbols;
	/* Runs in the child: prints, and returns as a command does. */
	int (*run)(const void *ctx, struct err *err);
	const void *ctx;
};

/* Fails with ERR_OUTPUT if a file cannot be written, or with the error of `run`. */
int apart_run(const struct args *args, const struct apart *apart, struct err *err) __must_check;

/* Whether stdout is a terminal; in the child, whether the controller's is. */
bool apart_to_terminal(void);

#endif
