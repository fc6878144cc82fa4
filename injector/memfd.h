// SPDX-License-Identifier: Apache-2.0
/*
 * The target's memory file (memfd_create(2)), which a call writes to and we read.
 *
 * A descriptor's number means what the target lets it mean: dup2(2) puts any file there, one that
 * only we may read, a device, a FIFO. So the file is looked at with O_PATH, which opens nothing,
 * right after it was made; this handle is kept, and only what passed is opened, through the
 * handle. What the number means afterwards does not matter.
 */
#ifndef INJECTOR_MEMFD_H
#define INJECTOR_MEMFD_H

#include "base/err.h"

#include <sys/types.h>

/* Of one that stays mapped: it never changes again (fcntl(2)). */
#define MEMFD_SEALS (F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE)

/*
 * The device that the memory files of this kernel are on, taken from one that is made and closed.
 * To be called before the tracer is confined. ERR_FAILED.
 */
int memfd_device(dev_t *dev, struct err *err) __must_check;

/*
 * Is the file behind `path`, a link of /proc/PID/task/TID/fd, an empty memory file that has just
 * been made? *handle gets it with O_PATH. ERR_FAILED if it is anything else; nothing was opened.
 */
int memfd_hold(const char *path, dev_t dev, int *handle, struct err *err) __must_check;

/* Open that very file for reading. ERR_FAILED; *fd is the caller's. */
int memfd_open(int handle, int *fd, struct err *err) __must_check;

#endif
