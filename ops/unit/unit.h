// SPDX-License-Identifier: Apache-2.0
/*
 * Services of systemd: the variable that turns profiling on (MALLOC_CONF), set for the next start
 * of a service by a drop-in of its unit, and taken away again.
 *
 * First a plan is made, which changes nothing, and can be shown; then it is carried out.
 */
#ifndef OPS_UNIT_UNIT_H
#define OPS_UNIT_UNIT_H

#include "base/err.h"
#include "ops/ops.h"

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

#define UNIT_NAME_SIZE 256
#define UNIT_VARIABLE_SIZE 80
#define UNIT_VALUE_SIZE 2048

/* What is set where nothing else is asked for: nothing is sampled until activate. */
#define UNIT_CONF "prof:true,prof_active:false"

struct ops_unit_request {
	const char *unit; /* as systemctl takes it: "redis" is redis.service */
	const char *conf; /* options of jemalloc, beside those of the service; NULL: UNIT_CONF */
	bool runtime;	  /* until the next boot */
	bool force;	  /* also where it is known not to help */
};

/* A file that is written, replaced or removed. */
struct ops_unit_file {
	char path[PATH_MAX];
	char *before, *after; /* what is in it; NULL: it does not exist */
};

struct ops_unit {
	char name[UNIT_NAME_SIZE]; /* the unit's own name, where an alias was given */
	bool enables;
	char variable[UNIT_VARIABLE_SIZE]; /* which jemalloc reads, as far as known; enable */
	char was[UNIT_VALUE_SIZE], value[UNIT_VALUE_SIZE]; /* without the drop-in, with it */
	bool was_set;
	bool samples;		       /* with that it is sampled from its start */
	bool unread;		       /* it is written, but systemd has not read it */
	struct ops_unit_file files[2]; /* the first is the one that counts */
	size_t n_files;
	bool runs;
	struct ops_match process; /* of it, that was looked at; pid 0: none */
	enum tristate opt_prof;	  /* in there */
	struct err notes[4];	  /* warnings */
	size_t n_notes;
};

/* Does carrying it out change this file, or any? */
bool ops_unit_file_changes(const struct ops_unit_file *file);
bool ops_unit_changes(const struct ops_unit *unit);
/* Does it have systemd read its units again? */
bool ops_unit_reloads(const struct ops_unit *unit);

/*
 * ERR_USAGE for what is no service, or no configuration; ERR_FAILED for a unit that cannot be
 * started, or where the drop-in would have no effect; ERR_NOJEMALLOC and ERR_NOPROF where the
 * service runs and its jemalloc cannot be profiled (unless `force`); ERR_OUTPUT for a file of that
 * name that is not ours. The caller ends `out` with ops_unit_fini(), also when this fails.
 */
int ops_unit_enable(const struct ops_unit_request *request, const struct ops_options *options,
		    struct ops_unit *out, struct err *err) __must_check;
int ops_unit_disable(const struct ops_unit_request *request, struct ops_unit *out, struct err *err)
	__must_check;
void ops_unit_fini(struct ops_unit *unit);

/*
 * Write or remove the files, and have systemd read its units again, where that is a change.
 * ERR_PERM unless root; ERR_OUTPUT; ERR_FAILED where systemd has another value all the same.
 */
int ops_unit_carry_out(struct ops_unit *unit, struct err *err) __must_check;

/*
 * Restart the service. After enable wait until its process is there, and say how opt.prof is in it:
 * ERR_NOPROF if it is false, ERR_NOJEMALLOC, ERR_UNSAFE if it cannot be read. It only looks.
 */
int ops_unit_restart(struct ops_unit *unit, const struct ops_options *options, struct err *err)
	__must_check;

#endif
