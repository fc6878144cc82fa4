// SPDX-License-Identifier: Apache-2.0
/*
 * Fills the cache of names (symbols/cache.h). A profile may be crafted to take over its parser, and
 * what is cached is trusted later: so the cached names are looked up by a confined child that never
 * sees a profile. It is given a path, a build id and offsets in the file; it reads only the
 * system's own files (sandbox/vouch.h), which themselves say where their code belongs, and the
 * controller stores its answers.
 */
#ifndef OPS_APART_SYMBOL_KEEPER_H
#define OPS_APART_SYMBOL_KEEPER_H

#include "ops/apart/errand_run.h"

/* One child serves all questions of a command. The first question starts it. */
struct symbol_keeper {
	struct confined child;
	bool failed; /* it is not started again */
};
#define SYMBOL_KEEPER_INIT             \
	{                              \
		.child = CONFINED_INIT \
	}

/*
 * Asks rules->keeper. out->fd, which the caller closes, is -1 if there is no such file, or it has
 * no debug data, or cannot be vouched for.
 */
void symbol_keeper_look_up(const struct errand_places *places, const struct errand_rules *rules,
			   struct errand_found *out);

/*
 * The child `c` of a command that may have asked is done, and its answer was taken:
 * confined_finish() for all children of the command.
 */
void symbol_keeper_finish(struct symbol_keeper *keeper, struct confined *c);

/* Due however the command ends. */
void symbol_keeper_end(struct symbol_keeper *keeper);

#endif
