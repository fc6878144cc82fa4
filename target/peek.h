// SPDX-License-Identifier: Apache-2.0
/*
 * Private to target/: many small reads of a target's memory, page by page, so
 * that they take few system calls. What changes meanwhile may not be seen.
 */
#ifndef TARGET_PEEK_H
#define TARGET_PEEK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define PEEK_PAGES 32
#define PEEK_PAGE 4096

struct peek {
	pid_t pid;
	struct {
		uint64_t addr; /* 0: nothing is here */
		unsigned char bytes[PEEK_PAGE];
	} pages[PEEK_PAGES];
};

void peek_init(struct peek *p, pid_t pid);

/* Up to `len` bytes at `addr`; the number read, less where no more is mapped. */
size_t peek_some(struct peek *p, uint64_t addr, void *buf, size_t len);

/* All of them, or false. */
bool peek(struct peek *p, uint64_t addr, void *buf, size_t len);

/* A NUL-terminated string shorter than `size`; false for any other. */
bool peek_string(struct peek *p, uint64_t addr, char *buf, size_t size);

#endif
