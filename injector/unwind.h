// SPDX-License-Identifier: Apache-2.0
/*
 * A search table for an image whose linker made none. Static programs often
 * have .eh_frame without .eh_frame_hdr; then the table is made here, from the
 * target's memory, before anything is stopped.
 */
#ifndef INJECTOR_UNWIND_TABLE_H
#define INJECTOR_UNWIND_TABLE_H

#include <stddef.h>
#include <stdint.h>

/* As in .eh_frame_hdr: relative to the table's base, ascending by `start`. */
struct unwind_entry {
	int32_t start, fde;
};

struct unwind_table {
	struct unwind_entry *v;
	size_t n;
	uint64_t base; /* address of .eh_frame */
};

/*
 * Make the table of the `len` bytes of .eh_frame that lie at `addr`. What
 * cannot be read ends it: functions that are missing count as unknown. The
 * bytes are the target's: nothing in them is trusted.
 */
void unwind_table_make(struct unwind_table *t, const unsigned char *bytes, size_t len,
		       uint64_t addr);
void unwind_table_fini(struct unwind_table *t);

#endif
