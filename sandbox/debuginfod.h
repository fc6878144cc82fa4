// SPDX-License-Identifier: Apache-2.0
/*
 * Private to sandbox/: debug files from the servers that DEBUGINFOD_URLS names
 * (debuginfod(8)). The client library is loaded when it is needed: most have
 * no use for it, and it brings an HTTP client with it.
 */
#ifndef SANDBOX_DEBUGINFOD_H
#define SANDBOX_DEBUGINFOD_H

#include "base/err.h"

#include <stddef.h>

/*
 * A descriptor of the debug file for a build id, which the caller closes.
 * Waits for the network as long as the library's own settings allow (90
 * seconds without data). ERR_FAILED with its fix: no library, no server named, none that
 * has it.
 */
int debuginfod_open(const unsigned char *build_id, size_t len, int *fd, struct err *err)
	__must_check;

#endif
