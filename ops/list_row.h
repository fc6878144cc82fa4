// SPDX-License-Identifier: Apache-2.0
/* Private to ops/list.c: a row of the list as a message from a confined process. */
#ifndef OPS_LIST_ROW_H
#define OPS_LIST_ROW_H

#include "base/pack.h"
#include "ops/ops.h"

#define LIST_ROWS_MAX 256 /* per process: it may have that many jemallocs mapped */

/*
 * Packs what was read from the memory and the files of the process; not its pid, user, names and
 * sizes, which list_row_unpack() leaves unchanged. service_name is raw and unverified. The caller
 * frees `command`, which may be NULL.
 */
void list_row_pack(const struct ops_process *row, struct pack *p);
void list_row_unpack(struct ops_process *row, struct unpack *u);

#endif
