// SPDX-License-Identifier: Apache-2.0
/* Private to ops/: the block in a target that samples (sampler/sampler.h). */
#ifndef OPS_SAMPLE_BLOCK_H
#define OPS_SAMPLE_BLOCK_H

#include "ops/sample/end_guard.h"
#include "ops/target/run.h"
#include "sampler/sampler.h"

struct block {
	uint64_t base;		  /* its address in the target; 0: there is none */
	enum sampler_phase phase; /* when it was looked for, */
	bool is_read;		  /* and whether anybody read its probes then */
	struct end_guard guard;
	uint64_t seed;	/* that it was installed with: no other run has it */
	bool may_be_in; /* we have installed it, as far as we know; block_install() */
	int handle;	/* O_PATH: its file, after block_map() */
};
#define BLOCK_INIT           \
	{                    \
		.handle = -1 \
	}
void block_close(struct block *b);

/*
 * The question to a looker whether there is one that a former run left (session.h); to be set as
 * s->question before anything is looked for.
 */
look_fn block_answer;
/* The one at b->base, or any where that is 0; b->base is 0 where there is none. */
int block_find(struct session *s, struct block *b, struct err *err) __must_check;

/* Map it, where there is none that can be taken again, and open its file. */
int block_map(struct session *s, struct block *b, struct err *err) __must_check;

/* Have threads that end pass by it: see sampler_end() of sampler/target.c. */
int block_guard(struct session *s, const struct block *b, struct err *err) __must_check;

/* Have jemalloc call it, for a sample every so many bytes. Its probes are read by then. */
int block_install(struct session *s, struct block *b, uint64_t sample_bytes, struct err *err)
	__must_check;

/*
 * No call of it any more, and its data given back. Its code stays mapped: a thread may be about to
 * call it. What another run has installed since stays. `if_unread`: what a former one has left, or
 * ERR_BUSY if the process is being sampled by now.
 */
int block_remove(struct session *s, const struct block *b, bool if_unread, struct err *err)
	__must_check;

#endif
