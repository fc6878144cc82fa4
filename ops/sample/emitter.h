// SPDX-License-Identifier: Apache-2.0
/*
 * Private to ops/sample/: a program's own probes otel_memory:alloc and otel_memory:free, whatever
 * its allocator.
 */
#ifndef OPS_SAMPLE_EMITTER_H
#define OPS_SAMPLE_EMITTER_H

#include "bpf/heap.h"
#include "ops/target/session.h"

struct emitter {
	struct heap_place places[HEAP_EVENTS][HEAP_PROBES_MAX];
	size_t n[HEAP_EVENTS];			    /* if one is 0, both are: it is no emitter */
	int handles[HEAP_EVENTS * HEAP_PROBES_MAX]; /* O_PATH: the files of the probes */
	size_t n_handles;
};
void emitter_close(struct emitter *e);

/* Answers in a looker (session.h), of its process. */
look_fn emitter_answer;

/*
 * Find the probes; before a jemalloc is picked. Fails if there are some, but not all can be read:
 * what is live would be wrong.
 */
int emitter_find(struct session *s, struct emitter *e, struct err *err) __must_check;

#endif
