// SPDX-License-Identifier: Apache-2.0
/* Sets a flag of the target without a call or a stop. ops/activate.h explains why that is safe. */
#ifndef INJECTOR_POKE_H
#define INJECTOR_POKE_H

#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

/*
 * Write the bool at `addr` through `mem`, which is /proc/PID/mem open for reading and writing, and
 * read it back. A confined process does that, for up to `timeout_ms`: it may hang on a page that a
 * file system does not deliver. *before and *after are the values read.
 *
 * ERR_LOST when the program behind `mem` has exited or called execve(2), and nothing was written,
 * or on timeout, when it is unknown whether anything was. ERR_UNSAFE when the byte is neither 0 nor
 * 1; it is left unchanged.
 */
int injector_poke(int mem, uint64_t addr, bool want, unsigned int timeout_ms, bool *before,
		  bool *after, struct err *err) __must_check;

#endif
