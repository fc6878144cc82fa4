// SPDX-License-Identifier: Apache-2.0
/* Bundles of several files: tar archives compressed with gzip, readable by any tar(1). */
#ifndef IO_ARCHIVE_H
#define IO_ARCHIVE_H

#include "base/err.h"

#include <archive.h>
#include <archive_entry.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * libarchive, loaded only to create or read a bundle: its nine dependencies were half of the start
 * time of every command.
 */

/* The functions in use, without "archive_". */
#define LIBARCHIVE_FUNCTIONS(F)            \
	F(error_string)                    \
	F(read_new)                        \
	F(read_support_filter_gzip)        \
	F(read_support_format_tar)         \
	F(read_open_memory)                \
	F(read_next_header)                \
	F(read_data)                       \
	F(read_free)                       \
	F(write_new)                       \
	F(write_add_filter_gzip)           \
	F(write_set_format_pax_restricted) \
	F(write_open_fd)                   \
	F(write_header)                    \
	F(write_data)                      \
	F(write_close)                     \
	F(write_free)                      \
	F(entry_new)                       \
	F(entry_free)                      \
	F(entry_pathname)                  \
	F(entry_filetype)                  \
	F(entry_set_pathname)              \
	F(entry_set_size)                  \
	F(entry_set_filetype)              \
	F(entry_set_perm)                  \
	F(entry_set_mtime)

struct libarchive {
#define LIBARCHIVE_FIELD(name) __typeof__(archive_##name) *name;
	LIBARCHIVE_FUNCTIONS(LIBARCHIVE_FIELD)
#undef LIBARCHIVE_FIELD
};

/* Load it once; it stays loaded. ERR_FAILED: it is not installed. */
int libarchive_load(const struct libarchive **out, struct err *err) __must_check;

struct bundle_out;

/* Begin a bundle in `fd`, still owned by the caller. `folder` is the directory of its files. */
int bundle_out_open(struct bundle_out **out, int fd, const char *folder, struct err *err)
	__must_check;

/* Add a file with mode 0600. */
int bundle_out_add(struct bundle_out *out, const char *name, const void *bytes, size_t len,
		   struct err *err) __must_check;

/* The same with the first `bytes` of a file. */
int bundle_out_add_fd(struct bundle_out *out, const char *name, int fd, uint64_t bytes,
		      struct err *err) __must_check;

/* The bundle is incomplete until this succeeds. */
int bundle_out_finish(struct bundle_out *out, struct err *err) __must_check;

/* For _cleanup_(); closes it, whether finished or not. */
void bundle_out_close(struct bundle_out **out);

/* May these bytes be the start of a bundle? */
bool bundle_is(const char *bytes, size_t len);

/* A file to find in an archive. */
struct bundle_file {
	const char *const *names; /* without directories, best match first, terminated by NULL */
	uint64_t max;		  /* maximum size of the content in memory, in bytes */
	char *content;		  /* freed by the caller; NULL: not found */
	size_t len;
	int rank; /* index of its name in `names` */
};

/*
 * Find files in an archive, in one pass. Nothing is written to disk. ERR_FAILED when it is not an
 * archive, or the first of `files` is missing or longer than `max`; others with problems are
 * omitted.
 */
int bundle_find(const char *bytes, size_t len, struct bundle_file *files, size_t n, struct err *err)
	__must_check;

#endif
