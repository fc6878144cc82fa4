// SPDX-License-Identifier: Apache-2.0
/* All that is needed to look at a profile on another machine, in one file. */
#ifndef OPS_BUNDLE_H
#define OPS_BUNDLE_H

#include "ops/ops.h"

#define BUNDLE_EXPLAIN "explain.json"

struct ops_bundle_request {
	pid_t pid;		 /* the process to dump; 0: `profile` is a file */
	const char *profile;	 /* a heap profile that is there already; "-": stdin */
	const char *output;	 /* NULL: jemalloc.PID.UTC-TIMESTAMP.bundle.tar.gz here */
	int stream_fd;		 /* where it goes instead of a file; -1: to a file */
	bool force;		 /* replace a file that exists */
	bool trust_images;	 /* as in struct ops_symbolize_options */
	bool no_cache;		 /* the same */
	err_warn_fn *on_warning; /* the same */
	void *ctx;
	/* As a document, which is freed: what goes into it as BUNDLE_EXPLAIN. */
	char *(*explain_text)(const struct ops_explain *explain);
};

struct ops_bundle {
	struct ops_cost cost; /* pid 0: no process was touched */
	char *file;
	uint64_t bytes;
	struct err warning; /* as set by err_raise(); ERROR_NONE when there is none */
};

/*
 * Write an archive with the profile as it is (profile.heap), the same with all
 * names (profile.raw, profile.pb.gz), and of a process also its mappings (maps),
 * jemalloc's statistics and configuration (stats.json), and where its memory is
 * (explain.json, as of ops_explain()). ERR_OUTPUT before the
 * target is touched; ERR_FAILED when the file is no profile. On success the
 * caller ends `out` with ops_bundle_fini().
 */
int ops_bundle(const struct ops_bundle_request *request, const struct ops_options *options,
	       struct ops_bundle *out, struct err *err) __must_check;
void ops_bundle_fini(struct ops_bundle *bundle);

#endif
