// SPDX-License-Identifier: Apache-2.0
/*
 * Who fills the cache of names (symbols/cache.h). What a profile says may be a trap for the one
 * who parses it, and what is kept is believed later: so the names that are kept are looked up by
 * a confined child that never sees a profile. It is given a path, a build id and offsets in the
 * file; it reads nothing but the system's own files (sandbox/vouch.h), which say themselves where
 * their code belongs, and what it answers the controller keeps.
 */
#ifndef OPS_APART_SYMBOL_KEEPER_H
#define OPS_APART_SYMBOL_KEEPER_H

#include "ops/apart/errand_run.h"

/* One child serves all the questions of a command. It is started by the first. */
struct symbol_keeper {
	struct confined child;
	bool failed; /* it is not started again */
};
#define SYMBOL_KEEPER_INIT             \
	{                              \
		.child = CONFINED_INIT \
	}

/*
 * Asks rules->keeper. out->fd, which the caller closes, is -1 where there is no such file, it has
 * no debug data, or is not one to be vouched for.
 */
void symbol_keeper_look_up(const struct errand_places *places, const struct errand_rules *rules,
			   struct errand_found *out);

/*
 * The child `c` of a command that may have asked is done, and all of it was taken:
 * confined_finish(), for all who worked on it.
 */
void symbol_keeper_finish(struct symbol_keeper *keeper, struct confined *c);

/* In whatever way the command ends. */
void symbol_keeper_end(struct symbol_keeper *keeper);

#endif
