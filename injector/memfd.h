// SPDX-License-Identifier: Apache-2.0
/*
 * A memory file of the target (memfd_create(2)), which a call writes to and we read.
 *
 * The target controls what a descriptor number refers to: dup2(2) can put any file there, such as
 * one that only we may read, a device or a FIFO. So right after its creation the file is checked
 * through an O_PATH handle, which does not open it. The handle is kept, and a file that passed is
 * opened through it. What the number refers to later does not matter.
 */
#ifndef INJECTOR_MEMFD_H
#define INJECTOR_MEMFD_H

#include "base/err.h"

#include <sys/types.h>

/* Of a file that stays mapped: it can no longer change (fcntl(2)). */
#define MEMFD_SEALS (F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE)

/*
 * The device number of memory files on this kernel, taken from a temporary one. Call it before the
 * tracer is confined. ERR_FAILED.
 */
int memfd_device(dev_t *dev, struct err *err) __must_check;

/*
 * Is the file behind `path`, a link in /proc/PID/task/TID/fd, an empty memory file as just created?
 * *handle is an O_PATH descriptor of it. ERR_FAILED if it is anything else; it was not opened.
 */
int memfd_hold(const char *path, dev_t dev, int *handle, struct err *err) __must_check;

/* Open that same file for reading. The caller owns *fd. ERR_FAILED. */
int memfd_open(int handle, int *fd, struct err *err) __must_check;

#endif
