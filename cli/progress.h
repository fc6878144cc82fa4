// SPDX-License-Identifier: Apache-2.0
/* Progress of long operations: one line on stderr, a terminal, rewritten in place. */
#ifndef CLI_PROGRESS_H
#define CLI_PROGRESS_H

#include <stdint.h>

#define PROGRESS_LINE_SIZE 193

/* Long lines are cut: a line that wraps could not be overwritten. */
void progress_line(const char *line);
void progress_clear(void);
int progress_columns(void);

/* "#####..............." Returns `buf`. */
#define PROGRESS_BAR_SIZE 21
const char *progress_bar(uint64_t done, uint64_t of, char buf[PROGRESS_BAR_SIZE]);

#endif
