// SPDX-License-Identifier: Apache-2.0
/*
 * Source text, for profile/list.h. Its path comes from debug data, which a hostile profile may have
 * chosen: it is opened through sandbox/door.h, as far as that allows source text.
 */
#ifndef OPS_SOURCE_H
#define OPS_SOURCE_H

#include "profile/list.h"

struct ops_source {
	const struct profile *profile;
	const char *root; /* a folder that paths are relative to; NULL: here */
	char *text;	  /* private: the last one found */
	char *path;
	struct profile_source found;
	int64_t changed_ns; /* since 1970 */
};

/* A profile_source_fn with a struct ops_source as ctx, zeroed except for its first members. */
void ops_source_find(void *ctx, const char *path, uint32_t mapping, struct profile_source *out);
void ops_source_fini(struct ops_source *source);

#endif
