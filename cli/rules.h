// SPDX-License-Identifier: Apache-2.0
/*
 * A file of rules for `serve`: a line NAME: OPTIONS for each, with options of `guard`. Words are
 * split as a shell does it, with quotation marks alone.
 */
#ifndef CLI_RULES_H
#define CLI_RULES_H

#include "cli/args.h"
#include "serve/serve.h"

struct rules;

/*
 * Read it. The caller frees it with rules_free(). ERR_FAILED: it cannot be read, or others may
 * write to it; ERR_USAGE: what is wrong in which line. `read_only`: no rule may change a process.
 */
int rules_read(const char *path, bool read_only, struct rules **rules, struct err *err)
	__must_check;
void rules_free(struct rules *rules);

/* They live as long as `rules`. */
const struct serve_rule *rules_all(const struct rules *rules, size_t *n);

#endif
