// SPDX-License-Identifier: Apache-2.0
/* jemalloc's JSON statistics as Prometheus text (exposition format 0.0.4). */
#ifndef OPS_PROM_H
#define OPS_PROM_H

#include "base/err.h"

#include <stddef.h>
#include <sys/types.h>

/* `comm` is raw. The text is malloc()ed, the caller frees it. ERR_FAILED when `json` is no JSON. */
int prom_render(const char *json, pid_t pid, const char *comm, char **text, size_t *len,
		struct err *err) __must_check;

#endif
