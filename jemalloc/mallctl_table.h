// SPDX-License-Identifier: Apache-2.0
/* Private to jemalloc/: the table behind mallctl_lookup(). */
#ifndef JEMALLOC_MALLCTL_TABLE_H
#define JEMALLOC_MALLCTL_TABLE_H

#include "jemalloc/mallctl.h"

extern const struct mallctl mallctl_table[];
extern const size_t mallctl_table_size;

/* What "<mutex>" stands for, below stats.mutexes and stats.arenas.<i>.mutexes. */
bool mallctl_is_mutex(const char *name, size_t len);

#endif
