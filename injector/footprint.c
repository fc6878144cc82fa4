// SPDX-License-Identifier: Apache-2.0
#include "injector/check.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/text.h"
#include "process/room.h"

#include <stdio.h>
#include <string.h>

#define MIB (UINT64_C(1) << 20)

/*
 * One arena: its first block, 2 MiB aligned to 2 MiB, for which twice as much is reserved
 * (base_block_alloc()), and the first extents, 2 MiB and 2.5 MiB (extent_grow_retained()). At most
 * 4 MiB as measured by tests/matrix/footprint.t, with jemalloc 5.2.1 to 5.3.1.
 */
#define ARENA_BYTES (8 * MIB)
#define ARENA_MEMORY (MIB / 2)
#define ARENA_MAPPINGS 12
#define THREAD_MEMORY (MIB / 2)
#define THREAD_MAPPINGS 4
#define FILE_MEMORY (4 * MIB) /* enough for typical profiles */
#define MAPPED_MAX MIB	      /* what stays mapped */
#define MAPPED_MAPPINGS 4
#define DEFAULT_STACK (2 * MIB) /* glibc's, if RLIMIT_STACK is unlimited */

struct need {
	uint64_t of[ROOM_KINDS];
};

static bool is_bytes(enum room_of kind)
{
	return kind != ROOM_TASKS && kind != ROOM_MAPPINGS;
}

static void add_bytes(struct need *need, uint64_t bytes)
{
	need->of[ROOM_ADDRESSES] += bytes;
	need->of[ROOM_DATA] += bytes;
}

static void add_arena(struct need *need)
{
	add_bytes(need, ARENA_BYTES);
	need->of[ROOM_MEMORY] += ARENA_MEMORY;
	need->of[ROOM_MAPPINGS] += ARENA_MAPPINGS;
}

/* Its stack has the C library's default size, taken from the limit at the start of the program. */
static void add_background_thread(const struct injector *inj, struct need *need)
{
	add_bytes(need, inj->stack_limit == RLIM_INFINITY ? DEFAULT_STACK : inj->stack_limit);
	need->of[ROOM_TASKS]++;
	need->of[ROOM_MEMORY] += THREAD_MEMORY;
	need->of[ROOM_MAPPINGS] += THREAD_MAPPINGS;
}

static bool has_background_threads(const struct injector *inj)
{
	_cleanup_(cleanup_free) pid_t *tids = NULL;
	struct err ignored = ERR_INIT;
	struct proc_status st;
	size_t n = 0;

	if (proc_threads(inj->p->pid, &tids, &n, &ignored) < 0)
		return true;
	for (size_t i = 0; i < n; i++)
		if (proc_thread_status(inj->p->pid, tids[i], &st, &ignored) == 0 &&
		    jemalloc_is_background(st.comm))
			return true;
	return false;
}

/* What calls write to memory files, which are charged to the target, in bytes. */
static uint64_t file_memory(const struct call *calls, size_t n)
{
	uint64_t most = FILE_MEMORY;

	for (size_t i = 0; i < n; i++)
		if (calls[i].file_bytes > most)
			most = calls[i].file_bytes;
	return most;
}

/*
 * The maximum: the thread that creates the helper may be calling jemalloc for the first time, too.
 */
static struct need need_of(const struct injector *inj, enum injector_mode mode,
			   const struct call *calls, size_t n, bool background)
{
	struct need need = { 0 };
	unsigned int arenas = mode == INJECTOR_THREAD ? 2 : 1;

	for (unsigned int i = 0; i < arenas; i++) {
		add_arena(&need);
		if (background)
			add_background_thread(inj, &need);
	}
	if (mode != INJECTOR_THREAD)
		return need;
	add_bytes(&need, STACK_SIZE + GUARD_SIZE);
	need.of[ROOM_TASKS]++;
	need.of[ROOM_MAPPINGS] += THREAD_MAPPINGS;
	need.of[ROOM_MEMORY] += THREAD_MEMORY;
	if (calls_want_file(calls, n))
		need.of[ROOM_MEMORY] += file_memory(calls, n);
	if (calls_want_map(calls, n)) {
		add_bytes(&need, MAPPED_MAX);
		need.of[ROOM_MAPPINGS] += MAPPED_MAPPINGS;
	}
	return need;
}

static int too_little(enum room_of kind, const struct room *room, uint64_t need,
		      enum injector_mode mode, const struct call *calls, size_t n, struct err *err)
{
	const char *what = mode == INJECTOR_THREAD ? "a thread" : "an arena for a thread";

	if (is_bytes(kind))
		err_raise(err, ERROR_NO_ROOM_BYTES, .what = what, .text = room_text(kind),
			  .name = room->name, .size = (int64_t)room->left,
			  .max = (int64_t)room->limit, .need = (int64_t)need);
	else
		err_raise(err, ERROR_NO_ROOM_COUNT, .what = what, .text = room_text(kind),
			  .name = room->name, .number = (int64_t)room->left,
			  .limit = (int64_t)room->limit, .count = (int64_t)need);
	if (mode != INJECTOR_THREAD)
		return err_advise(err, FIX_RAISE_THAT_LIMIT);
	err_advise(err, FIX_RAISE_LIMIT_OR_DO_WITHOUT);
	return err_advise_too(err, check_without_thread(calls, n));
}

static bool find_room(const struct injector *inj, enum room_of kind, struct room *room)
{
	return kind == ROOM_MAPPINGS ? room_mappings(inj->cs.n_mappings, room)
				     : room_left(kind, inj->p, room);
}

int footprint_check(const struct injector *inj, enum injector_mode mode, const struct call *calls,
		    size_t n, struct err *err)
{
	const struct need plain = need_of(inj, mode, calls, n, false);
	const struct need most = need_of(inj, mode, calls, n, true);
	enum tristate background = TRI_UNKNOWN;

	for (enum room_of kind = 0; kind < ROOM_KINDS; kind++) {
		struct room room;
		uint64_t need;

		if (!find_room(inj, kind, &room) || room.left >= most.of[kind])
			continue;
		if (background == TRI_UNKNOWN)
			background = has_background_threads(inj) ? TRI_YES : TRI_NO;
		need = background == TRI_YES ? most.of[kind] : plain.of[kind];
		if (room.left < need)
			return too_little(kind, &room, need, mode, calls, n, err);
	}
	return 0;
}

/* Names that, unless only read, may take long, hold locks for long, or create threads. */
static const char *const long_calls[] = {
	"arena.",
	"arenas.create",
	"background_thread",
	"experimental.",
	"max_background_threads",
	"prof.dump",
	"prof.log",
	"prof.reset",
};

bool footprint_is_short(const struct call *calls, size_t n)
{
	if (calls_want_file(calls, n))
		return false;
	for (size_t i = 0; i < n; i++) {
		const struct call *c = &calls[i];

		if (text_begins(c->name, "thread.")) /* the helper thread would answer for itself */
			return false;
		for (size_t k = 0; k < sizeof(long_calls) / sizeof(*long_calls); k++)
			if ((c->new || !c->old) && text_begins(c->name, long_calls[k]))
				return false;
	}
	return true;
}

enum tristate footprint_has_data(const struct tracer *t, pid_t tid, const struct arch_regs *regs)
{
	const struct jemalloc_tsd *tsd = &t->inj->cs.tsd;
	struct err ignored = ERR_INIT;
	uint8_t state;

	if (!tsd->is_known ||
	    mem_read(t, arch_tls(regs) + (uint64_t)tsd->state, &state, sizeof(state), &ignored) < 0)
		return tid == t->inj->p->pid ? TRI_YES : TRI_UNKNOWN;
	if (jemalloc_tsd_in_use(tsd, state))
		return TRI_YES;
	return state == tsd->fresh ? TRI_NO : TRI_UNKNOWN;
}

bool footprint_may_borrow(struct tracer *t, enum tristate has_data)
{
	if (has_data == TRI_YES || (has_data == TRI_UNKNOWN && t->mode == INJECTOR_THREAD))
		return true;
	if (t->only && has_data == TRI_NO)
		return false;
	if (t->may_grow && (t->only || t->grows))
		return true;
	t->passed_over = true;
	return false;
}
