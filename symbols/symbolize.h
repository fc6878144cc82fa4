// SPDX-License-Identifier: Apache-2.0
/* Names for the addresses of a heap profile, from the files that were mapped. */
#ifndef SYMBOLS_SYMBOLIZE_H
#define SYMBOLS_SYMBOLIZE_H

#include "base/err.h"
#include "profile/profile.h"

#include <stdbool.h>
#include <sys/types.h>

struct ops_symbolize_options {
	pid_t pid;	   /* the process it is of, if that lives; 0: the one it names itself */
	int pidfd;	   /* of that, for the opener of a confined child; 0, -1: none */
	const char *root;  /* a folder that its paths count from; NULL: here */
	bool debuginfod;   /* what is found nowhere else may come from debuginfod */
	bool as_found;	   /* leave names as they are where several functions have one */
	bool by_address;   /* what has no name gets one by its own address, not its function's */
	bool trust_images; /* use files that nothing tells to be those that were mapped */
	bool no_cache;	   /* neither read nor write the cache (symbols/cache.h) */
	err_warn_fn *on_warning; /* NULL: warnings are dropped */
	void *ctx;
};

/*
 * Fill p->symbols. An image is taken from the process while that lives, even
 * when its file was deleted or lies in a container, else from `root` or from
 * here; debug files are looked for where they belong. A file whose build id is
 * not the profile's is warned of, and not used; without a build id there, so is one of
 * another inode, or that was changed since the profile was written. What is found nowhere gets a
 * made-up name, see profile_symbols_none(). ERR_FAILED without memory.
 */
int ops_symbolize(struct profile *p, const struct ops_symbolize_options *options, struct err *err)
	__must_check;

/*
 * The same for two that are to be put together: where one brings names along,
 * the other needs its own before, since what has names is not looked up again.
 */
int ops_symbolize_pair(struct profile *a, struct profile *b,
		       const struct ops_symbolize_options *options, struct err *err) __must_check;

#endif
