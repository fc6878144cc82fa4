// SPDX-License-Identifier: Apache-2.0
/*
 * The last part of a heap profile, MAPPED_LIBRARIES: without it no address in
 * the profile can be given a name. jemalloc copies it from /proc/PID/maps of
 * its own, which it cannot do in a root without /proc, and does wrongly when
 * the /proc there belongs to another pid namespace.
 */
#ifndef OPS_MAPPED_H
#define OPS_MAPPED_H

#include "base/err.h"
#include "target/proc.h"

#include <stdint.h>

/*
 * Make sure that the profile in the first `bytes` of `fd` ends with the
 * mappings of `p`. Where it does not, `fd` is closed and replaced by a memfd
 * of our own. ERR_FAILED when the profile was cut off.
 */
int mapped_complete(int *fd, uint64_t *bytes, const struct proc *p, struct err *err) __must_check;

/*
 * The same for a file of the target's own, appended to only where it has no
 * such part. ERR_OUTPUT: it cannot be appended to, or is not surely the target's.
 * The caller closes `fd`, which appends to it.
 */
int mapped_append(int dir, const char *name, const struct proc *p, int *fd, struct err *err)
	__must_check;

#endif
