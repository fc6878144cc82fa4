// SPDX-License-Identifier: Apache-2.0
#include "ops/target/sampling.h"

#include "ops/target/look.h"
#include "ops/target/run.h"

#include <errno.h>

static int no_unwinder(const char *who, struct err *err)
{
	err_set(err, ERR_FAILED,
		"jemalloc takes stacks in %s by what the compiler offers (--enable-prof-gcc): code "
		"without frame pointers ends the program when it is sampled",
		who);
	return err_fix(err, "use a jemalloc built with libgcc's unwinder or with libunwind "
			    "(config.prof_libgcc, config.prof_libunwind); where all code has frame "
			    "pointers: activate --force");
}

static int unknown_unwinder(const char *who, struct err *err)
{
	err_set(err, ERR_FAILED,
		"how jemalloc takes stacks in %s is not known: in some builds that ends the "
		"program",
		who);
	return err_fix(err, "see how it was built; take the risk with activate --force");
}

/*
 * libgcc's unwinder aborts the program when a frame of LuaJIT's compiled code is on the stack.
 * Seen with knot-resolver 5.6 and jemalloc 5.3.0 of Debian 12, with profiling active from its
 * start.
 */
int sampling_may_unwind(const struct session *s, enum jemalloc_unwinder unwinder, struct err *err)
{
	char who[SESSION_WHO_SIZE];

	if (unwinder == UNWINDER_COMPILER)
		return no_unwinder(session_who(s, who, sizeof(who)), err);
	if (unwinder == UNWINDER_UNKNOWN)
		return unknown_unwinder(session_who(s, who, sizeof(who)), err);
	if (unwinder != UNWINDER_LIBGCC || !s->luajit)
		return 0;
	err_set(err, ERR_FAILED,
		"%s runs LuaJIT: jemalloc's unwinder (libgcc) may abort it while it samples",
		session_who(s, who, sizeof(who)));
	return err_fix(err, "take the risk with activate --force, or use a jemalloc built with "
			    "--enable-prof-libunwind");
}

/*
 * A thread that sees a stack for the first time may have to let its table of stacks grow:
 * prof_lookup() does that with the thread's tdata->lock held (ckh_insert()). If the memory for it
 * is a new maximum, the dump is made there and then, by the same thread, and takes that lock once
 * more. Seen with jemalloc 4.5.0, 5.2.1, 5.3.0 and 5.3.1, each within 300 dumps.
 */
int sampling_may_gdump(const struct session *s, struct err *err)
{
	char who[SESSION_WHO_SIZE];

	err_set(err, ERR_FAILED,
		"prof.gdump can deadlock %s: jemalloc also dumps where a thread holds a lock that "
		"the dump takes",
		session_who(s, who, sizeof(who)));
	return err_fix(err,
		       "record --interval makes dumps as memory grows, without that risk; take it "
		       "with --force");
}

static enum tristate answer_of(const struct call *call)
{
	if (!call_succeeded(call))
		return TRI_UNKNOWN;
	return *(const unsigned char *)call->old ? TRI_YES : TRI_NO;
}

/* Names that this jemalloc does not have, as config.prof_frameptr before 5.3.1, are false. */
static enum tristate answer_or_no(const struct call *call)
{
	return call->made && call->ret == ENOENT ? TRI_NO : answer_of(call);
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
	*unwinder = jemalloc_unwinder(answer_of(&calls[0]), answer_of(&calls[1]),
				      answer_or_no(&calls[2]));
	*gdump = answer_of(&calls[3]);
	return 0;
}

static int not_asked(const struct session *s, struct err *err)
{
	char who[SESSION_WHO_SIZE];

	err_set(err, ERR_UNSAFE,
		"whether sampling may end %s or hang it cannot be read from its code and memory",
		session_who(s, who, sizeof(who)));
	return err_fix(err, "drop --mode poke to query it by a call; or take the risk with "
			    "--force");
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
