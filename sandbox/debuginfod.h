// SPDX-License-Identifier: Apache-2.0
/*
 * Private to sandbox/: debug files from the servers in DEBUGINFOD_URLS (debuginfod(8)). The client
 * library is loaded on demand: it is rarely needed, and depends on an HTTP client.
 */
#ifndef SANDBOX_DEBUGINFOD_H
#define SANDBOX_DEBUGINFOD_H

#include "base/err.h"

#include <stddef.h>

/*
 * A descriptor of the debug file for a build ID, which the caller closes. Waits for the network as
 * long as the library's settings allow (90 seconds without data). ERR_FAILED with a fix: no
 * library, no servers configured, or none has the file.
 */
int debuginfod_open(const unsigned char *build_id, size_t len, int *fd, struct err *err)
	__must_check;

#endif
