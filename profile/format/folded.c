// SPDX-License-Identifier: Apache-2.0
/* "main;work;malloc_it 4096": what flamegraph.pl and its kin read. */
#include "profile/format/private.h"

/* A ';' within a name would make two frames of it (Rust has "[u8; 32]"). */
static const struct format_escape separators[] = { { ';', ":" }, { 0, NULL } };

int format_folded(const struct profile *profile, const struct profile_format_options *options,
		  FILE *out, struct err *err)
{
	_cleanup_(format_stacks_fini) struct format_stacks stacks = { 0 };
	struct format_sum sum = { 0 };

	if (format_stacks_init(&stacks, profile, options, err))
		return -1;
	for (size_t i = 0; i < stacks.paths.n; i++) {
		const struct profile_path *path = &stacks.paths.v[i];
		int64_t n = format_round(&sum, path->value[options->type]);

		if (!n)
			continue;
		for (uint32_t d = 0; d < path->depth; d++) {
			if (d)
				putc(';', out);
			format_escape(separators, stacks.names.name[path->function[d]], out);
		}
		fprintf(out, "%s %lld\n", path->depth ? "" : "?", (long long)n);
	}
	return 0;
}
