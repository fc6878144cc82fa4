// SPDX-License-Identifier: Apache-2.0
/*
 * The last part of a heap profile, MAPPED_LIBRARIES: without it no address in the profile can be
 * symbolized. jemalloc copies it from its own /proc/PID/maps, which it cannot do in a root without
 * /proc, and does wrongly when the /proc there belongs to another pid namespace.
 */
#ifndef OPS_TARGET_MAPPED_H
#define OPS_TARGET_MAPPED_H

#include "base/err.h"
#include "process/proc.h"

#include <stdint.h>

/*
 * Make sure that the profile in the memory file `fd`, which is our own, ends with the mappings of
 * `p`. ERR_FAILED when the profile is truncated; ERR_UNSAFE after the deadline (CLOCK_MONOTONIC; 0:
 * none).
 */
int mapped_complete(int fd, const struct proc *p, uint64_t deadline_ms, struct err *err)
	__must_check;

/*
 * The same for a file of the target's own, of `bytes`: appends only if that part is missing.
 * ERR_OUTPUT: it cannot be appended to.
 */
int mapped_append(int fd, uint64_t bytes, const struct proc *p, uint64_t deadline_ms,
		  struct err *err) __must_check;

/*
 * Read the current mappings of `p`, as text that the caller frees; write the part from such text.
 */
int mapped_read(const struct proc *p, char **text, size_t *len, struct err *err) __must_check;
int mapped_write(int fd, const char *text, size_t len, struct err *err) __must_check;

#endif
