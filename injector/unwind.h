// SPDX-License-Identifier: Apache-2.0
/*
 * A search table for an image without one. Static programs often have .eh_frame but no
 * .eh_frame_hdr; then the table is built here, from the target's memory, before any thread is
 * stopped.
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
 * Build the table from the `len` bytes of .eh_frame at address `addr`. It ends at the first entry
 * that cannot be parsed: missing functions count as unknown. The bytes are untrusted.
 */
void unwind_table_make(struct unwind_table *t, const unsigned char *bytes, size_t len,
		       uint64_t addr);
void unwind_table_fini(struct unwind_table *t);

#endif
