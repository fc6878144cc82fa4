// SPDX-License-Identifier: Apache-2.0
/*
 * Private to ops/: stacks that the kernel copied are walked and added up in a confined child
 * (sandbox/confined.h), which reads the files and the memory of their process, and writes a
 * profile.
 */
#ifndef OPS_STACKS_COLLECTOR_H
#define OPS_STACKS_COLLECTOR_H

#include "bpf/stack.h"
#include "ops/target/session.h"

#include <stdint.h>
#include <stdio.h>

/* What is collected. All but `what` and `size` is used in the child. */
struct collector_kind {
	const char *what;  /* the child is for, as in "cannot WHAT" */
	size_t size;	   /* of a sample */
	size_t state_size; /* of what the functions below work on, which is 0 at first */
	/* The stack of a sample; NULL for one that makes no sense. */
	const struct stack_copy *(*stack)(const void *sample);
	/* `depth` addresses of it, innermost first: that of the probe, then return addresses. */
	int (*add)(void *state, const void *sample, const uint64_t *addrs, size_t depth,
		   struct err *err);
	/* Any question but those: the caller's own. */
	int (*answer)(void *state, struct session *s, struct unpack *question, struct pack *answer,
		      struct err *err);
	/* The stacks, by what was packed for it; the child adds the mappings and the facts. */
	int (*write)(void *state, struct unpack *totals, FILE *out, struct pack *answer,
		     struct err *err);
	void (*fini)(void *state);
};

struct collector {
	struct confined child;
	const struct collector_kind *kind;
};
#define COLLECTOR_INIT                 \
	{                              \
		.child = CONFINED_INIT \
	}

/* For s->proc; the profile goes to `out`, a memory file of the caller's. */
int collector_start(struct collector *c, const struct collector_kind *kind, const struct session *s,
		    int out, struct err *err) __must_check;
void collector_end(struct collector *c);

/* Waits while the child has too much to do. */
int collector_add(struct collector *c, const void *sample, struct err *err) __must_check;

/* `answer` is what kind->answer() packed, in memory of the handle until the next question. */
int collector_ask(struct collector *c, const struct session *s, const struct pack *question,
		  struct unpack *answer, struct err *err) __must_check;

/*
 * All that was added becomes a profile. Its mappings are those that the process has now, or if it
 * has ended, had when they were read last. *cut: samples whose stack was longer than its copy, or
 * could not be walked. `answer` is as above.
 */
int collector_write(struct collector *c, const struct session *s, const struct pack *totals,
		    uint64_t *cut, struct unpack *answer, struct err *err) __must_check;

#endif
