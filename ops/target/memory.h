// SPDX-License-Identifier: Apache-2.0
/*
 * What the resident memory of a process consists of, from /proc/PID/maps and /proc/PID/pagemap
 * (proc_pid_pagemap(5)). Not from smaps: for that, the kernel holds the mmap lock while it walks
 * the page tables of a whole mapping, some 15 ms for each GiB, and mmap(2) and munmap(2) of the
 * process wait. For pagemap it releases the lock after each 2 MiB (PAGEMAP_WALK_SIZE).
 */
#ifndef OPS_TARGET_MEMORY_H
#define OPS_TARGET_MEMORY_H

#include "base/err.h"
#include "base/pack.h"
#include "process/maps.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Each resident page is of exactly one kind. */
enum memory_kind {
	MEMORY_JEMALLOC,  /* named by jemalloc itself (PR_SET_VMA_ANON_NAME): "jemalloc_pg" */
	MEMORY_ANONYMOUS, /* other private memory without a file */
	MEMORY_HEAP,	  /* brk(2) memory */
	MEMORY_STACK,	  /* holds a thread's stack pointer, and is not too large for a stack */
	MEMORY_DATA,	  /* of private files: written pages, and .bss */
	MEMORY_FILE,	  /* file pages as on disk: code, and data that was not written */
	MEMORY_SHARED,	  /* shared memory: shm_overview(7), memfd_create(2), MAP_ANONYMOUS */
	MEMORY_KINDS
};

struct memory_part {
	uint64_t rss, size; /* bytes: resident, and of address space */
	uint64_t mappings;
};

/* All mappings of one name; a single mapping if it has no name. */
#define MEMORY_PATH_SIZE 256
struct memory_item {
	enum memory_kind kind; /* of most of it */
	uint64_t start;	       /* of the first */
	struct memory_part sum;
	char path[MEMORY_PATH_SIZE]; /* raw, its end if longer; "" for anonymous memory */
};

/* Runtimes that are known to have memory that does not come from malloc(3). */
enum memory_runtime {
	RUNTIME_NONE,
	RUNTIME_PYTHON,
	RUNTIME_JAVA,
	RUNTIME_V8,
	RUNTIME_GO,
	RUNTIME_DOTNET,
	RUNTIME_RUBY,
	RUNTIME_PHP,
	RUNTIME_ERLANG,
	RUNTIME_INNODB,
	RUNTIME_LUAJIT,
	RUNTIMES
};

#define MEMORY_ITEMS 12
struct memory {
	uint64_t rss, swap; /* bytes, of all mappings */
	uint64_t barred;    /* bytes of address space: inaccessible anonymous memory */
	struct memory_part kinds[MEMORY_KINDS];
	struct memory_item items[MEMORY_ITEMS]; /* the largest by rss, in descending order */
	size_t n_items;
	enum memory_runtime runtime; /* by the names of its files */
};

/*
 * The stack pointers of its threads, except of those that are running; the stack of a thread that
 * still runs after 100 ms counts as anonymous memory. The caller must be allowed to trace the
 * process (ptrace(2)). memory_read() does not require that, but without it .bss counts as anonymous
 * memory, too. memory_stacks_fini() is due even after a failure.
 */
struct memory_stacks {
	uint64_t *v;
	size_t n;
};
int memory_stacks(struct memory_stacks *s, pid_t pid, struct err *err) __must_check;
void memory_stacks_fini(struct memory_stacks *s);

/*
 * ERR_LOST when the process is gone, ERR_PERM when it may not be read, ERR_FAILED if it has more
 * than MEMORY_SPACE_MAX bytes of accessible address space. Reserved huge pages (hugetlbfs) are left
 * out, as in VmRSS.
 */
#define MEMORY_SPACE_MAX (UINT64_C(2) << 40)
int memory_read(struct memory *m, pid_t pid, const struct memory_stacks *stacks, struct err *err)
	__must_check;

/* Usage of a mapping, in bytes. */
struct memory_use {
	uint64_t present, swapped;
	uint64_t shared; /* of present: file pages, or shared memory */
	uint64_t common; /* of present, not of shared: not exclusive to this process */
};

/*
 * The part of memory_read() after reading: `use` has an element for each mapping, and the mappings
 * of .bss have the path of their file.
 */
int memory_sum(struct memory *m, const struct maps *maps, const struct memory_use *use,
	       const struct memory_stacks *stacks, struct err *err) __must_check;

/* Message form; the reader checks what it can, and makes texts printable. */
void memory_pack(const struct memory *m, struct pack *p);
void memory_unpack(struct memory *m, struct unpack *u);

#endif
