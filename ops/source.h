// SPDX-License-Identifier: Apache-2.0
/*
 * Source text, for profile/list.h. Debug data chose its path, and a hostile profile the debug data:
 * it is opened through sandbox/door.h, as far as that lets source text pass.
 */
#ifndef OPS_SOURCE_H
#define OPS_SOURCE_H

#include "profile/list.h"

struct ops_source {
	const struct profile *profile;
	const char *root; /* a folder that paths count from; NULL: here */
	char *text;	  /* private: the last one that was found */
	char *path;
	struct profile_source found;
	int64_t changed_ns; /* since 1970 */
};

/* A profile_source_fn, whose ctx is a struct ops_source: 0 but for its first members. */
void ops_source_find(void *ctx, const char *path, uint32_t mapping, struct profile_source *out);
void ops_source_fini(struct ops_source *source);

#endif
