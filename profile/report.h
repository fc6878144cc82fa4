// SPDX-License-Identifier: Apache-2.0
/* Reports to be read: tables of functions, and who called whom. */
#ifndef PROFILE_REPORT_H
#define PROFILE_REPORT_H

#include "profile/coverage.h"
#include "profile/profile.h"
#include "profile/table.h"

#include <stdbool.h>
#include <stdio.h>

enum profile_unit {
	PROFILE_UNIT_AUTO, /* each number in the one that suits it */
	PROFILE_UNIT_B,
	PROFILE_UNIT_KB, /* powers of 1024 */
	PROFILE_UNIT_MB,
	PROFILE_UNIT_GB,
};

struct profile_report_options {
	enum profile_type type;
	enum profile_unit unit; /* of bytes */
	bool by_cum;		/* in the order of cum, not of flat */
	size_t node_count;	/* rows; 0: all */
	double edge_fraction;	/* of a tree: no call whose part of the total is less */
	double total;		/* of the profile before anything was filtered out of it */
	const char *column;	/* what the last column holds: "function", "line" */
	const char *how_all;	/* how to see all rows, said where some are left out */
	size_t n_processes;	/* that were dumped for it, and are added up; 0: it is of files */
	bool has_thread;	/* it is of one thread, or of those of one name */
	uint64_t thread;
	const struct profile_coverage *coverage; /* NULL: not known */
	const char *memory;	 /* where the memory of its process was; NULL: not known */
	const char *thread_name; /* raw text; NULL: it is of the thread of that number */
	size_t n_folded;	 /* allocator functions that are not shown (profile/fold.h) */
	const char *how_folded;	 /* how to see them */
	size_t columns;		 /* of the terminal, which names are fitted to; 0: it is none */
	bool color;
};

/* "inuse_space" and its like. Static storage. */
const char *profile_type_name(enum profile_type type);

/* In which time all that it counts was allocated; 0: not known, or it counts what is in use. */
int64_t profile_report_ns(const struct profile *profile);

/* The number of rows, from the first of a sorted table, that the options leave. */
size_t profile_report_rows(const struct profile_table *table,
			   const struct profile_report_options *options);

/* Private to profile/: what all reports begin with, and how they write numbers. */
void profile_report_head(const struct profile *profile, const struct profile_table *table,
			 const struct profile_report_options *options, FILE *out);
void profile_report_folded(const struct profile_report_options *options, FILE *out);
const char *profile_report_amount(const struct profile_report_options *options, double amount,
				  char *buf, size_t size);

/* How many stacks are shown behind a table. */
#define PROFILE_REPORT_STACKS 5

/*
 * Write a table and the heaviest stacks, or each function between its callers and its callees; with
 * `peek`, those alone whose name matches the expression. The table is sorted,
 * and has its stacks where it is no tree. Names are made safe to print.
 * ERR_OUTPUT: `out` cannot be written; ERR_FAILED: no memory; ERR_USAGE: `peek` is wrong;
 * ERR_FAILED: it matches nothing.
 */
int profile_report_text(const struct profile *profile, struct profile_table *table,
			const struct profile_report_options *options, FILE *out, struct err *err)
	__must_check;
int profile_report_tree(const struct profile *profile, const struct profile_table *table,
			const struct profile_report_options *options, const char *peek, FILE *out,
			struct err *err) __must_check;

/* Write all stacks, or the node_count heaviest: what each holds, and its calls, one a line. */
int profile_report_traces(const struct profile *profile, struct profile_table *table,
			  const struct profile_report_options *options, FILE *out, struct err *err)
	__must_check;

/* To the byte what jeprof(1) writes with --text, and --show_bytes for PROFILE_UNIT_B. */
int profile_report_jeprof(const struct profile *profile, const struct profile_table *table,
			  const struct profile_report_options *options, FILE *out, struct err *err)
	__must_check;

#endif
