// SPDX-License-Identifier: Apache-2.0
/*
 * Caches pages of a target's memory, so that many small reads take few system calls. Later changes
 * may not be seen.
 */
#ifndef ELF_PEEK_H
#define ELF_PEEK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define PEEK_PAGES 32
#define PEEK_PAGE 4096

#define PEEK_CODE_MAX 4

struct image_data;

struct peek {
	pid_t pid;
	const struct image_data *data; /* if not NULL, read in place of the process's memory; not
				        * owned */
	int fd;			       /* of the file with the code below; not owned */
	struct {
		uint64_t start, end; /* in the target */
		uint64_t offset;     /* in the file */
	} code[PEEK_CODE_MAX];
	size_t n_code;
	struct {
		uint64_t addr; /* 0: unused */
		unsigned char bytes[PEEK_PAGE];
	} pages[PEEK_PAGES];
};

void peek_init(struct peek *p, pid_t pid);

/*
 * Read addresses from `start` to `end` from the file at `offset`, with pread(2). Memory may contain
 * breakpoints: those of uprobes show even in a private mapping of our own (kernel/events/uprobes.c,
 * valid_vma()).
 */
void peek_code(struct peek *p, int fd, uint64_t start, uint64_t end, uint64_t offset);

/* Read up to `len` bytes at `addr`; returns their number, which is less at the end of a mapping. */
size_t peek_some(struct peek *p, uint64_t addr, void *buf, size_t len);

/* Read all `len` bytes; false if that is not possible. */
bool peek(struct peek *p, uint64_t addr, void *buf, size_t len);

/* A NUL-terminated string shorter than `size`; false for any other. */
bool peek_string(struct peek *p, uint64_t addr, char *buf, size_t size);

#endif
