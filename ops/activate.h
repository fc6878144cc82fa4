// SPDX-License-Identifier: Apache-2.0
/* Turning profiling on as a part of a larger operation. */
#ifndef OPS_ACTIVATE_H
#define OPS_ACTIVATE_H

#include "ops/target/session.h"

/*
 * ops_activate() in an open session. *init_changed is set once prof.thread_active_init is about to
 * be set to true, even if this fails later.
 */
int switch_activate(struct session *s, struct ops_change *out, bool *init_changed, struct err *err)
	__must_check;

/* Does activation make this jemalloc, 5.2.0 or 5.2.1, discard its earlier samples? */
bool switch_forgets(const struct session *s);

/*
 * Private to ops/: sets prof.active by writing its byte, without a call and without a stop. For
 * processes in which no call can be made: stopped, frozen, in an uninterruptible sleep, or without
 * a thread that may be borrowed.
 *
 * mallctl sets it under a lock that protects only this byte, and does nothing else; allocations
 * read it without the lock (prof_active_set() and prof_active_get_unlocked() in src/prof.c of 4.0
 * to 5.3.1). In 5.2.0 and 5.2.1 existing threads do not sample after that (switch_forgets()): there
 * activation is refused.
 */

/*
 * Find jemalloc in `s`, on which session_open_proc() was called, write the byte, and read it back.
 * ERR_UNSAFE if its address is not confirmed in two ways (jemalloc_confirm_active()), ERR_NOPROF
 * without opt.prof, ERR_PERM without the right to write, ERR_LOST if the program ended. With
 * `force` it turns sampling on in spite of sampling_may_begin().
 */
int poke_active(struct session *s, bool want, bool force, struct ops_change *out, struct err *err)
	__must_check;

/* Did the user request this? */
static inline bool poke_is_wanted(const struct ops_options *options)
{
	return options->mode == INJECTOR_POKE;
}

#endif
