// SPDX-License-Identifier: Apache-2.0
/* Private to ops/sites/: the division of the allocated bytes into small and large objects. */
#ifndef OPS_SITES_ESTIMATE_H
#define OPS_SITES_ESTIMATE_H

#include "bpf/sample.h"

#include <stdint.h>

/* From what the kernel counted over all events. doc/sites.md has the argument. */
void sites_totals(const struct sites_counts *counts, uint64_t totals[SITES_SIZES]);

#endif
