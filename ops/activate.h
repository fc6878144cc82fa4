// SPDX-License-Identifier: Apache-2.0
/* Turning profiling on within an operation that does more than that. */
#ifndef OPS_ACTIVATE_H
#define OPS_ACTIVATE_H

#include "ops/target/session.h"

/*
 * ops_activate() in a session that is open. *init_changed is set, also when
 * this fails later, once prof.thread_active_init is about to be made true.
 */
int switch_activate(struct session *s, struct ops_change *out, bool *init_changed, struct err *err)
	__must_check;

/* Does activation make this jemalloc, 5.2.0 or 5.2.1, forget what it sampled before? */
bool switch_forgets(const struct session *s);

/*
 * Private to ops/: prof.active set by writing its byte, without a call and without a stop. For
 * processes in which no call can be made: stopped, frozen, in an uninterruptible sleep, or without
 * a thread that may be borrowed.
 *
 * mallctl sets it under a lock that serves this byte alone, and does nothing else; allocations
 * read it without the lock (prof_active_set() and prof_active_get_unlocked() in src/prof.c of 4.0
 * to 5.3.1). In 5.2.0 and 5.2.1 threads that exist do not sample from then on (switch_forgets()):
 * there activation is refused.
 */

/*
 * Find jemalloc in `s`, which is at session_open_proc(), write the byte, and read it back.
 * ERR_UNSAFE where its address is not known by two ways (jemalloc_confirm_active()), ERR_NOPROF
 * without opt.prof, ERR_PERM without the right to write, ERR_LOST where the program ended. With
 * `force` it turns sampling on in spite of sampling_may_begin().
 */
int poke_active(struct session *s, bool want, bool force, struct ops_change *out, struct err *err)
	__must_check;

/* Is this what the user asked for? */
static inline bool poke_is_wanted(const struct ops_options *options)
{
	return options->mode == INJECTOR_POKE;
}

#endif
