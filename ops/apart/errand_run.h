// SPDX-License-Identifier: Apache-2.0
/*
 * The controller's side of io/errand.h: serves a confined child until that is done, and does
 * nothing but what the rules allow.
 */
#ifndef OPS_APART_ERRAND_RUN_H
#define OPS_APART_ERRAND_RUN_H

#include "io/errand.h"
#include "io/output.h"

struct symbol_keeper;

struct errand_rules {
	/* Names for the cache, of vouched files: symbol_keeper_look_up(). NULL: none. */
	void (*look_up)(const struct errand_places *places, const struct errand_rules *rules,
			struct errand_found *out);
	struct symbol_keeper *keeper; /* of look_up */
	const char *const *inputs;    /* these may be opened */
	size_t n_inputs;
	const char *base;  /* and this; NULL: no more */
	const int *memory; /* memory files that the inputs are names for; NULL: they are paths */
	struct output *outputs; /* opened already; these may be written */
	size_t n_outputs;
	bool debuginfod;	 /* names may be asked for there */
	err_warn_fn *on_warning; /* NULL: warnings are dropped */
	void *ctx;
	uint64_t deadline_ms; /* CLOCK_MONOTONIC */
};
#define ERRAND_ANSWER_MAX (16u << 20)

/*
 * Serve the child until errand_done(), whose answer it is; or fail with the child's error or that
 * of confined_answer().
 */
int errand_run(struct confined *c, const struct errand_rules *rules, struct unpack *answer, int *fd,
	       struct err *err) __must_check;

/* May what a child made be read, and how long is it? It is sealed: memory_file_seal(). */
int errand_check(int fd, const struct errand_rules *rules, uint64_t *bytes, struct err *err)
	__must_check;

/* How much memory a child may need that parses a file of this size: of struct confined_options. */
uint64_t errand_memory(uint64_t file_bytes);

/* How large a file may get that it makes: the same, and of struct door_policy. */
uint64_t errand_file_max(uint64_t file_bytes);

#endif
