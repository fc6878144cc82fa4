// SPDX-License-Identifier: Apache-2.0
/* Private to process/: parsing proc_pid_status(5). */
#ifndef PROCESS_PROC_STATUS_H
#define PROCESS_PROC_STATUS_H

#include "process/proc.h"

/* False when `text` holds no State and Tgid. Lines that are missing leave zeros. */
bool proc_status_parse(struct proc_status *st, const char *text);

#endif
