// SPDX-License-Identifier: Apache-2.0
#include "ops/target/sampling.h"

#include "ops/target/look.h"
#include "ops/target/run.h"

#include <errno.h>

static int no_unwinder(const struct session *s, struct err *err)
{
	err_raise(err, ERROR_COMPILER_UNWINDER, SESSION_ARGS(s));
	return err_advise(err, FIX_OTHER_UNWINDER_OR_FORCE);
}

static int unknown_unwinder(const struct session *s, struct err *err)
{
	err_raise(err, ERROR_UNWINDER_NOT_KNOWN, SESSION_ARGS(s));
	return err_advise(err, FIX_SEE_HOW_BUILT_OR_FORCE);
}

/*
 * libgcc's unwinder aborts the program when a frame of LuaJIT's compiled code is on the stack.
 * Seen with knot-resolver 5.6 and jemalloc 5.3.0 of Debian 12, with profiling active from its
 * start.
 */
int sampling_may_unwind(const struct session *s, enum jemalloc_unwinder unwinder, struct err *err)
{
	if (unwinder == UNWINDER_COMPILER)
		return no_unwinder(s, err);
	if (unwinder == UNWINDER_UNKNOWN)
		return unknown_unwinder(s, err);
	if (unwinder != UNWINDER_LIBGCC || !s->luajit)
		return 0;
	err_raise(err, ERROR_LUAJIT_MAY_ABORT, SESSION_ARGS(s));
	return err_advise(err, FIX_FORCE_OR_LIBUNWIND);
}

/*
 * A thread that sees a stack for the first time may have to let its table of stacks grow:
 * prof_lookup() does that with the thread's tdata->lock held (ckh_insert()). If the memory for it
 * is a new maximum, the dump is made there and then, by the same thread, and takes that lock once
 * more. Seen with jemalloc 4.5.0, 5.2.1, 5.3.0 and 5.3.1, each within 300 dumps.
 */
int sampling_may_gdump(const struct session *s, struct err *err)
{
	err_raise(err, ERROR_GDUMP_MAY_DEADLOCK, SESSION_ARGS(s));
	return err_advise(err, FIX_RECORD_INTERVAL_OR_FORCE);
}

/* Names that this jemalloc does not have, as config.prof_frameptr before 5.3.1, are false. */
static enum tristate answer_or_no(const struct call *call)
{
	return call->made && call->ret == ENOENT ? TRI_NO : call_answer(call);
}

static int ask_sampling(struct session *s, enum jemalloc_unwinder *unwinder, enum tristate *gdump,
			struct err *err)
{
	unsigned char libgcc = 0, libunwind = 0, frameptr = 0, dumps = 0;
	struct call calls[] = {
		call_read("config.prof_libgcc", &libgcc, sizeof(libgcc)),
		call_read("config.prof_libunwind", &libunwind, sizeof(libunwind)),
		call_read("config.prof_frameptr", &frameptr, sizeof(frameptr)),
		call_read("opt.prof_gdump", &dumps, sizeof(dumps)),
	};
	const size_t n = sizeof(calls) / sizeof(*calls);

	for (size_t i = 0; i < n; i++)
		calls[i].flags |= CALL_KEEP_GOING;
	if (session_run(s, &(struct run){ .calls = calls, .n = n, .gated = true }, err))
		return -1;
	*unwinder = jemalloc_unwinder(call_answer(&calls[0]), call_answer(&calls[1]),
				      answer_or_no(&calls[2]));
	*gdump = call_answer(&calls[3]);
	return 0;
}

static int not_asked(const struct session *s, struct err *err)
{
	err_raise(err, ERROR_SAMPLING_UNCERTAIN, SESSION_ARGS(s));
	return err_advise(err, FIX_DROP_POKE_OR_FORCE);
}

int sampling_may_begin(struct session *s, struct err *err)
{
	enum jemalloc_unwinder unwinder;
	struct jemalloc_values values;
	enum tristate gdump;

	if (look_values(s, &values, err))
		return session_failed(s, err);
	unwinder = s->je->unwinder;
	gdump = jemalloc_value_is(&values, OPT_PROF_GDUMP);
	/* Where opt.prof is false, that is what the calls fail with. */
	if (!unwinder || gdump == TRI_UNKNOWN || jemalloc_value_is(&values, OPT_PROF) == TRI_NO) {
		if (!s->inj)
			return not_asked(s, err);
		if (ask_sampling(s, &unwinder, &gdump, err))
			return -1;
	}
	if (sampling_may_unwind(s, unwinder, err))
		return -1;
	return gdump == TRI_NO ? 0 : sampling_may_gdump(s, err);
}
