// SPDX-License-Identifier: Apache-2.0
/* Several files in one: a tar archive, packed with gzip, as any tar(1) reads it. */
#ifndef IO_BUNDLE_FILE_H
#define IO_BUNDLE_FILE_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct bundle_out;

/* Begin one in `fd`, which stays the caller's. `folder` is where its files unpack to. */
int bundle_out_open(struct bundle_out **out, int fd, const char *folder, struct err *err)
	__must_check;

/* Add a file with mode 0600. */
int bundle_out_add(struct bundle_out *out, const char *name, const void *bytes, size_t len,
		   struct err *err) __must_check;

/* The same with the first `bytes` of a file. */
int bundle_out_add_fd(struct bundle_out *out, const char *name, int fd, uint64_t bytes,
		      struct err *err) __must_check;

/* Nothing is complete before this succeeds. */
int bundle_out_finish(struct bundle_out *out, struct err *err) __must_check;

/* For _cleanup_(); ends it, finished or not. */
void bundle_out_close(struct bundle_out **out);

/* May these bytes be the start of one? */
bool bundle_is(const char *bytes, size_t len);

/*
 * The first file of the names `wanted` (NULL at the end, the best one first,
 * without folders) in an archive: *content, which the caller frees, and its
 * length. Nothing is unpacked to disk, and no more than `max` bytes to memory.
 * ERR_FAILED when it is no archive, has no such file, or that is longer.
 */
int bundle_find(const char *bytes, size_t len, const char *const *wanted, uint64_t max,
		char **content, size_t *content_len, struct err *err) __must_check;

#endif
