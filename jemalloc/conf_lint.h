// SPDX-License-Identifier: Apache-2.0
/* Finds errors and likely mistakes in a MALLOC_CONF string. Pure functions. */
#ifndef JEMALLOC_CONF_LINT_H
#define JEMALLOC_CONF_LINT_H

#include "base/err.h"
#include "jemalloc/conf.h"

#include <stddef.h>

/*
 * CONF_ERROR: jemalloc does not accept it as written. CONF_WARNING: it does, with a probably
 * unintended effect, or only some versions do. CONF_NOTE: information.
 */
enum conf_level { CONF_NOTE, CONF_WARNING, CONF_ERROR };

struct conf_finding {
	enum conf_level level;
	size_t at;	/* offset in the string, in bytes */
	char text[384]; /* may hold raw bytes of the string, see output_safe() */
	char fix[256];	/* "" if there is nothing to do */
};

/* How the versions of one family interpret it. */
struct conf_reading {
	int from, to; /* both from conf_versions */
	char text[512];
};

#define CONF_FINDINGS_MAX 32

struct conf_lint {
	size_t n, dropped; /* findings; number of those that did not fit */
	struct conf_finding v[CONF_FINDINGS_MAX];
	size_t n_readings; /* 1 when all versions interpret it alike */
	struct conf_reading readings[CONF_VERSIONS];
};

/*
 * `version`: 0 for all of them. `with_prof`: was it built with --enable-prof? jemalloc's messages
 * depend on nothing else, except for options that only special builds have.
 */
void conf_lint(const char *text, int version, enum tristate with_prof, struct conf_lint *out);

/* Only the checks of single pairs, for one version or all; adds to `out`. */
void conf_lint_pairs(const char *text, int version, enum tristate with_prof, struct conf_lint *out);

/* The number of findings of this level. */
size_t conf_lint_count(const struct conf_lint *lint, enum conf_level level);

/*
 * Findings about the effects of the final values. `all`: the state is that of the newest version,
 * and stands for all versions.
 */
void conf_rules(const struct conf_state *state, bool all, struct conf_lint *out);

#endif
