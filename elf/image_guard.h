// SPDX-License-Identifier: Apache-2.0
/*
 * Private to elf/. The files of a target are read through a mapping, so
 * that a giant one costs no memory. Their owner may cut one short meanwhile;
 * then reading it raises SIGBUS, which must not end us.
 */
#ifndef ELF_IMAGE_GUARD_H
#define ELF_IMAGE_GUARD_H

#include <stdbool.h>

/*
 * Call `fn`; false when the file was cut short on the way. What fn had begun
 * is left as it was then, so that a libelf handle in use may not be used
 * again, not even closed. Not for more than one thread; nests.
 */
bool image_guard(void (*fn)(void *ctx), void *ctx);

#endif
