// SPDX-License-Identifier: Apache-2.0
/* Turning profiling on within an operation that does more than that. */
#ifndef OPS_SWITCH_H
#define OPS_SWITCH_H

#include "ops/session.h"

/*
 * ops_activate() in a session that is open. *init_changed is set, also when
 * this fails later, once prof.thread_active_init is about to be made true.
 */
int switch_activate(struct session *s, struct ops_change *out, bool *init_changed, struct err *err)
	__must_check;

/* Does activation make this jemalloc, 5.2.0 or 5.2.1, forget what it sampled before? */
bool switch_forgets(const struct session *s);

#endif
