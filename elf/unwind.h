// SPDX-License-Identifier: Apache-2.0
/*
 * Walking the frames of a thread of another process by its unwind tables, with
 * libunwind's remote interface over memory that the caller reads.
 *
 * libunwind guesses when a frame has no unwind information (it follows the
 * frame pointer). A guess counts for nothing here: such a frame ends the walk.
 */
#ifndef ELF_UNWIND_H
#define ELF_UNWIND_H

#include "arch/machine.h"
#include "elf/image.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A search table: pairs of offsets from `base`, ascending, at `table` in the same memory. */
struct unwind_table_place {
	uint64_t start, end; /* the code it is for */
	uint64_t base, table, n_entries;
};

struct unwind_source {
	uint64_t regs[ARCH_DWARF_REGS]; /* in the order of their DWARF numbers */
	/* A word at `addr`, and the table for `ip`; false if there is none. */
	bool (*read)(void *ctx, uint64_t addr, uint64_t *word);
	bool (*table)(void *ctx, uint64_t ip, struct unwind_table_place *place);
	void *ctx;
	bool keep;     /* the tables stay as they are: no other process is walked by us */
	bool guessed;  /* out: the walk ended at a frame without unwind information */
	uint64_t left; /* unwind.c's own: words that may still be read */
};

/*
 * Call `fn` with the address each frame is at, innermost first, and stop when
 * it returns non-zero. Returns that; 0 when the outermost frame was reached;
 * -1 when the walk ended before.
 */
typedef int unwind_fn(void *ctx, uint64_t ip);
int unwind_walk(struct unwind_source *source, unwind_fn *fn, void *ctx);

/*
 * The function that `ip` lies in, as far as unwind information tells: [*start, *end) has one entry
 * of it. False if there is none, or not within a few thousand words. Of `source`, `read` and
 * `table` are needed alone.
 */
bool unwind_function(struct unwind_source *source, uint64_t ip, uint64_t *start, uint64_t *end);

/* The tables may have changed since. */
void unwind_forget(void);

/* .eh_frame_hdr of an image, with its sorted table, as the linkers make it; false: it has none. */
bool unwind_table_of(const struct image *img,
		     bool (*read)(void *ctx, uint64_t addr, uint64_t *word), void *ctx,
		     struct unwind_table_place *place);

#endif
