// SPDX-License-Identifier: Apache-2.0
/*
 * The controller's side of io/errand.h: serves a confined child until that is done, and only as far
 * as the rules allow.
 */
#ifndef OPS_APART_ERRAND_RUN_H
#define OPS_APART_ERRAND_RUN_H

#include "io/errand.h"
#include "io/output.h"

struct symbol_keeper;

struct errand_rules {
	/* Looks up names for the cache, in vouched files: symbol_keeper_look_up(). NULL: none. */
	void (*look_up)(const struct errand_places *places, const struct errand_rules *rules,
			struct errand_found *out);
	struct symbol_keeper *keeper; /* for look_up */
	const char *const *inputs;    /* these may be opened */
	size_t n_inputs;
	const char *base;	/* and this file; NULL: none */
	const int *memory;	/* memory files that the inputs stand for; NULL: inputs are paths */
	struct output *outputs; /* already open; these may be written */
	size_t n_outputs;
	bool debuginfod;	 /* names may be requested from it */
	err_warn_fn *on_warning; /* NULL: warnings are dropped */
	void *ctx;
	uint64_t deadline_ms; /* CLOCK_MONOTONIC */
};
#define ERRAND_ANSWER_MAX (16u << 20)

/*
 * Serve the child until errand_done(), which gives its answer; or fail with the child's error or
 * that of confined_answer().
 */
int errand_run(struct confined *c, const struct errand_rules *rules, struct unpack *answer, int *fd,
	       struct err *err) __must_check;

/* May a child's output be read, and how long is it? It gets sealed: memory_file_seal(). */
int errand_check(int fd, const struct errand_rules *rules, uint64_t *bytes, struct err *err)
	__must_check;

/* Memory that a child may need to parse a file of this size: for struct confined_options. */
uint64_t errand_memory(uint64_t file_bytes);

/* Size limit of a file that it makes: for struct confined_options, and struct door_policy. */
uint64_t errand_file_max(uint64_t file_bytes);

#endif
