// SPDX-License-Identifier: Apache-2.0
/* What to do about an error, for people who use the command line. */
#ifndef CLI_FIXES_H
#define CLI_FIXES_H

#include "base/err.h"

/* The words of its fixes, "" if it has none; safe to print. Returns `buf`. */
const char *fix_text(const struct err *err, char *buf, size_t size);

#endif
