// SPDX-License-Identifier: Apache-2.0
/*
 * Services of systemd: the variable that turns profiling on (MALLOC_CONF), set for the next start
 * of a service by a drop-in of its unit, and removed again.
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

/* The default: nothing is sampled until activate. */
#define UNIT_CONF "prof:true,prof_active:false"

struct ops_unit_request {
	const char *unit; /* as systemctl takes it: "redis" is redis.service */
	const char *conf; /* options of jemalloc, added to those of the service; NULL: UNIT_CONF */
	bool runtime;	  /* until the next boot */
	bool force;	  /* even if it is known not to help */
};

/* A file that is written, replaced or removed. */
struct ops_unit_file {
	char path[PATH_MAX];
	char *before, *after; /* contents; NULL: it does not exist */
};

struct ops_unit {
	char name[UNIT_NAME_SIZE]; /* the unit's own name, if an alias was given */
	bool enables;
	char variable[UNIT_VARIABLE_SIZE]; /* read by its jemalloc, as far as known; enable */
	char was[UNIT_VALUE_SIZE], value[UNIT_VALUE_SIZE]; /* without the drop-in, and with it */
	bool was_set;
	bool samples;		       /* it is sampled from its start then */
	bool unread;		       /* it is written, but systemd has not read it */
	struct ops_unit_file files[2]; /* the first is the one in effect */
	size_t n_files;
	bool runs;
	struct ops_match process; /* of the service, that was inspected; pid 0: none */
	enum tristate opt_prof;	  /* in that process */
	struct err notes[4];	  /* warnings */
	size_t n_notes;
};

/* Would carrying it out change this file, or any? */
bool ops_unit_file_changes(const struct ops_unit_file *file);
bool ops_unit_changes(const struct ops_unit *unit);
/* Would it make systemd read its units again? */
bool ops_unit_reloads(const struct ops_unit *unit);

/*
 * Make a plan. ERR_USAGE for what is not a service, or not a configuration; ERR_FAILED for a unit
 * that cannot be started, or if the drop-in would have no effect; ERR_NOJEMALLOC and ERR_NOPROF if
 * the service runs and its jemalloc cannot be profiled (unless `force`); ERR_OUTPUT for a file of
 * that name that is not ours. The caller ends `out` with ops_unit_fini(), even after a failure.
 */
int ops_unit_enable(const struct ops_unit_request *request, const struct ops_options *options,
		    struct ops_unit *out, struct err *err) __must_check;
int ops_unit_disable(const struct ops_unit_request *request, struct ops_unit *out, struct err *err)
	__must_check;
void ops_unit_fini(struct ops_unit *unit);

/*
 * Write or remove the files, and make systemd read its units again, if there is a change. ERR_PERM
 * unless root; ERR_OUTPUT; ERR_FAILED if systemd has another value nevertheless.
 */
int ops_unit_carry_out(struct ops_unit *unit, struct err *err) __must_check;

/*
 * Restart the service. After enable, wait for its process, and report opt.prof in it: ERR_NOPROF if
 * it is false, ERR_NOJEMALLOC, ERR_UNSAFE if it cannot be read. Only inspects the process.
 */
int ops_unit_restart(struct ops_unit *unit, const struct ops_options *options, struct err *err)
	__must_check;

#endif
