// SPDX-License-Identifier: Apache-2.0
/*
 * A file of rules for `serve`, each a line NAME: OPTIONS with options of `guard`. Words are split
 * as in a shell, with quotes but no expansion.
 */
#ifndef CLI_RULES_H
#define CLI_RULES_H

#include "cli/args.h"
#include "serve/serve.h"

struct rules;

/*
 * Read the file; free the rules with rules_free(). ERR_FAILED: it cannot be read, or other users
 * may write to it; ERR_USAGE: a line is wrong. `read_only`: refuse rules that change a process.
 */
int rules_read(const char *path, bool read_only, struct rules **rules, struct err *err)
	__must_check;
void rules_free(struct rules *rules);

/* All rules; owned by `rules`. */
const struct serve_rule *rules_all(const struct rules *rules, size_t *n);

#endif
