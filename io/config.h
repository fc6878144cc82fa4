// SPDX-License-Identifier: Apache-2.0
/* Files that control what this program does and for which users: write access must be limited. */
#ifndef IO_CONFIG_H
#define IO_CONFIG_H

#include "base/err.h"

#include <stdio.h>
#include <sys/stat.h>

/* The errors of a kind of file, each with its path. */
struct config_kind {
	enum error unreadable, not_ours;
	enum fix fix; /* of not_ours */
};

/*
 * Check that it is a regular file of root or of this user, and that neither its group nor others
 * may write to it. *st is set unless fstat(2) fails.
 */
int config_check(int fd, const char *path, const struct config_kind *kind, struct stat *st,
		 struct err *err) __must_check;

/* Open it for reading and check it: the caller's descriptor, or -1. */
int config_open(const char *path, const struct config_kind *kind, struct stat *st, struct err *err)
	__must_check;

/* The same as a stream; NULL on failure. */
FILE *config_fopen(const char *path, const struct config_kind *kind, struct err *err) __must_check;

#endif
