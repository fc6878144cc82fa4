// SPDX-License-Identifier: Apache-2.0
/*
 * libarchive, loaded when a bundle is made or read: it brings nine libraries along, which were
 * half of the time that every command took to start.
 */
#ifndef IO_LIBARCHIVE_H
#define IO_LIBARCHIVE_H

#include "base/err.h"

#include <archive.h>
#include <archive_entry.h>

/* Of its functions those in use, without "archive_". */
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

/* The same each time; it stays loaded. ERR_FAILED: it is not installed. */
int libarchive_load(const struct libarchive **out, struct err *err) __must_check;

#endif
