// SPDX-License-Identifier: Apache-2.0
/* A flag of the target's, set without a call or a stop. Why that is safe: ops/activate.h. */
#ifndef INJECTOR_POKE_H
#define INJECTOR_POKE_H

#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

/*
 * Write the bool at `addr` through `mem`, /proc/PID/mem open for both, and read it back. A
 * confined process does that, for up to `timeout_ms`: a page that a file system does not deliver
 * may keep it waiting for ever. *before and *after are what was read.
 *
 * ERR_LOST when the program whose memory `mem` is has ended or called execve(2), and nothing was
 * written, or when it took too long: then it is not known whether it was. ERR_UNSAFE when the
 * byte is neither 0 nor 1, and was left alone.
 */
int injector_poke(int mem, uint64_t addr, bool want, unsigned int timeout_ms, bool *before,
		  bool *after, struct err *err) __must_check;

#endif
