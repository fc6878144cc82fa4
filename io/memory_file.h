// SPDX-License-Identifier: Apache-2.0
/* Files in memory (memfd_create(2)): what others get is complete, or does not begin. */
#ifndef IO_MEMORY_FILE_H
#define IO_MEMORY_FILE_H

#include "base/err.h"

#include <stdint.h>
#include <stdio.h>

/* An empty one, which the caller closes. ERR_FAILED. */
int memory_file_make(int *fd, struct err *err) __must_check;

/*
 * Seal it: no other holder can change it any more (F_ADD_SEALS(2const)). ERR_FAILED: it is mapped
 * for writing, not from memory_file_make(), or sealed already.
 */
int memory_file_seal(int fd, struct err *err) __must_check;

/* The same file once more, from its start, for reading alone; -1 with errno. */
int memory_file_reopen(int fd);

/* How long it is. ERR_FAILED. */
int memory_file_size(int fd, uint64_t *bytes, struct err *err) __must_check;

/* Its first `bytes` with a '\0' behind them, in memory that the caller frees. ERR_FAILED. */
int memory_file_read(int fd, uint64_t bytes, char **text, struct err *err) __must_check;

/*
 * What `write` writes: a new one, which the caller closes, at its start, with
 * its size in *bytes. ERR_FAILED, ERR_OUTPUT when memory runs out, or what
 * `write` returns; *fd and *bytes stay as they are then. memory_file_fill() puts it into `fd`.
 */
typedef int memory_file_fn(FILE *out, const void *ctx, struct err *err);
int memory_file_fill(int fd, memory_file_fn *write, const void *ctx, struct err *err) __must_check;
int memory_file_write(memory_file_fn *write, const void *ctx, int *fd, uint64_t *bytes,
		      struct err *err) __must_check;

#endif
