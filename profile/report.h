// SPDX-License-Identifier: Apache-2.0
/* Reports for people: tables of functions, and call graphs. */
#ifndef PROFILE_REPORT_H
#define PROFILE_REPORT_H

#include "profile/coverage.h"
#include "profile/profile.h"
#include "profile/table.h"

#include <stdbool.h>
#include <stdio.h>

enum profile_unit {
	PROFILE_UNIT_AUTO, /* a suitable one for each number */
	PROFILE_UNIT_B,
	PROFILE_UNIT_KB, /* powers of 1024 */
	PROFILE_UNIT_MB,
	PROFILE_UNIT_GB,
};

struct profile_report_options {
	enum profile_type type;
	enum profile_unit unit; /* of bytes */
	bool by_cum;		/* sorted by cum, not by flat */
	size_t node_count;	/* rows; 0: all */
	double edge_fraction;	/* in a tree, leave out calls below this part of the total */
	double total;		/* of the unfiltered profile */
	const char *column;	/* title of the last column: "function", "line" */
	const char *how_all;	/* how to see all rows, shown if some are left out */
	size_t n_processes;	/* dumped for this report and added up; 0: from files */
	bool has_thread;	/* of one thread, or of threads of one name */
	uint64_t thread;
	const struct profile_coverage *coverage; /* NULL: not known */
	const char *memory;	 /* where the process's memory was; NULL: not known */
	const char *thread_name; /* raw text; NULL: by `thread` */
	size_t n_folded;	 /* hidden allocator functions (profile/fold.h) */
	const char *how_folded;	 /* how to see them */
	size_t columns;		 /* of the terminal, to fit names to; 0: no terminal */
	bool color;
};

/* "inuse_space" and the like. Static storage. */
const char *profile_type_name(enum profile_type type);

/* The time span of the allocations counted; 0: not known, or it counts memory in use. */
int64_t profile_report_ns(const struct profile *profile);

/* The number of rows at the start of a sorted table that the options leave. */
size_t profile_report_rows(const struct profile_table *table,
			   const struct profile_report_options *options);

/* Private to profile/: the head of all reports, and how they write numbers. */
void profile_report_head(const struct profile *profile, const struct profile_table *table,
			 const struct profile_report_options *options, FILE *out);
void profile_report_folded(const struct profile_report_options *options, FILE *out);
const char *profile_report_amount(const struct profile_report_options *options, double amount,
				  char *buf, size_t size);

/* The number of stacks shown after a table. */
#define PROFILE_REPORT_STACKS 5

/*
 * Write a table and the heaviest stacks, or each function between its callers and callees; with
 * `peek`, only functions that match this expression. The table must be sorted, and have its stacks
 * unless it is for a tree. Names are made safe to print. ERR_OUTPUT: `out` cannot be written;
 * ERR_FAILED: no memory, or `peek` matches nothing; ERR_USAGE: `peek` is invalid.
 */
int profile_report_text(const struct profile *profile, struct profile_table *table,
			const struct profile_report_options *options, FILE *out, struct err *err)
	__must_check;
int profile_report_tree(const struct profile *profile, const struct profile_table *table,
			const struct profile_report_options *options, const char *peek, FILE *out,
			struct err *err) __must_check;

/* Write all stacks, or the node_count heaviest: what each holds, and its calls, one per line. */
int profile_report_traces(const struct profile *profile, struct profile_table *table,
			  const struct profile_report_options *options, FILE *out, struct err *err)
	__must_check;

/* Exactly what jeprof(1) writes with --text, and with --show_bytes for PROFILE_UNIT_B. */
int profile_report_jeprof(const struct profile *profile, const struct profile_table *table,
			  const struct profile_report_options *options, FILE *out, struct err *err)
	__must_check;

#endif
