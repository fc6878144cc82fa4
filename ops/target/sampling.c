// SPDX-License-Identifier: Apache-2.0
#include "ops/target/sampling.h"

#include "ops/target/look.h"
#include "ops/target/run.h"
#include "process/hierarchy.h"
#include "process/room.h"

#include <errno.h>

/*
 * libgcc's unwinder aborts the program when a frame of LuaJIT's compiled code is on the stack. Seen
 * with knot-resolver 5.6 and jemalloc 5.3.0 of Debian 12, with profiling active from its start.
 */
int sampling_may_unwind(const struct session *s, enum jemalloc_unwinder unwinder, struct err *err)
{
	if (unwinder == UNWINDER_COMPILER) {
		err_raise(err, ERROR_COMPILER_UNWINDER, SESSION_ARGS(s));
		return err_advise(err, FIX_OTHER_UNWINDER_OR_FORCE);
	}
	if (unwinder == UNWINDER_UNKNOWN) {
		err_raise(err, ERROR_UNWINDER_NOT_KNOWN, SESSION_ARGS(s));
		return err_advise(err, FIX_SEE_HOW_BUILT_OR_FORCE);
	}
	if (unwinder != UNWINDER_LIBGCC || !s->luajit)
		return 0;
	err_raise(err, ERROR_LUAJIT_MAY_ABORT, SESSION_ARGS(s));
	return err_advise(err, FIX_FORCE_OR_LIBUNWIND);
}

/*
 * A thread that sees a stack for the first time may have to grow its table of stacks: prof_lookup()
 * does that with the thread's tdata->lock held (ckh_insert()). If the memory for it is a new
 * maximum, the same thread makes the dump right there, and takes that lock a second time. Seen with
 * jemalloc 4.5.0, 5.2.1, 5.3.0 and 5.3.1, each within 300 dumps.
 */
int sampling_may_gdump(const struct session *s, struct err *err)
{
	err_raise(err, ERROR_GDUMP_MAY_DEADLOCK, SESSION_ARGS(s));
	return err_advise(err, FIX_RECORD_INTERVAL_OR_FORCE);
}

/*
 * A small sampled object gets pages of its own (arena_prof_promote(), from 4.0 on): 16 KiB whatever
 * its size, and one more page for its offset in them (opt.cache_oblivious). In addition there are
 * the records of threads and stacks, for which jemalloc requests 2 MiB and more at once.
 */
#define SAMPLE_BYTES (20u << 10)
#define RECORDS_BYTES (4u << 20)

/* An upper bound: all of its memory, freed and reallocated as small objects. */
int sampling_has_room(const struct session *s, uint64_t lg_sample, struct err *err)
{
	static const enum room_of kinds[] = { ROOM_ADDRESSES, ROOM_DATA, ROOM_MEMORY };
	uint64_t samples = lg_sample < 64 ? s->proc.status.rss_anon_bytes >> lg_sample : 0;
	uint64_t need = RECORDS_BYTES + samples * SAMPLE_BYTES;
	struct room room;

	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
		if (!room_left(kinds[i], &s->proc, &room) || room.left >= need)
			continue;
		err_raise(err, ERROR_SAMPLING_WITHOUT_ROOM, SESSION_ARGS(s),
			  .text = room_text(kinds[i]), .name = room.name,
			  .size = (int64_t)room.left, .max = (int64_t)room.limit,
			  .need = (int64_t)need);
		return err_advise(err, FIX_ROOM_TO_SAMPLE_OR_FORCE);
	}
	return 0;
}

void sampling_warn_hidden(const struct session *s, struct err *warning)
{
	bool mounted;

	if (warning->ids[0] || !room_is_hidden(&s->proc))
		return;
	mounted = hierarchies_here()->n > 0;
	err_raise(warning, ERROR_LIMITS_HIDDEN, SESSION_ARGS(s),
		  .text = mounted ? "private cgroup namespace" : "no control groups are mounted");
	err_advise(warning, mounted ? FIX_SEE_ALL_GROUPS : FIX_MOUNT_GROUPS);
	err_explain(warning);
	if (!warning->own)
		return;
	err_within(warning, ERROR_LIMITS_UNREAD, SESSION_ARGS(s));
	warning->code = ERR_NONE;
}

/* From 5.2.0 on, a thread does not read the rate before its next sample: bytes_until_sample. */
void sampling_warn_finer(const struct session *s, uint64_t before, uint64_t after,
			 struct err *warning)
{
	if (!warning->ids[0] && after < before && before < 63 && !session_older(s, 5, 2, 0))
		err_raise(warning, ERROR_FINER_LATER, .size = INT64_C(1) << before);
}

int sampling_may_be_finer(struct session *s, uint64_t lg_sample, struct err *err)
{
	uint64_t now = 0;
	bool active = false;
	struct call calls[] = {
		call_read("prof.lg_sample", &now, sizeof(now)),
		call_read("prof.active", &active, sizeof(active)),
	};

	if (!sampling_has_room(s, lg_sample, err))
		return 0;
	*err = (struct err)ERR_INIT;
	if (session_run(s, &(struct run){ .calls = calls, .n = 2, .gated = true }, err))
		return -1;
	for (size_t i = 0; i < 2; i++)
		if (!call_succeeded(&calls[i]))
			return session_call_failed(s, &calls[i], err);
	return active && lg_sample < now ? sampling_has_room(s, lg_sample, err) : 0;
}

#define LG_SAMPLE_DEFAULT 19

/* The rate at start may have been changed since (prof.reset): the current one is asked last. */
static int has_room(struct session *s, const struct jemalloc_values *values, int wanted,
		    struct err *err)
{
	uint64_t lg = wanted;
	struct call call = call_read("prof.lg_sample", &lg, sizeof(lg));
	struct err ignored = ERR_INIT;

	if (values->prof_active == TRI_YES)
		return 0;
	if (wanted == OPS_LG_KEEP)
		lg = values->opt[OPT_LG_PROF_SAMPLE].known
			     ? (uint64_t)values->opt[OPT_LG_PROF_SAMPLE].value
			     : LG_SAMPLE_DEFAULT;
	if (!sampling_has_room(s, lg, err))
		return 0;
	if (wanted != OPS_LG_KEEP || !s->inj ||
	    session_run(s, &(struct run){ .calls = &call, .n = 1, .gated = true }, &ignored) ||
	    !call_succeeded(&call))
		return -1;
	*err = (struct err)ERR_INIT;
	return sampling_has_room(s, lg, err);
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
	const struct run run = { .calls = calls,
				 .n = sizeof(calls) / sizeof(*calls),
				 .keep_going = true,
				 .gated = true };
	enum tristate frames;

	if (session_run(s, &run, err))
		return -1;
	/* Names that this jemalloc lacks, as config.prof_frameptr before 5.3.1, are false. */
	frames = calls[2].made && calls[2].ret == ENOENT ? TRI_NO : call_answer(&calls[2]);
	*unwinder = jemalloc_unwinder(call_answer(&calls[0]), call_answer(&calls[1]), frames);
	*gdump = call_answer(&calls[3]);
	return 0;
}

int sampling_may_begin(struct session *s, int lg_sample, struct err *err)
{
	enum jemalloc_unwinder unwinder;
	struct jemalloc_values values;
	enum tristate gdump;

	if (look_values(s, &values, err))
		return session_failed(s, err);
	unwinder = s->je->unwinder;
	gdump = jemalloc_value_is(&values, OPT_PROF_GDUMP);
	/* If opt.prof is false, the calls fail with that. */
	if (!unwinder || gdump == TRI_UNKNOWN || jemalloc_value_is(&values, OPT_PROF) == TRI_NO) {
		if (!s->inj) {
			err_raise(err, ERROR_SAMPLING_UNCERTAIN, SESSION_ARGS(s));
			return err_advise(err, FIX_DROP_POKE_OR_FORCE);
		}
		if (ask_sampling(s, &unwinder, &gdump, err))
			return -1;
	}
	if (sampling_may_unwind(s, unwinder, err) ||
	    (gdump != TRI_NO && sampling_may_gdump(s, err)))
		return -1;
	return has_room(s, &values, lg_sample, err);
}
