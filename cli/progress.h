// SPDX-License-Identifier: Apache-2.0
/* Progress of long operations: one line on stderr, a terminal, rewritten in place. */
#ifndef CLI_PROGRESS_H
#define CLI_PROGRESS_H

#include <stdint.h>

#define PROGRESS_MS 250 /* how often to rewrite the line */

/*
 * "DOING WHO [####....] 3s left, MORE", without DOING and the bar where it would wrap.
 * duration_ms 0: "DOING WHO for 3s, MORE". Long lines are cut.
 */
void progress_show(const char *doing, const char *who, uint64_t elapsed_ms, uint64_t duration_ms,
		   const char *more);
void progress_clear(void);

#endif
