// SPDX-License-Identifier: Apache-2.0
#ifndef BASE_WRITE_H
#define BASE_WRITE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* Write everything, with as many calls of write(2) as needed. False with errno set. */
bool write_all(int fd, const void *bytes, size_t len) __attribute__((warn_unused_result));

/* pread(2); an error due to a limit of ours is remembered, see err_remember(). */
ssize_t read_at(int fd, void *bytes, size_t len, off_t at);

#endif
