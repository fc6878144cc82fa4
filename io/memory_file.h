// SPDX-License-Identifier: Apache-2.0
/* Files in memory (memfd_create(2)): output is passed on completely or not at all. */
#ifndef IO_MEMORY_FILE_H
#define IO_MEMORY_FILE_H

#include "base/err.h"

#include <stdint.h>
#include <stdio.h>

/* Create an empty one, which the caller closes. ERR_FAILED. */
int memory_file_make(int *fd, struct err *err) __must_check;

/*
 * From now on it cannot be changed, even through other descriptors (F_ADD_SEALS(2const)).
 * ERR_FAILED: it is mapped for writing, not from memory_file_make(), or already sealed.
 */
int memory_file_seal(int fd, struct err *err) __must_check;

/* Reopen the file for reading, at its start; -1 with errno. */
int memory_file_reopen(int fd);

/* Its size in bytes. ERR_FAILED. */
int memory_file_size(int fd, uint64_t *bytes, struct err *err) __must_check;

/* Its first `bytes` followed by '\0', in memory that the caller frees. ERR_FAILED. */
int memory_file_read(int fd, uint64_t bytes, char **text, struct err *err) __must_check;

/*
 * memory_file_write() creates a file with the output of `write`, positioned at its start, with its
 * size in *bytes; the caller closes it. ERR_FAILED, ERR_OUTPUT if out of memory, or the error of
 * `write`; *fd and *bytes are unchanged then. memory_file_fill() writes to `fd` instead.
 */
typedef int memory_file_fn(FILE *out, const void *ctx, struct err *err);
int memory_file_fill(int fd, memory_file_fn *write, const void *ctx, struct err *err) __must_check;
int memory_file_write(memory_file_fn *write, const void *ctx, int *fd, uint64_t *bytes,
		      struct err *err) __must_check;

#endif
