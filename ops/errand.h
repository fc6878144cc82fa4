// SPDX-License-Identifier: Apache-2.0
/*
 * What a confined child (sandbox/confined.h) that works on profiles has its controller do:
 * open the files that the user named, put files in their place, start dot(1), keep names.
 *
 * The functions of the first part do it themselves in an ordinary process. errand_run() is the
 * controller's side: it serves the child until that is done, and does nothing but what the rules
 * allow.
 */
#ifndef OPS_ERRAND_H
#define OPS_ERRAND_H

#include "base/err.h"
#include "ops/limit.h"
#include "ops/output.h"
#include "sandbox/confined.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* The file `path`, "-" for the standard input, for reading; -1 with errno. */
int errand_open(const char *path);

/* Put the first `bytes` of `fd` where `path` says (ops/output.h). */
int errand_write(const char *path, bool force, int fd, uint64_t bytes, struct err *err)
	__must_check;

/* Have a graph drawn (ops/graphviz.h): *picture is a memory file, which the caller closes. */
int errand_draw(const char *type, int graph, int *picture, struct err *err) __must_check;

/* A line for struct ops_symbolise_options.tell; from a confined child alone. */
void errand_tell(const char *line);

/* The names that are kept for a build id (ops/symbol_cache.h); -1: none are. */
int errand_names(const unsigned char *build_id, size_t len);

/* What is asked of files that the machine vouches for: names of places in one of them. */
struct errand_places {
	const char *path;
	const unsigned char *build_id;
	size_t build_id_len;
	uint64_t start, offset; /* where it was mapped */
	const uint64_t *places; /* ascending and distinct */
	size_t n;
};
#define ERRAND_PLACES_MAX (1u << 20)

struct errand_found {
	int fd;		 /* the names, as errand_names() has them; -1: there are none */
	bool split;	 /* as in struct symbolise_image */
	char lacks[256]; /* the same */
};

/*
 * Have them looked up, and kept, by a child that never sees the profile (ops/symbol_keeper.h).
 * In a confined child alone.
 */
void errand_look_up(const struct errand_places *places, struct errand_found *out);

/* Of a process that may be the one of a profile: how much memory there is for it. */
enum errand_limit { ERRAND_LIMIT_NONE, ERRAND_LIMIT_CGROUP, ERRAND_LIMIT_MACHINE };
enum errand_limit errand_limit(pid_t pid, const char *comm, struct limit *out);

/* The child is done; `answer` and `fd` are for errand_run(). */
void errand_done(const struct pack *answer, int fd);

/* --- the controller's side --- */

struct errand_rules {
	const char *const *inputs; /* these may be opened */
	size_t n_inputs;
	const char *base;	/* and this; NULL: no more */
	struct output *outputs; /* opened already; these may be written */
	size_t n_outputs;
	bool debuginfod;		/* names may be asked for there */
	void (*tell)(const char *line); /* NULL: lines are dropped */
	uint64_t deadline_ms;		/* CLOCK_MONOTONIC */
};
#define ERRAND_ANSWER_MAX (16u << 20)

/*
 * Serve the child until errand_done(), whose answer it is; or fail with the child's error or that
 * of confined_answer().
 */
int errand_run(struct confined *c, const struct errand_rules *rules, struct unpack *answer, int *fd,
	       struct err *err) __must_check;

/* The child is done, and all of it was taken: confined_finish(), for all who worked on it. */
void errand_finish(struct confined *c);

/* May what a child made be read, and how long is it? received_check() of it. */
int errand_check(int fd, const struct errand_rules *rules, uint64_t *bytes, struct err *err)
	__must_check;

/* How much memory a child may need that parses a file of this size: of struct confined_options. */
uint64_t errand_memory(uint64_t file_bytes);

/* How long a deadline is away; 0 when it has passed. */
unsigned int errand_left_ms(const struct errand_rules *rules);

#endif
