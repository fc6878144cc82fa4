// SPDX-License-Identifier: Apache-2.0
/* The parts of a check: its rows, their inputs, and the functions that make them. */
#ifndef OPS_CHECK_PARTS_H
#define OPS_CHECK_PARTS_H

#include "ops/ops.h"
#include "ops/target/session.h"

#include <limits.h>

enum check {
	CHECK_PROCESS,
	CHECK_PERMISSION,
	CHECK_YAMA,
	CHECK_CAPABILITY,
	CHECK_NAMESPACE,
	CHECK_SECCOMP,
	CHECK_JEMALLOC,
	CHECK_PREFIX,
	CHECK_CONFIG_PROF,
	CHECK_CONF_BUILD,
	CHECK_CONF_SYMBOL,
	CHECK_CONF_LINK,
	CHECK_CONF_ENVIRONMENT,
	CHECK_CONF,
	CHECK_CONF_LINT,
	CHECK_OPT_PROF,
	CHECK_ACTIVE,
	CHECK_INIT,
	CHECK_RECORDING,
	CHECK_SAMPLE,
	CHECK_UNWINDER,
	CHECK_GDUMP,
	CHECK_VERSION,
	CHECK_INJECTION,
	CHECK_THREADS,
	CHECK_DUMP,
	CHECK_DUMP_PREFIX,
	CHECKS
};

/* One value that the run read in the target. */
struct check_value {
	bool known;
	union {
		bool flag;
		uint64_t size;
		int64_t number;
	};
};

/* What the run read. Values that it did not reach are unknown. */
struct check_values {
	struct check_value config_prof, opt_prof, active, thread_init, lg_sample, libgcc, libunwind,
		frameptr, gdump, final, lg_interval;
	bool has_malloc_conf, has_prefix;
	char malloc_conf[PATH_MAX]; /* config.malloc_conf */
	char prefix[PATH_MAX];	    /* opt.prof_prefix */
};

enum tristate check_tristate(const struct check_value *v);

/* Results of a row. A row that passed and has a fix is a warning. */
void check_passed(struct ops_check *c, const char *fmt, ...) __printf_like(2, 3);
void check_unknown(struct ops_check *c, const char *fmt, ...) __printf_like(2, 3);
/* What could not be read, and the error of our own that may be the cause (err_explain()). */
void check_unread_for(struct ops_check *c, const struct err *why);
void check_unread(struct ops_check *c, const char *what);
void check_failed(struct ops_check *c, const struct err *err);

/* Message form of a row; an unpacked one takes its name from `was`. */
void check_row_pack(const struct ops_check *c, struct pack *p);
void check_row_unpack(struct ops_check *c, const struct ops_check *was, struct unpack *u);

/* Yama, capabilities, user namespace, seccomp. `may_trace`: the kernel's verdict. */
void check_rights(const struct session *s, bool may_trace, struct ops_check *rows);

/*
 * Where the configuration came from, what is wrong with it, and what decided opt.prof. This reads
 * memory, the environment and a link, which check_conf_answer() does in the confined process; it
 * has to be s->question from the beginning.
 */
int check_conf(struct session *s, const struct check_values *values, struct ops_check *rows,
	       struct err *err) __must_check;
int check_conf_answer(struct session *s, struct unpack *question, struct pack *answer,
		      struct err *err) __must_check;

/* prof.active, the sample rate, the unwinder, known problems of this version. */
void check_prof(const struct session *s, const struct check_values *values, struct ops_check *rows);

/* How a profile is returned, and where the target's own dumps go. */
void check_route(const struct session *s, const struct check_values *values,
		 struct ops_check *rows);

#endif
