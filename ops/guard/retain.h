// SPDX-License-Identifier: Apache-2.0
/* Private to ops/: retention of the profiles that guards have taken in a folder. */
#ifndef OPS_GUARD_RETAIN_H
#define OPS_GUARD_RETAIN_H

#include "base/err.h"

#include <stdint.h>

/*
 * Remove the oldest ones from `folder`, so that `keep` of each process remain (0: all), and all
 * together have `max_bytes` (0: no limit), but never the one named `newest`. Only files with names
 * made by dump_path_of_guard() are counted and removed; links are not. ERR_OUTPUT when one cannot
 * be removed: the others are.
 */
int guard_retain(const char *folder, unsigned int keep, uint64_t max_bytes, const char *newest,
		 struct err *err) __must_check;

#endif
