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
	const char *what;  /* purpose of the child, as in "cannot WHAT" */
	size_t size;	   /* of a sample */
	size_t state_size; /* of the state of the functions below, initially zeroed */
	/* The stack of a sample; NULL for an invalid sample. */
	const struct stack_copy *(*stack)(const void *sample);
	/* Add `depth` addresses, innermost first: that of the probe, then return addresses. */
	int (*add)(void *state, const void *sample, const uint64_t *addrs, size_t depth,
		   struct err *err);
	/* Answer the caller's own questions. */
	int (*answer)(void *state, struct session *s, struct unpack *question, struct pack *answer,
		      struct err *err);
	/*
	 * Write the stacks, using what was packed for it; the child adds the mappings and the
	 * metadata.
	 */
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

/* Blocks while the child is busy. */
int collector_add(struct collector *c, const void *sample, struct err *err) __must_check;

/* `answer` is what kind->answer() packed, in memory of the handle until the next question. */
int collector_ask(struct collector *c, const struct session *s, const struct pack *question,
		  struct unpack *answer, struct err *err) __must_check;

/*
 * Make a profile of all that was added. Its mappings are the current ones of the process, or if it
 * has ended, those that were read last. *cut: samples whose stack was longer than its copy, or
 * could not be walked. `answer` is as above.
 */
int collector_write(struct collector *c, const struct session *s, const struct pack *totals,
		    uint64_t *cut, struct unpack *answer, struct err *err) __must_check;

#endif
