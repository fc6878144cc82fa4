// SPDX-License-Identifier: Apache-2.0
/*
 * Walks the frames of a thread of another process by its unwind tables, with libunwind's remote
 * interface and memory accesses by the caller.
 *
 * When a frame has no unwind information, libunwind guesses (it follows the frame pointer). Guesses
 * are not accepted here: such a frame ends the walk.
 */
#ifndef ELF_UNWIND_H
#define ELF_UNWIND_H

#include "arch/machine.h"
#include "elf/image.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A search table: ascending pairs of offsets from `base`, at `table` in the same memory. */
struct unwind_table_place {
	uint64_t start, end; /* the code it covers */
	uint64_t base, table, n_entries;
};

struct unwind_source {
	uint64_t regs[ARCH_DWARF_REGS]; /* in the order of their DWARF numbers */
	/* Read the word at `addr`; find the table for `ip`. False if there is none. */
	bool (*read)(void *ctx, uint64_t addr, uint64_t *word);
	bool (*table)(void *ctx, uint64_t ip, struct unwind_table_place *place);
	void *ctx;
	bool keep;     /* cache tables: they do not change, and no other process is walked */
	bool guessed;  /* out: the walk ended at a frame without unwind information */
	uint64_t left; /* private to unwind.c: words that may still be read */
};

/*
 * Call `fn` with the address of each frame, innermost first, and stop when it returns non-zero.
 * Returns that; 0 when the outermost frame was reached; -1 when the walk ended early.
 */
typedef int unwind_fn(void *ctx, uint64_t ip);
int unwind_walk(struct unwind_source *source, unwind_fn *fn, void *ctx);

/*
 * The function that contains `ip`, according to unwind information: [*start, *end) is the range of
 * one entry. False if there is none, or finding it takes more than a few thousand words. Only
 * `read` and `table` of `source` are used.
 */
bool unwind_function(struct unwind_source *source, uint64_t ip, uint64_t *start, uint64_t *end);

/* Drop cached tables, which may have changed. */
void unwind_forget(void);

/*
 * The sorted table in the .eh_frame_hdr of an image, in the usual encoding; false if there is none.
 */
bool unwind_table_of(const struct image *img,
		     bool (*read)(void *ctx, uint64_t addr, uint64_t *word), void *ctx,
		     struct unwind_table_place *place);

#endif
