// SPDX-License-Identifier: Apache-2.0
/* What each function allocated itself, and with all that it called: the rows of a report. */
#ifndef PROFILE_TABLE_H
#define PROFILE_TABLE_H

#include "profile/profile.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A function. A stack counts once for each that is in it, however often it is. */
struct profile_row {
	uint32_t function;		    /* index of profile_symbols.functions */
	double flat, cum;		    /* as the innermost call; anywhere in the stack */
	double flat_variance, cum_variance; /* by sampling: standard errors are their roots */
};

/* All stacks with the same calls, as rows tell them apart. */
struct profile_table_stack {
	double value, variance;
	size_t stack; /* the first of them: index of profile.stacks */
};

struct profile_table {
	struct profile_row *rows; /* of every function that some stack has */
	size_t n_rows;
	double total, variance; /* of all stacks with a call left: what flat adds up to */
	size_t n_stacks;	/* of them those that have any */
	/*
	 * What rows are parts of: the total; of a difference, what grew and what shrank added
	 * up, as `go tool pprof -base` has it.
	 */
	double whole;
	struct profile_table_stack *stacks; /* in the order of the profile; NULL: not asked for */
	size_t n_different;		    /* how many */
};

/*
 * Needs profile->symbols, without the calls that profile_filter() leaves out. `stacks`: fill in
 * table.stacks, too, of functions without lines. ERR_FAILED: no memory. The caller ends it with
 * profile_table_fini().
 */
int profile_table_init(struct profile_table *out, const struct profile *profile,
		       enum profile_type type, bool stacks, struct err *err) __must_check;
void profile_table_fini(struct profile_table *table);

struct profile_table_order {
	bool by_cum;  /* not by flat */
	bool by_sign; /* what shrank comes last, as jeprof has it, and not where its size puts it */
};

/* The largest first; what is equal by cum (not as jeprof has it), and then by name. */
void profile_table_sort(struct profile_table *table, const struct profile_symbols *symbols,
			struct profile_table_order order);

/*
 * Put the `n` heaviest stacks first (0: all), what grew and what shrank alike; returns how many
 * there are, without those that have nothing.
 */
size_t profile_table_top(struct profile_table *table, size_t n);

/*
 * Take the functions out whose cum is less than this part of the whole, and
 * those of a difference that are the same in both; the order stays.
 */
void profile_table_trim(struct profile_table *table, double fraction);

#endif
