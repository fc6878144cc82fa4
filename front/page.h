// SPDX-License-Identifier: Apache-2.0
/* The web page of the service (web/serve/), which is linked into the program. */
#ifndef FRONT_PAGE_H
#define FRONT_PAGE_H

#include <stddef.h>

const char *page_bytes(size_t *len);

/* Its Content-Security-Policy, which names its script and its style by their hashes. */
const char *page_policy(void);

#endif
