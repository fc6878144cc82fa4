// SPDX-License-Identifier: Apache-2.0
/* Everything needed to view a profile on another machine, in one file. */
#ifndef OPS_BUNDLE_H
#define OPS_BUNDLE_H

#include "ops/ops.h"

#define BUNDLE_EXPLAIN "explain.json"

struct ops_bundle_request {
	pid_t pid;		 /* the process to dump; 0: `profile` is a file */
	const char *profile;	 /* an existing heap profile; "-": stdin */
	const char *output;	 /* NULL: jemalloc.PID.UTC-TIMESTAMP.bundle.tar.gz here */
	int stream_fd;		 /* write it here instead of to a file; -1: to a file */
	bool force;		 /* replace a file that exists */
	bool trust_images;	 /* as in struct ops_symbolize_options */
	bool no_cache;		 /* as there */
	err_warn_fn *on_warning; /* the same */
	void *ctx;
	/* Formats the content of BUNDLE_EXPLAIN; the result is freed. */
	char *(*explain_text)(const struct ops_explain *explain);
};

struct ops_bundle {
	struct ops_cost cost; /* pid 0: no process was touched */
	char *file;
	uint64_t bytes;
	struct err warning; /* as set by err_raise(); ERROR_NONE when there is none */
};

/*
 * Write an archive with the unchanged profile (profile.heap), the same with all names (profile.raw,
 * profile.pb.gz), and for a process also its mappings (maps), jemalloc's statistics and
 * configuration (stats.json), and where its memory is (explain.json, from ops_explain()).
 * ERR_OUTPUT before the target is touched; ERR_FAILED when the file is not a profile. On success
 * the caller ends `out` with ops_bundle_fini().
 */
int ops_bundle(const struct ops_bundle_request *request, const struct ops_options *options,
	       struct ops_bundle *out, struct err *err) __must_check;
void ops_bundle_fini(struct ops_bundle *bundle);

#endif
