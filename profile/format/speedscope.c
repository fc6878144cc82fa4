// SPDX-License-Identifier: Apache-2.0
/* For speedscope, by its file format schema: one list of functions, and a profile for each type. */
#include "profile/format/private.h"

/* The weight of `path`. speedscope takes no negative weights: what shrank is left out. */
static int64_t weigh(struct format_sum *sum, const struct profile_path *path,
		     enum profile_type type)
{
	return path->value[type] > 0 ? format_round(sum, path->value[type]) : 0;
}

static void write_samples(const struct profile_paths *paths, enum profile_type type, FILE *out)
{
	struct format_sum sum = { 0 };
	const char *comma = "";

	for (size_t i = 0; i < paths->n; i++) {
		if (!weigh(&sum, &paths->v[i], type))
			continue;
		fprintf(out, "%s\n[", comma);
		for (uint32_t d = 0; d < paths->v[i].depth; d++)
			fprintf(out, d ? ",%u" : "%u", paths->v[i].function[d]);
		putc(']', out);
		comma = ",";
	}
}

static void write_weights(const struct profile_paths *paths, enum profile_type type, FILE *out)
{
	struct format_sum sum = { 0 };
	const char *comma = "";

	for (size_t i = 0; i < paths->n; i++) {
		int64_t n = weigh(&sum, &paths->v[i], type);

		if (!n)
			continue;
		fprintf(out, "%s%lld", comma, (long long)n);
		comma = ",";
	}
}

int format_speedscope(const struct profile *profile, const struct profile_format_options *options,
		      FILE *out, struct err *err)
{
	_cleanup_(format_stacks_fini) struct format_stacks stacks = { 0 };
	enum profile_type known[PROFILE_TYPES];
	unsigned int n = format_known(profile, known), active = 0;

	if (format_stacks_init(&stacks, profile, options, err))
		return -1;
	fputs("{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\",\n"
	      "\"exporter\":\"jeprof-ctl\",\"name\":\"",
	      out);
	format_raw(format_json, format_title(profile, options), out);
	for (unsigned int i = 0; i < n; i++)
		active = known[i] == options->type ? i : active;
	fprintf(out, "\",\"activeProfileIndex\":%u,\n", active);
	fputs("\"shared\":{\"frames\":[", out);
	for (size_t i = 0; i < stacks.names.n; i++) {
		const char *file = profile->symbols->functions[i].file;

		fprintf(out, "%s\n{\"name\":\"", i ? "," : "");
		format_escape(format_json, stacks.names.name[i], out);
		if (file) {
			fputs("\",\"file\":\"", out);
			format_raw(format_json, file, out);
		}
		fputs("\"}", out);
	}
	fputs("]},\n\"profiles\":[", out);
	for (unsigned int i = 0; i < n; i++) {
		enum profile_type type = known[i];
		struct format_sum end = { 0 };

		for (size_t k = 0; k < stacks.paths.n; k++)
			weigh(&end, &stacks.paths.v[k], type);
		fprintf(out,
			"%s\n{\"type\":\"sampled\",\"name\":\"%s\",\"unit\":\"%s\","
			"\"startValue\":0,\"endValue\":%lld,\"samples\":[",
			i ? "," : "", format_types[type].name,
			format_is_bytes(type) ? "bytes" : "none", (long long)end.written);
		write_samples(&stacks.paths, type, out);
		fputs("],\n\"weights\":[", out);
		write_weights(&stacks.paths, type, out);
		fputs("]}", out);
	}
	fputs("]}\n", out);
	return 0;
}
