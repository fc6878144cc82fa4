// SPDX-License-Identifier: Apache-2.0
/* What each function allocated itself, and with its callees: the rows of a report. */
#ifndef PROFILE_TABLE_H
#define PROFILE_TABLE_H

#include "profile/profile.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A function. A stack counts once for each function in it, even if it occurs several times. */
struct profile_row {
	uint32_t function;		    /* index of profile_symbols.functions */
	double flat, cum;		    /* as the innermost call; anywhere in a stack */
	double flat_variance, cum_variance; /* by sampling: standard errors are the roots */
};

/* All stacks with the same calls, by the grain of the rows. */
struct profile_table_stack {
	double value, variance;
	size_t stack; /* the first of them: index of profile.stacks */
};

struct profile_table {
	struct profile_row *rows; /* one for each function in any stack */
	size_t n_rows;
	double total, variance; /* of all stacks with a call left: the sum of flat */
	size_t n_stacks;	/* of these, stacks with a count */
	/*
	 * The basis of percentages: the total; in a difference, the sum of all absolute changes, as
	 * in `go tool pprof -base`.
	 */
	double whole;
	struct profile_table_stack *stacks; /* in the order of the profile; NULL: not requested */
	size_t n_different;		    /* number of stacks */
};

/*
 * Needs profile->symbols, after profile_filter(). `stacks`: also fill in table.stacks, for
 * functions without lines. ERR_FAILED: no memory. The caller ends it with profile_table_fini().
 */
int profile_table_init(struct profile_table *out, const struct profile *profile,
		       enum profile_type type, bool stacks, struct err *err) __must_check;
void profile_table_fini(struct profile_table *table);

struct profile_table_order {
	bool by_cum;  /* not by flat */
	bool by_sign; /* what shrank comes last, as in jeprof, not by its absolute value */
};

/* Largest first; ties by cum (unlike jeprof), then by name. */
void profile_table_sort(struct profile_table *table, const struct profile_symbols *symbols,
			struct profile_table_order order);

/*
 * Put the `n` heaviest stacks first (0: all), by absolute value. Returns how many there are, not
 * counting empty ones.
 */
size_t profile_table_top(struct profile_table *table, size_t n);

/*
 * Remove functions whose cum is less than this fraction of the whole, and in a difference those
 * without a change; the order stays.
 */
void profile_table_trim(struct profile_table *table, double fraction);

#endif
