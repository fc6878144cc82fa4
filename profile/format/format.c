// SPDX-License-Identifier: Apache-2.0
#include "profile/format/format.h"

#include "profile/format/private.h"

#include <errno.h>
#include <string.h>

static const struct profile_format_info formats[PROFILE_FORMATS] = {
	[PROFILE_FORMAT_PPROF] = { "pprof", ".pb.gz",
				   "for go tool pprof and the like, with all names", true,
				   format_pprof },
	[PROFILE_FORMAT_FOLDED] = { "folded", ".folded", "a line for each stack, for flamegraph.pl",
				    false, format_folded },
	[PROFILE_FORMAT_HTML] = { "html", ".html", "a self-contained page, with a flame graph",
				  false, format_html },
	[PROFILE_FORMAT_SVG] = { "svg", ".svg", "a flame graph, for a browser", false, format_svg },
	[PROFILE_FORMAT_SPEEDSCOPE] = { "speedscope", ".speedscope.json", "for speedscope", false,
					format_speedscope },
	[PROFILE_FORMAT_CALLGRIND] = { "callgrind", ".callgrind",
				       "for KCachegrind and callgrind_annotate", false,
				       format_callgrind },
	[PROFILE_FORMAT_DOT] = { "dot", ".dot", "a call graph, for Graphviz", false, format_dot },
	[PROFILE_FORMAT_JSON] = { "json", ".json", "all stacks, with their errors, for programs",
				  false, format_json_document },
	[PROFILE_FORMAT_RAW] = { "raw", ".raw", "with its names, for jeprof and report anywhere",
				 false, format_raw_profile },
};

const struct profile_format_info *profile_format_info(enum profile_format format)
{
	return &formats[format];
}

enum profile_format profile_format_by_name(const char *name)
{
	for (size_t i = 0; i < PROFILE_FORMATS; i++)
		if (!strcmp(formats[i].name, name))
			return (enum profile_format)i;
	return PROFILE_FORMAT_NONE;
}

int profile_format_unknown(const char *name, const char *also, struct err *err)
{
	char known[300];
	size_t used = (size_t)snprintf(known, sizeof(known), "%s", also);

	for (size_t i = 0; i < PROFILE_FORMATS && used < sizeof(known); i++)
		used += (size_t)snprintf(known + used, sizeof(known) - used, "%s%s", i ? ", " : "",
					 formats[i].name);
	err_raise(err, ERROR_FORMAT_UNKNOWN, .name = name);
	return err_advise(err, FIX_AVAILABLE_FORMATS, .text = known);
}

enum profile_format profile_format_by_path(const char *path)
{
	enum profile_format found = PROFILE_FORMAT_NONE;
	size_t len = strlen(path), longest = 0;

	for (size_t i = 0; i < PROFILE_FORMATS; i++) {
		size_t n = strlen(formats[i].suffix);

		if (len > n && n > longest && !strcmp(path + len - n, formats[i].suffix)) {
			found = (enum profile_format)i;
			longest = n;
		}
	}
	return found;
}

int profile_write(const struct profile *profile, enum profile_format format,
		  const struct profile_format_options *options, FILE *out, struct err *err)
{
	struct profile_format_options known = *options;

	if (!profile_knows(profile, known.type))
		known.type = profile_default_type(profile);
	errno = 0;
	if (formats[format].write(profile, &known, out, err))
		return -1;
	if (ferror(out))
		return err_raise_sys(err, ERROR_REPORT_UNWRITTEN, errno ? errno : EIO);
	return 0;
}
