// SPDX-License-Identifier: Apache-2.0
/* Private to target/: where a jemalloc's code lies in its image. */
#ifndef TARGET_JEMALLOC_TEXT_H
#define TARGET_JEMALLOC_TEXT_H

#include "target/jemalloc.h"

/*
 * Set je->text and je->more from je->image, ->mallctl and ->prefix. Errs on
 * the large side: a thread that is refused costs a retry, one wrongly taken
 * for safe may deadlock the target.
 */
void jemalloc_text(struct jemalloc *je);

#endif
