// SPDX-License-Identifier: Apache-2.0
/* Private to ops/: how many of the profiles that guards have taken stay in a folder. */
#ifndef OPS_GUARD_RETAIN_H
#define OPS_GUARD_RETAIN_H

#include "base/err.h"

#include <stdint.h>

/*
 * Remove the oldest ones from `folder`, so that of each process `keep` stay (0: all), and all
 * together have `max_bytes` (0: any number), but never the one that is called `newest`. Only files
 * with names that dump_path_of_guard() makes are counted and removed; links are none.
 * ERR_OUTPUT when one cannot be removed: the others are.
 */
int guard_retain(const char *folder, unsigned int keep, uint64_t max_bytes, const char *newest,
		 struct err *err) __must_check;

#endif
