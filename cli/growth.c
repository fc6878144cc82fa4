// SPDX-License-Identifier: Apache-2.0

#include "cli/growth.h"

#include "base/cleanup.h"
#include "base/text.h"
#include "cli/out.h"
#include "cli/report.h"
#include "ops/report.h"
#include "profile/format/format.h"
#include "profile/profile.h"
#include "profile/significance.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FUNCTIONS_SHOWN 25
#define STACKS_SHOWN 8
#define CALLS_SHOWN 6
#define CALLS_LOOKED_AT 256
#define NAME_SIZE 160
_Static_assert(GROWTH_CALL_SIZE >= 2 * NAME_SIZE + 16, "a call");

const char *growth_bytes(double bytes, char *buf, size_t size)
{
	char text[16];
	double most = fmin(fabs(bytes), 1e18);

	snprintf(buf, size, "%c%s", bytes < 0 ? '-' : '+',
		 text_size((uint64_t)llround(most), text, sizeof(text)));
	return buf;
}

/* As output_safe(), but a truncated name ends in dots: a C++ name may be a page long. */
static const char *name_text(const char *raw, char *buf, size_t size)
{
	static const char dots[] = "...";
	size_t at = size - sizeof(dots);

	if (strlen(output_safe(raw, buf, size)) >= strlen(raw))
		return buf;
	while (at && (buf[at] & 0xc0) == 0x80) /* within a character */
		at--;
	memcpy(buf + at, dots, sizeof(dots));
	return buf;
}

const char *growth_call(const struct profile_symbols *s, const struct profile_line *line, char *buf,
			size_t size)
{
	const struct profile_function *f = &s->functions[line->function];
	char name[NAME_SIZE], file[NAME_SIZE];

	name_text(f->name, name, sizeof(name));
	if (!f->file)
		snprintf(buf, size, "%s", name);
	else if (!line->line)
		snprintf(buf, size, "%s (%s)", name,
			 output_safe(text_file_name(f->file), file, sizeof(file)));
	else
		snprintf(buf, size, "%s (%s:%u)", name,
			 output_safe(text_file_name(f->file), file, sizeof(file)), line->line);
	return buf;
}

/* Rust names are "_R...", or, in the legacy form, "_ZN...17h" with 16 hash digits and an "E". */
static bool is_rust(const char *linkage)
{
	size_t len = strlen(linkage);

	return !strncmp(linkage, "_R", 2) ||
	       (len > 20 && !strncmp(linkage, "_ZN", 3) && !strncmp(linkage + len - 20, "17h", 3));
}

static bool begins_with_any(const char *name, const char *const *with)
{
	for (; *with; with++) {
		if (!strncmp(name, *with, strlen(*with)))
			return true;
	}
	return false;
}

/* Part of the C++ or Rust standard library, which may add ten calls inside the program's own. */
static bool is_of_language(const struct profile_function *f)
{
	static const char *const both[] = { "std::", "__gnu_cxx::", NULL };
	static const char *const rust[] = { "core::", "alloc::", NULL };
	static const char *const folders[] = { "/include/c++/", "/libstdc++-v3/", "/c++/v1/" };

	if (begins_with_any(f->name, both) ||
	    (begins_with_any(f->name, rust) && is_rust(f->linkage)))
		return true;
	for (size_t i = 0; f->file && i < sizeof(folders) / sizeof(*folders); i++) {
		if (strstr(f->file, folders[i]))
			return true;
	}
	return f->file && strstr(f->file, "/rustc") && strstr(f->file, "/library/");
}

/* The innermost call, and the program's own calls around it. */
const char *growth_calls(const struct profile *p, size_t stack, char *buf, size_t size)
{
	struct profile_line lines[CALLS_LOOKED_AT];
	size_t n = profile_stack_lines(p, &p->stacks[stack], false, lines, CALLS_LOOKED_AT);
	size_t used = 0, shown = 0, i;
	bool left_out = false;

	snprintf(buf, size, "%s", n ? "" : "(the allocator itself)");
	for (i = 0; i < n && shown < CALLS_SHOWN && used < size; i++) {
		char call[GROWTH_CALL_SIZE];

		if (i && is_of_language(&p->symbols->functions[lines[i].function])) {
			left_out = true;
			continue;
		}
		growth_call(p->symbols, &lines[i], call, sizeof(call));
		used += (size_t)snprintf(buf + used, size - used, "%s%s%s", shown ? " < " : "",
					 left_out ? "... < " : "", call);
		left_out = false;
		shown++;
	}
	if ((left_out || i < n) && used < size)
		snprintf(buf + used, size - used, " < ...");
	return buf;
}

/* --- the difference --- */

static int print_functions(const struct ops_diff *d, struct err *err)
{
	static const char *const titles[] = { " ",	 "GROWTH", " ERROR",
					      " BEFORE", " AFTER", "FUNCTION" };
	_cleanup_(cleanup_free) struct table_row *rows = NULL;
	size_t n = d->functions.n < FUNCTIONS_SHOWN ? d->functions.n : FUNCTIONS_SHOWN;

	rows = calloc(n + 1, sizeof(*rows));
	if (!rows)
		return err_no_memory(err);
	for (size_t i = 0; i < n; i++) {
		const struct profile_change *c = &d->functions.v[i];
		char(*cell)[TABLE_CELL_SIZE] = rows[i].cell;

		snprintf(cell[0], TABLE_CELL_SIZE, "%s", c->significant ? "*" : " ");
		growth_bytes(c->after - c->before, cell[1], TABLE_CELL_SIZE);
		growth_bytes(profile_change_error(c), cell[2], TABLE_CELL_SIZE);
		cell[2][0] = ' '; /* an error has no sign */
		growth_bytes(c->before, cell[3], TABLE_CELL_SIZE);
		growth_bytes(c->after, cell[4], TABLE_CELL_SIZE);
		cell[3][0] = cell[4][0] = ' ';
		name_text(d->series.all.symbols->functions[c->at].name, cell[5], TABLE_CELL_SIZE);
	}
	return table_print(titles, 6, rows, n, err);
}

static int print_stacks(const struct ops_diff *d, struct err *err)
{
	size_t n = d->stacks.n < STACKS_SHOWN ? d->stacks.n : STACKS_SHOWN;

	for (size_t i = 0; i < n; i++) {
		const struct profile_change *c = &d->stacks.v[i];
		char calls[GROWTH_CALLS_SIZE], growth[24], error[24];

		if (out_line(err, "%s %s (error %s) %s", c->significant ? "*" : " ",
			     growth_bytes(c->after - c->before, growth, sizeof(growth)),
			     growth_bytes(profile_change_error(c), error, sizeof(error)) + 1,
			     growth_calls(&d->series.all, c->at, calls, sizeof(calls))))
			return -1;
	}
	return 0;
}

const char *growth_counted(const struct ops_diff *d, char *buf, size_t size)
{
	double before = d->coverage_before.allocated, after = d->coverage.allocated;
	char counted[16];

	for (size_t i = 0; i < d->functions.n; i++) {
		const struct profile_change *c = &d->functions.v[i];

		if (c->significant && c->after > c->before)
			return NULL;
	}
	if (!(before > 0) || !(after > before) || d->after <= d->before)
		return NULL;
	snprintf(buf, size,
		 "jemalloc counts %s more allocated than at the beginning: memory did grow, but "
		 "sampling cannot show where",
		 text_size((uint64_t)(after - before), counted, sizeof(counted)));
	return buf;
}

/* " in 10.0 s", for allocated memory: more in a longer time is not growth. */
static const char *time_text(const struct ops_diff *d, int64_t ns, char *buf, size_t size)
{
	*buf = '\0';
	if (d->series.type == PROFILE_ALLOC_SPACE && d->before_ns != d->after_ns)
		snprintf(buf, size, ns ? " in %.1f s" : " in an unknown time", (double)ns / 1e9);
	return buf;
}

int growth_folded(const struct args *args, size_t n, struct err *err)
{
	char text[PROFILE_FOLD_TEXT_SIZE];

	return n && !args->quiet
		       ? out_line(err, "%s",
				  profile_fold_text(n, REPORT_HOW_FOLDED, text, sizeof(text)))
		       : 0;
}

int growth_print(const struct args *args, const struct ops_diff *d, struct err *err)
{
	char growth[24], before[24], after[24], times[2][32], where[80] = "and no stack changed";
	char coverage[PROFILE_COVERAGE_SIZE];

	if (d->stacks.n)
		snprintf(where, sizeof(where), "in %zu function%s and %zu stack%s", d->functions.n,
			 d->functions.n == 1 ? "" : "s", d->stacks.n, d->stacks.n == 1 ? "" : "s");
	if (out_line(err, "%s: %s, from %s%s to %s%s, %s",
		     d->series.type == PROFILE_ALLOC_SPACE ? "allocated" : "in use",
		     growth_bytes(d->after - d->before, growth, sizeof(growth)),
		     growth_bytes(d->before, before, sizeof(before)) + 1,
		     time_text(d, d->before_ns, times[0], sizeof(times[0])),
		     growth_bytes(d->after, after, sizeof(after)) + 1,
		     time_text(d, d->after_ns, times[1], sizeof(times[1])), where) ||
	    (profile_coverage_text(&d->coverage, coverage) && out_line(err, "AFTER %s", coverage)))
		return -1;
	if (!d->stacks.n)
		return 0;
	if (print_functions(d, err) || out_line(err, "%s", "") || print_stacks(d, err))
		return -1;
	if (args->quiet)
		return 0;
	if (growth_folded(args, d->n_folded, err))
		return -1;
	return out_line(err,
			"* significant at %.0f%% (Holm-corrected), itself or one of its stacks; "
			"ERROR is the standard error",
			100 * (1 - SIGNIFICANCE_LEVEL));
}

/* --- formats --- */

int growth_formats(const char *names, unsigned int *formats, struct err *err)
{
	unsigned int found = 0;
	char name[64];
	size_t len;

	for (names = names ? names : ""; *names; names += len + !!names[len]) {
		enum profile_format format;

		len = strcspn(names, ",");
		snprintf(name, sizeof(name), "%.*s", (int)len, names);
		format = profile_format_by_name(name);
		if (format == PROFILE_FORMAT_NONE && len)
			return profile_format_unknown(name, "", err);
		/* raw holds counts, which are never negative. */
		if (format == PROFILE_FORMAT_RAW) {
			err_raise(err, ERROR_RAW_HOLDS_A_PROFILE);
			return err_advise(err, FIX_CONVERT_A_PROFILE);
		}
		found |= len ? 1u << format : 0;
	}
	*formats = found;
	return 0;
}

int growth_paths(unsigned int formats, const char *stem, struct growth_paths *paths,
		 struct err *err)
{
	for (int i = 0; i < PROFILE_FORMATS; i++) {
		if (!(formats & 1u << i))
			continue;
		if (asprintf(&paths->v[paths->n], "%s%s", stem,
			     profile_format_info((enum profile_format)i)->suffix) < 0) {
			paths->v[paths->n] = NULL;
			return err_no_memory(err);
		}
		paths->n++;
	}
	return 0;
}

void growth_paths_fini(struct growth_paths *paths)
{
	while (paths->n)
		free(paths->v[--paths->n]);
}

int growth_check_files(const struct args *args, unsigned int formats, const char *stem,
		       struct err *err)
{
	_cleanup_(growth_paths_fini) struct growth_paths paths = { 0 };

	if (growth_paths(formats, stem, &paths, err))
		return -1;
	for (size_t i = 0; i < paths.n; i++)
		if (ops_check_file(paths.v[i], args->force, err))
			return -1;
	return 0;
}

int growth_write(const struct args *args, unsigned int formats, const struct ops_diff *d,
		 const struct growth_paths *paths, struct err *err)
{
	char safe[4096];
	size_t n = 0;

	for (int i = 0; i < PROFILE_FORMATS; i++) {
		const char *path;

		if (!(formats & 1u << i))
			continue;
		path = paths->v[n++];
		if (ops_diff_write(d, (enum profile_format)i, path, args->force, -1, err))
			return -1;
		if (!args->json && out_line(err, "%s%s", output_safe(path, safe, sizeof(safe)),
					    args->quiet ? "" : " (the difference)"))
			return -1;
	}
	return 0;
}
