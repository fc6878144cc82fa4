// SPDX-License-Identifier: Apache-2.0
/* What is wrong with a MALLOC_CONF string, and what is likely not meant. Pure functions. */
#ifndef JEMALLOC_CONF_LINT_H
#define JEMALLOC_CONF_LINT_H

#include "base/err.h"
#include "jemalloc/conf.h"

#include <stddef.h>

/*
 * CONF_ERROR: jemalloc does not take it as it is written. CONF_WARNING: it does,
 * with an effect that is hardly meant, or some versions do not. CONF_NOTE: good to know.
 */
enum conf_level { CONF_NOTE, CONF_WARNING, CONF_ERROR };

struct conf_finding {
	enum conf_level level;
	size_t at;	/* where in the string it is about, in bytes */
	char text[384]; /* may hold raw bytes of the string, see output_safe() */
	char fix[256];	/* "" if there is nothing to do */
};

/* How the versions of one family read it. */
struct conf_reading {
	int from, to; /* both of conf_versions */
	char text[512];
};

#define CONF_FINDINGS_MAX 32

struct conf_lint {
	size_t n, dropped; /* findings; those that found no room */
	struct conf_finding v[CONF_FINDINGS_MAX];
	size_t n_readings; /* 1 when all versions read it alike */
	struct conf_reading readings[CONF_VERSIONS];
};

/*
 * `version`: 0 for all of them. `with_prof`: was it built with --enable-prof?
 * What jemalloc prints depends on nothing else, save for options that only
 * special builds have.
 */
void conf_lint(const char *text, int version, enum tristate with_prof, struct conf_lint *out);

/* The part of it that looks at each pair by itself, for one version or all; adds to `out`. */
void conf_lint_pairs(const char *text, int version, enum tristate with_prof, struct conf_lint *out);

/* How many findings are of this level. */
size_t conf_lint_count(const struct conf_lint *lint, enum conf_level level);

/*
 * What the values do, once they are in force. `all`: the
 * state is the newest version's, and stands for all of them.
 */
void conf_rules(const struct conf_state *state, bool all, struct conf_lint *out);

#endif
