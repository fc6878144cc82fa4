// SPDX-License-Identifier: Apache-2.0
/* Finds names for the addresses of a heap profile in the files that were mapped. */
#ifndef SYMBOLS_SYMBOLIZE_H
#define SYMBOLS_SYMBOLIZE_H

#include "base/err.h"
#include "profile/profile.h"

#include <stdbool.h>
#include <sys/types.h>

struct ops_symbolize_options {
	pid_t pid;	   /* the process of the profile, if alive; 0: the one named in it */
	int pidfd;	   /* its pidfd, for the opener of a confined child; 0, -1: none */
	const char *root;  /* root directory for its paths; NULL: "/" */
	bool debuginfod;   /* use debuginfod for what is found nowhere else */
	bool as_found;	   /* keep names as they are if several functions share one */
	bool by_address;   /* make up names from the address itself, not the function's start */
	bool trust_images; /* use files even without proof that they are the mapped ones */
	bool no_cache;	   /* neither read nor write the cache (symbols/cache.h) */
	err_warn_fn *on_warning; /* NULL: warnings are dropped */
	void *ctx;
};

/*
 * Fill p->symbols. An image is taken from the process while it is alive, even when its file was
 * deleted or is in a container, else from `root` or "/"; debug files are searched in the standard
 * places. A file with another build ID than in the profile is not used, with a warning; if the
 * profile has no build ID, the same holds for a file with another inode, or one changed since the
 * profile was written. Addresses without a name get a made-up one, see profile_symbols_none().
 * ERR_FAILED if out of memory.
 */
int ops_symbolize(struct profile *p, const struct ops_symbolize_options *options, struct err *err)
	__must_check;

/*
 * The same for two profiles to be combined: if one already contains names, the other needs its own
 * before, since a profile with names is not looked up again.
 */
int ops_symbolize_pair(struct profile *a, struct profile *b,
		       const struct ops_symbolize_options *options, struct err *err) __must_check;

#endif
