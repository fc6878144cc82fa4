// SPDX-License-Identifier: Apache-2.0
/*
 * Private to ops/: what must be known of a process before it is worked on, from a confined child
 * that reads its files and its memory (sandbox/confined.h). The child keeps them open for further
 * questions until look_end(). The controller only reads its answers.
 *
 * Each question fails with the child's error, or with that of confined_answer().
 */
#ifndef OPS_TARGET_LOOK_H
#define OPS_TARGET_LOOK_H

#include "injector/site.h"
#include "ops/target/session.h"

/*
 * Begin to look for the images and the jemallocs of s->proc, in parallel with the caller.
 * look_found() does that first if it was not done, waits for the answer, and fills s->images and
 * s->jemallocs from it, or s->no_jemalloc.
 */
int look_begin(struct session *s, struct err *err) __must_check;
int look_found(struct session *s, struct err *err) __must_check;
void look_end(struct session *s);

/* The site of calls to s->je; the caller owns *site. */
int look_site(struct session *s, struct callsite **site, struct err *err) __must_check;

/* The variables of s->je, and their current values. */
int look_values(struct session *s, struct jemalloc_values *values, struct err *err) __must_check;

/* jemalloc_confirm_active() of s->je, after look_values(). */
int look_active(struct session *s, bool *confirmed, struct err *err) __must_check;

/* jemalloc_find_dump() of s->je. */
int look_dump(struct session *s, struct jemalloc_dump *dump, struct err *err) __must_check;

/*
 * A question of the caller's own about the process or s->je, which s->question answers in the
 * child: s->je is NULL there, too, if none was picked. Set it before anything is looked for.
 */
int look_ask(struct session *s, const struct pack *question, struct unpack *answer, struct err *err)
	__must_check;

#endif
