// SPDX-License-Identifier: Apache-2.0
/* How far long work is: one line of the terminal that is stderr, written again and again. */
#ifndef CLI_PROGRESS_H
#define CLI_PROGRESS_H

#include <stdint.h>

#define PROGRESS_LINE_SIZE 193

/* A line that would wrap could not be written over: what is too long is cut. */
void progress_line(const char *line);
void progress_clear(void);
int progress_columns(void);

/* "#####..............." Returns `buf`. */
#define PROGRESS_BAR_SIZE 21
const char *progress_bar(uint64_t done, uint64_t of, char buf[PROGRESS_BAR_SIZE]);

#endif
