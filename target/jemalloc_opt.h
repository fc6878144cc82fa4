// SPDX-License-Identifier: Apache-2.0
/* Private to target/: the variable behind opt.prof where no symbol names it. */
#ifndef TARGET_JEMALLOC_OPT_H
#define TARGET_JEMALLOC_OPT_H

#include "target/jemalloc.h"

/* Its address in the target, 0 unless everything about it is as expected. Reads memory only. */
uint64_t jemalloc_opt_prof(const struct jemalloc *je, pid_t pid);

/*
 * The address that the first byte-sized variable read in `code`, which stands
 * at `addr`, is at; 0 if there is none. *indirect: the variable's address
 * stands there (a GOT entry). x86-64.
 */
uint64_t jemalloc_opt_decode(const unsigned char *code, size_t len, uint64_t addr, bool *indirect);

#endif
