// SPDX-License-Identifier: Apache-2.0
#include "base/text.h"
#include "profile/report.h"
#include "profile/report_private.h"
#include "profile/symbols.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#define MIB 1048576.0

const char *profile_type_name(enum profile_type type)
{
	static const char *const names[] = {
		[PROFILE_INUSE_OBJECTS] = "inuse_objects",
		[PROFILE_INUSE_SPACE] = "inuse_space",
		[PROFILE_ALLOC_OBJECTS] = "alloc_objects",
		[PROFILE_ALLOC_SPACE] = "alloc_space",
	};

	return names[type];
}

size_t profile_report_rows(const struct profile_table *table,
			   const struct profile_report_options *options)
{
	size_t max = options->node_count;

	return max && max < table->n_rows ? max : table->n_rows;
}

static bool is_bytes(enum profile_type type)
{
	return type == PROFILE_INUSE_SPACE || type == PROFILE_ALLOC_SPACE;
}

const char *report_amount(const struct profile_report_options *o, double amount, char *buf,
			  size_t size)
{
	static const char *const names[] = {
		[PROFILE_UNIT_B] = "B",
		[PROFILE_UNIT_KB] = "KB",
		[PROFILE_UNIT_MB] = "MB",
		[PROFILE_UNIT_GB] = "GB",
	};
	double magnitude = fabs(amount);
	char text[16];

	if (!is_bytes(o->type))
		snprintf(buf, size, "%.0f", amount);
	else if (o->unit == PROFILE_UNIT_AUTO)
		snprintf(buf, size, "%s%s", amount < 0 ? "-" : "",
			 text_size(magnitude < 0x1p63 ? (uint64_t)llround(magnitude) : UINT64_MAX,
				   text, sizeof(text)));
	else
		snprintf(buf, size, "%.*f%s", o->unit == PROFILE_UNIT_B ? 0 : 2,
			 amount / exp2(10 * (o->unit - PROFILE_UNIT_B)), names[o->unit]);
	return buf;
}

const char *report_percent(double part, double whole, char *buf, size_t size)
{
	if (whole == 0)
		snprintf(buf, size, "-");
	else
		snprintf(buf, size, "%.1f%%", part == 0 ? 0 : 100 * part / whole);
	return buf;
}

int report_written(FILE *out, struct err *err)
{
	return ferror(out)
		       ? err_sys(err, ERR_OUTPUT, errno ? errno : EIO, "cannot write the report")
		       : 0;
}

void report_head(const struct profile *p, const struct profile_table *g,
		 const struct profile_report_options *o, FILE *out)
{
	char a[3][REPORT_AMOUNT_SIZE], comm[256];

	fprintf(out, "%s", profile_type_name(o->type));
	if (p->facts.comm)
		fprintf(out, " of %s", output_safe(p->facts.comm, comm, sizeof(comm)));
	if (p->facts.pid)
		fprintf(out, " (%lld)", (long long)p->facts.pid);
	if (o->has_thread)
		fprintf(out, ", thread %llu", (unsigned long long)o->thread);
	fprintf(out, ": %s ±%s in %zu stack%s", report_amount(o, g->total, a[0], sizeof(a[0])),
		report_amount(o, sqrt(g->variance), a[1], sizeof(a[1])), p->n_stacks,
		p->n_stacks == 1 ? "" : "s");
	if (o->total != g->total)
		fprintf(out, ", of %s", report_amount(o, o->total, a[2], sizeof(a[2])));
	if (p->period > 1 && !p->rates_differ)
		fprintf(out, "; a sample each %s", text_size(p->period, a[0], sizeof(a[0])));
	fputc('\n', out);
}

static void row(const struct profile *p, const struct profile_table *g,
		const struct profile_report_options *o, const struct profile_row *node, double sum,
		FILE *out)
{
	double variance = o->by_cum ? node->cum_variance : node->flat_variance;
	char a[3][REPORT_AMOUNT_SIZE], percent[3][16], name[REPORT_NAME_SIZE];

	fprintf(out, "%10s %6s %6s %10s %6s %9s  %s\n",
		report_amount(o, node->flat, a[0], sizeof(a[0])),
		report_percent(node->flat, g->total, percent[0], sizeof(percent[0])),
		report_percent(sum, g->total, percent[1], sizeof(percent[1])),
		report_amount(o, node->cum, a[1], sizeof(a[1])),
		report_percent(node->cum, g->total, percent[2], sizeof(percent[2])),
		report_amount(o, sqrt(variance), a[2], sizeof(a[2])),
		output_safe(p->symbols->functions[node->function].name, name, sizeof(name)));
}

int profile_report_text(const struct profile *profile, const struct profile_table *table,
			const struct profile_report_options *options, FILE *out, struct err *err)
{
	size_t rows = profile_report_rows(table, options);
	double sum = 0;

	report_head(profile, table, options, out);
	if (rows < table->n_rows)
		fprintf(out, "the first %zu of %zu rows\n", rows, table->n_rows);
	fprintf(out, "%10s %6s %6s %10s %6s %9s  %s\n", "flat", "flat%", "sum%", "cum", "cum%",
		options->by_cum ? "±cum" : "±flat", options->column);
	for (size_t i = 0; i < rows; i++) {
		sum += table->rows[i].flat;
		row(profile, table, options, &table->rows[i], sum, out);
	}
	return report_written(out, err);
}

/* --- jeprof: Unparse(), Percent(), PrintText() --- */

static const char *unparse(const struct profile_report_options *o, double n, char *buf, size_t size)
{
	if (is_bytes(o->type) && o->unit != PROFILE_UNIT_B)
		snprintf(buf, size, "%.1f", n / MIB);
	else
		snprintf(buf, size, "%.0f", trunc(n) + 0.0);
	return buf;
}

static const char *percent_of(double n, double total, char *buf, size_t size)
{
	if (total != 0)
		snprintf(buf, size, "%.1f%%", n * 100.0 / total);
	else
		snprintf(buf, size, "%s", n == 0 ? "nan" : n > 0 ? "+inf" : "-inf");
	return buf;
}

static void jeprof_row(const struct profile *p, const struct profile_table *g,
		       const struct profile_report_options *o, const struct profile_row *node,
		       double sum, FILE *out)
{
	char a[2][REPORT_AMOUNT_SIZE], percent[3][32], name[REPORT_NAME_SIZE];

	fprintf(out, "%8s %6s %6s %8s %6s %s\n", unparse(o, node->flat, a[0], sizeof(a[0])),
		percent_of(node->flat, g->total, percent[0], sizeof(percent[0])),
		percent_of(sum, g->total, percent[1], sizeof(percent[1])),
		unparse(o, node->cum, a[1], sizeof(a[1])),
		percent_of(node->cum, g->total, percent[2], sizeof(percent[2])),
		output_safe(p->symbols->functions[node->function].name, name, sizeof(name)));
}

int profile_report_jeprof(const struct profile *profile, const struct profile_table *table,
			  const struct profile_report_options *options, FILE *out, struct err *err)
{
	const char *units = !is_bytes(options->type)	      ? "objects"
			    : options->unit == PROFILE_UNIT_B ? "B"
							      : "MB";
	char total[REPORT_AMOUNT_SIZE];
	double sum = 0;
	size_t rows = profile_report_rows(table, options);

	if (options->total != 0) {
		fputs("Total", out);
		if (options->has_thread)
			fprintf(out, " (t%llu)", (unsigned long long)options->thread);
		fprintf(out, ": %s %s\n", unparse(options, options->total, total, sizeof(total)),
			units);
	}
	for (size_t i = 0; i < rows; i++) {
		const struct profile_row *node = &table->rows[i];

		sum += node->flat;
		if (node->flat != 0 || node->cum != 0)
			jeprof_row(profile, table, options, node, sum, out);
	}
	return report_written(out, err);
}
