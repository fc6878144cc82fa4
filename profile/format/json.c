// SPDX-License-Identifier: Apache-2.0
/*
 * The whole profile as one JSON document (jeprof-ctl(8), FORMATS), written as a stream: a tree of
 * objects for a million stacks would need gigabytes.
 */
#include "profile/format/private.h"
#include "profile/profile.h"

#include <inttypes.h>
#include <math.h>

static void write_text(const char *key, const char *raw, FILE *out)
{
	fprintf(out, ",\"%s\":", key);
	format_json_text(raw, out);
}

static void write_int(const char *key, int64_t n, FILE *out)
{
	if (n)
		fprintf(out, ",\"%s\":%" PRId64, key, n);
	else
		fprintf(out, ",\"%s\":null", key);
}

static void write_facts(const struct profile *p, FILE *out)
{
	enum profile_type known[PROFILE_TYPES];
	unsigned int n = format_known(p, known);

	fprintf(out, "{\"period\":%" PRIu64, p->period);
	write_int("pid", p->facts.pid, out);
	write_text("comm", p->facts.comm, out);
	write_text("host", p->facts.host, out);
	write_text("version", p->facts.version, out);
	write_int("time_ns", p->facts.time_ns, out);
	write_int("duration_ns", p->facts.duration_ns, out);
	fputs(",\n\"types\":[", out);
	for (unsigned int i = 0; i < n; i++)
		fprintf(out, "%s\"%s\"", i ? "," : "", format_types[known[i]].name);
	fputs("],\n\"totals\":[", out);
	for (unsigned int i = 0; i < n; i++) {
		double total = profile_total(p, known[i]);

		fprintf(out, "%s%.15g", i ? "," : "", isfinite(total) ? total : 0);
	}
	fputs("],\n", out);
}

static void write_numbers(const char *key, const double *v, unsigned int n, FILE *out)
{
	fprintf(out, ",\"%s\":[", key);
	for (unsigned int i = 0; i < n; i++)
		fprintf(out, "%s%.15g", i ? "," : "", isfinite(v[i]) ? v[i] : 0);
	putc(']', out);
}

static void write_stack(const struct profile *p, const struct profile_stack *stack,
			const struct profile_line *lines, size_t n_lines, FILE *out)
{
	enum profile_type known[PROFILE_TYPES];
	unsigned int n = format_known(p, known);
	double values[PROFILE_TYPES], errors[PROFILE_TYPES];

	for (unsigned int i = 0; i < n; i++) {
		values[i] = stack->value[known[i]];
		errors[i] = sqrt(fmax(stack->variance[known[i]], 0));
	}
	fputs("{\"frames\":[", out);
	for (size_t i = 0; i < n_lines; i++)
		fprintf(out, "%s[%u,%u]", i ? "," : "", lines[i].function, lines[i].line);
	putc(']', out);
	write_numbers("values", values, n, out);
	write_numbers("errors", errors, n, out);
	if (stack->thread != PROFILE_NONE)
		fprintf(out, ",\"thread\":%u", stack->thread);
	putc('}', out);
}

int format_json_document(const struct profile *profile,
			 const struct profile_format_options *options, FILE *out, struct err *err)
{
	_cleanup_(profile_names_fini) struct profile_names names = { 0 };
	_cleanup_(cleanup_free) struct profile_line *lines = NULL;

	if (profile_names_init(&names, profile->symbols, err))
		return -1;
	lines = malloc(PROFILE_DEPTH_MAX * sizeof(*lines));
	if (!lines)
		return err_no_memory(err);
	write_facts(profile, out);
	fputs("\"mappings\":[", out);
	for (size_t i = 0; i < profile->n_mappings; i++) {
		const struct profile_mapping *m = &profile->mappings[i];

		fprintf(out, "%s\n{\"start\":\"0x%" PRIx64 "\",\"end\":\"0x%" PRIx64 "\"",
			i ? "," : "", m->start, m->end);
		fprintf(out, ",\"offset\":%" PRIu64, m->offset);
		write_text("path", m->path, out);
		write_text("build_id", m->build_id, out);
		fprintf(out, ",\"deleted\":%s}", m->deleted ? "true" : "false");
	}
	fputs("],\n\"functions\":[", out);
	for (size_t i = 0; i < names.n; i++) {
		const struct profile_function *f = &profile->symbols->functions[i];

		fprintf(out, "%s\n{\"name\":\"", i ? "," : "");
		format_escape(format_json, names.name[i], out);
		putc('"', out);
		write_text("linkage", f->linkage, out);
		write_text("file", f->file, out);
		fprintf(out, ",\"known\":%s}", f->known ? "true" : "false");
	}
	fputs("],\n\"threads\":[", out);
	for (size_t i = 0; i < profile->n_threads; i++) {
		fprintf(out, "%s\n{\"id\":%" PRIu64, i ? "," : "", profile->threads[i].id);
		write_text("name", profile->threads[i].name, out);
		putc('}', out);
	}
	fputs("],\n\"stacks\":[", out);
	for (size_t i = 0; i < profile->n_stacks; i++) {
		const struct profile_stack *stack = &profile->stacks[i];
		size_t n = profile_stack_lines(profile, stack, options->keep_allocator, lines,
					       PROFILE_DEPTH_MAX);

		fputs(i ? ",\n" : "\n", out);
		write_stack(profile, stack, lines, n, out);
	}
	fputs("]}\n", out);
	return 0;
}
