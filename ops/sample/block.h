// SPDX-License-Identifier: Apache-2.0
/* Private to ops/: the block in a target that samples (sampler/sampler.h). */
#ifndef OPS_SAMPLE_BLOCK_H
#define OPS_SAMPLE_BLOCK_H

#include "ops/sample/end_guard.h"
#include "ops/target/run.h"
#include "sampler/sampler.h"

struct block {
	uint64_t base;		  /* address in the target; 0: none */
	enum sampler_phase phase; /* at the last search, */
	bool is_read;		  /* and whether its probes were being read then */
	struct end_guard guard;
	uint64_t seed;	/* from its installation: no other run has it */
	bool may_be_in; /* as far as known, we have installed it: block_install() */
	int handle;	/* O_PATH: its file, after block_map() */
};
#define BLOCK_INIT           \
	{                    \
		.handle = -1 \
	}
void block_close(struct block *b);

/*
 * Answers, in a looker, whether a former run has left a block (session.h); to be set as s->question
 * before anything is looked for.
 */
look_fn block_answer;
/* The block at b->base, or any if that is 0; sets b->base to 0 if there is none. */
int block_find(struct session *s, struct block *b, struct err *err) __must_check;

/* Map it, unless there is one that can be reused, and open its file. */
int block_map(struct session *s, struct block *b, struct err *err) __must_check;

/* Make ending threads pass through it: see sampler_end() of sampler/target.c. */
int block_guard(struct session *s, const struct block *b, struct err *err) __must_check;

/*
 * Make jemalloc call it, with a sample every so many bytes; `prof`: for jemalloc's own samples,
 * which have that interval, and need no block_guard(). Its probes must be read by then.
 */
int block_install(struct session *s, struct block *b, bool prof, uint64_t sample_bytes,
		  struct err *err) __must_check;

/*
 * Stop all calls to it, and free its data. Its code stays mapped: a thread may be about to call it.
 * A block that another run has installed since stays. `if_unread`: the block was left by a former
 * run; ERR_BUSY if the process is being sampled by now.
 */
int block_remove(struct session *s, const struct block *b, bool if_unread, struct err *err)
	__must_check;

#endif
