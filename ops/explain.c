// SPDX-License-Identifier: Apache-2.0
/* Where the memory of a process is: what jemalloc counts, within what the kernel does. */
#include "ops/ops.h"

#include "base/cleanup.h"
#include "ops/target/memory.h"
#include "ops/target/open.h"
#include "ops/target/run.h"
#include "process/limit.h"
#include "sandbox/confined.h"

#include <string.h>

#define ANSWER_MAX ((size_t)64 << 10)

/* What is worth a word: so much of it, and such a part of all. */
#define WORTH_BYTES (INT64_C(16) << 20)
#define WORTH_PART 10
#define WORTH_BOUND 100 /* how uncertain a part may be before that is said */
#define FEW_ARENAS 4	/* as many as advised */

/* --- jemalloc's numbers --- */

/* As mallctl returns them. Those of all arenas (4096, MALLCTL_ARENAS_ALL) are of 5.0 and newer. */
struct numbers {
	uint64_t allocated, active, metadata, resident, mapped, retained, page;
	uint64_t dirty, muzzy, internal, tcache; /* the first two in pages */
	int64_t dirty_decay_ms;
	uint32_t arenas;
	bool background;
	bool has_pages; /* dirty and muzzy are known */
	char dss[16];
};

static int count(struct session *s, struct numbers *n, struct err *err)
{
	static const uint64_t epoch = 1;
	struct call calls[] = {
		call_write("epoch", &epoch, sizeof(epoch)),
		call_read("stats.allocated", &n->allocated, sizeof(n->allocated)),
		call_read("stats.active", &n->active, sizeof(n->active)),
		call_read("stats.metadata", &n->metadata, sizeof(n->metadata)),
		call_read("stats.resident", &n->resident, sizeof(n->resident)),
		call_read("stats.mapped", &n->mapped, sizeof(n->mapped)),
		call_read("stats.retained", &n->retained, sizeof(n->retained)),
		call_read("arenas.page", &n->page, sizeof(n->page)),
		call_read("stats.arenas.4096.pdirty", &n->dirty, sizeof(n->dirty)),
		call_read("stats.arenas.4096.pmuzzy", &n->muzzy, sizeof(n->muzzy)),
		call_read("stats.arenas.4096.internal", &n->internal, sizeof(n->internal)),
		call_read("stats.arenas.4096.tcache_bytes", &n->tcache, sizeof(n->tcache)),
		call_read("arenas.dirty_decay_ms", &n->dirty_decay_ms, sizeof(n->dirty_decay_ms)),
		call_read("arenas.narenas", &n->arenas, sizeof(n->arenas)),
		call_read("background_thread", &n->background, sizeof(n->background)),
		call_read_string("opt.dss", n->dss, sizeof(n->dss)),
	};
	const size_t len = sizeof(calls) / sizeof(*calls);

	_Static_assert(sizeof(calls) / sizeof(*calls) <= SESSION_CALLS_MAX, "one run");
	for (size_t i = 0; i < len; i++)
		calls[i].flags |= CALL_KEEP_GOING;
	if (session_run(s, &(struct run){ .calls = calls, .n = len }, err))
		return -1;
	if (!call_succeeded(&calls[1]) || !call_succeeded(&calls[2]) || !call_succeeded(&calls[7]))
		return err_raise(err, ERROR_NOT_COUNTED, SESSION_ARGS(s));
	n->has_pages = call_succeeded(&calls[8]);
	return 0;
}

/* --- the kernel's --- */

struct work {
	pid_t pid;
	struct memory_stacks stacks;
};

static void work_fini(struct work *w)
{
	memory_stacks_fini(&w->stacks);
}

static void read_memory(void *ctx)
{
	_cleanup_(pack_fini) struct pack answer = { 0 };
	const struct work *w = ctx;
	struct err err = ERR_INIT;
	struct memory m;
	int failed = memory_read(&m, w->pid, &w->stacks, &err);

	if (!failed)
		memory_pack(&m, &answer);
	confined_reply(failed, &err, &answer, -1);
}

static int look(struct session *s, struct memory *m, struct err *err)
{
	_cleanup_(confined_end) struct confined c = CONFINED_INIT;
	_cleanup_(work_fini) struct work work = { .pid = s->proc.mm_pid };
	const struct confined_options options = {
		.what = "read its mappings",
		.policy = { .pid = s->proc.mm_pid, .pidfd = s->proc.pidfd },
	};
	struct unpack answer;

	if (memory_stacks(&work.stacks, s->proc.pid, err) ||
	    confined_start(&c, &options, read_memory, &work, err) ||
	    confined_answer(&c, session_left_ms(s), ANSWER_MAX, &answer, NULL, err))
		return -1;
	memory_unpack(m, &answer);
	if (!unpack_done(&answer))
		return err_raise(err, ERROR_MEMORY_MALFORMED);
	return 0;
}

/* --- the parts --- */

static int64_t at_most(uint64_t a, uint64_t b)
{
	return (int64_t)(a < b ? a : b);
}

static int64_t beyond(uint64_t a, uint64_t b)
{
	return at_most(a > b ? a - b : 0, INT64_MAX);
}

/*
 * Numbers of a process that goes on, read one after the other, need not fit each other: each part
 * is what the next larger one leaves to it. A target may say anything; nothing is larger than what
 * is resident, or than its address space.
 */
static void split_own(const struct numbers *n, struct ops_explain *e)
{
	const uint64_t most = UINT64_C(1) << 56;
	uint64_t active = (uint64_t)at_most(n->active, most), page = n->page;
	uint64_t allocated = (uint64_t)at_most(n->allocated, active);
	uint64_t metadata = (uint64_t)at_most(n->metadata, most);
	/* Of the metadata, this counts as allocated, too, and is in no profile. */
	uint64_t internal = (uint64_t)at_most(n->internal, at_most(metadata, allocated));
	uint64_t tcache = (uint64_t)at_most(n->tcache, allocated - internal);
	uint64_t dirty = (uint64_t)beyond((uint64_t)at_most(n->resident, most),
					  active + metadata - internal);
	uint64_t muzzy = 0;

	if (n->has_pages && page && page <= most) {
		dirty = n->dirty <= most / page ? n->dirty * page : 0;
		muzzy = n->muzzy <= most / page ? n->muzzy * page : 0;
	}
	e->parts[OPS_PART_ALLOCATED] = (int64_t)(allocated - internal - tcache);
	e->parts[OPS_PART_TCACHE] = (int64_t)tcache;
	e->parts[OPS_PART_FRAGMENTED] = (int64_t)(active - allocated);
	e->parts[OPS_PART_DIRTY] = (int64_t)dirty;
	e->parts[OPS_PART_MUZZY] = (int64_t)muzzy;
	e->parts[OPS_PART_METADATA] = (int64_t)metadata;
}

/*
 * So much address space of the kind that jemalloc takes is not its own. What may not be accessed is
 * not resident; jemalloc retains such memory where vm.overcommit_memory is 2.
 */
static uint64_t others_at_most(const struct numbers *n, const struct ops_explain *e, bool dss)
{
	const struct memory_part *kinds = e->memory.kinds;
	uint64_t retained = (uint64_t)at_most(n->retained, INT64_MAX / 2);
	uint64_t mapped = (uint64_t)at_most(n->mapped, INT64_MAX / 2);
	uint64_t size = kinds[MEMORY_ANONYMOUS].size - e->memory.barred;

	if (!e->counted)
		return size;
	size += dss ? kinds[MEMORY_HEAP].size : 0;
	return (uint64_t)beyond(size + (uint64_t)at_most(retained, e->memory.barred),
				mapped + retained);
}

/*
 * jemalloc's pages are among the anonymous ones. Where they have its name, that says how many.
 * Where not, others have at least what jemalloc does not count, as some of what it counts may never
 * have been used; and at most the address space that it does not count.
 */
static void split(const struct numbers *n, struct ops_explain *e)
{
	const struct memory_part *kinds = e->memory.kinds;
	int64_t named = (int64_t)kinds[MEMORY_JEMALLOC].rss;
	int64_t pool = (int64_t)kinds[MEMORY_ANONYMOUS].rss, own = 0;
	int64_t heap = (int64_t)kinds[MEMORY_HEAP].rss;
	bool dss = e->counted && !strcmp(n->dss, "primary"); /* it takes from brk(2) first */
	uint64_t others = others_at_most(n, e, dss);

	e->parts[OPS_PART_STACKS] = (int64_t)kinds[MEMORY_STACK].rss;
	e->parts[OPS_PART_DATA] = (int64_t)kinds[MEMORY_DATA].rss;
	e->parts[OPS_PART_FILES] = (int64_t)kinds[MEMORY_FILE].rss;
	e->parts[OPS_PART_SHARED] = (int64_t)kinds[MEMORY_SHARED].rss;
	if (e->counted)
		split_own(n, e);
	for (int i = 0; i < OPS_PART_UNCOUNTED; i++)
		own += e->parts[i];
	if (dss) {
		*(named ? &named : &pool) += heap;
		heap = 0;
	}
	e->parts[OPS_PART_HEAP] = heap;
	if (named)
		e->parts[OPS_PART_UNCOUNTED] = named - own;
	else if (own > pool || pool - own > (int64_t)others)
		e->parts[OPS_PART_UNCOUNTED] =
			own > pool ? pool - own : pool - own - (int64_t)others;
	e->parts[OPS_PART_ANONYMOUS] = named ? pool : pool - own - e->parts[OPS_PART_UNCOUNTED];
	e->anonymous_max = named ? (uint64_t)pool : (uint64_t)at_most((uint64_t)pool, others);
}

/* --- advice --- */

static bool is_worth(const struct ops_explain *e, int64_t bytes)
{
	return bytes >= WORTH_BYTES && bytes >= (int64_t)e->memory.rss / WORTH_PART;
}

uint64_t ops_explain_up_to(const struct ops_explain *e)
{
	uint64_t least = (uint64_t)e->parts[OPS_PART_ANONYMOUS];

	return e->anonymous_max > least + e->memory.rss / WORTH_BOUND ? e->anonymous_max : 0;
}

static void say_anonymous(const struct ops_explain *e, struct err *a)
{
	static const struct {
		const char *name;
		enum fix fix;
	} runtimes[RUNTIMES] = {
		[RUNTIME_PYTHON] = { "Python", FIX_PYTHON_MALLOC },
		[RUNTIME_JAVA] = { "the Java virtual machine", FIX_JAVA_MEMORY },
		[RUNTIME_V8] = { "V8", FIX_V8_MEMORY },
		[RUNTIME_GO] = { "Go", FIX_GO_MEMORY },
		[RUNTIME_DOTNET] = { ".NET", FIX_DOTNET_MEMORY },
		[RUNTIME_RUBY] = { "Ruby", FIX_RUBY_MEMORY },
		[RUNTIME_PHP] = { "PHP", FIX_PHP_MEMORY },
		[RUNTIME_ERLANG] = { "Erlang", FIX_ERLANG_MEMORY },
		[RUNTIME_INNODB] = { "InnoDB", FIX_INNODB_MEMORY },
		[RUNTIME_LUAJIT] = { "LuaJIT", FIX_LUAJIT_MEMORY },
	};
	int64_t bytes = e->parts[OPS_PART_ANONYMOUS], all = (int64_t)e->memory.rss;
	enum memory_runtime runtime = e->memory.runtime;
	int64_t most = (int64_t)ops_explain_up_to(e);

	if (!e->counted && e->why_not.code != ERR_NOJEMALLOC) {
		err_raise(a, ERROR_MEMORY_UNSPLIT, .size = bytes, .max = all);
		return;
	}
	if (!runtime) {
		err_raise(a, ERROR_MEMORY_OF_OTHERS, .size = bytes, .need = most, .max = all);
		return;
	}
	err_raise(a, ERROR_MEMORY_OF_RUNTIME, .size = bytes, .need = most, .max = all,
		  .name = runtimes[runtime].name);
	err_advise(a, runtimes[runtime].fix);
}

/*
 * A part, and what could be done about it. What is said of jemalloc's is what its TUNING.md and its
 * manual say.
 */
static bool say(const struct ops_explain *e, const struct numbers *n, enum ops_part part,
		struct err *a)
{
	static const struct {
		enum error says;
		enum fix fix;
	} parts[OPS_PARTS] = {
		[OPS_PART_ALLOCATED] = { ERROR_MEMORY_IS_ALLOCATED, FIX_SEE_WHO_ALLOCATED },
		[OPS_PART_TCACHE] = { ERROR_MEMORY_IS_CACHED, FIX_SMALLER_CACHES },
		[OPS_PART_FRAGMENTED] = { ERROR_MEMORY_IS_FRAGMENTED, FIX_FEWER_ARENAS },
		[OPS_PART_DIRTY] = { ERROR_MEMORY_IS_FREE, FIX_DECAY_IN_BACKGROUND },
		[OPS_PART_MUZZY] = { ERROR_MEMORY_IS_MUZZY, FIX_NO_MUZZY_PAGES },
		[OPS_PART_METADATA] = { ERROR_MEMORY_IS_METADATA, FIX_FEWER_ARENAS },
		[OPS_PART_UNCOUNTED] = { ERROR_MEMORY_IS_UNCOUNTED, FIX_NO_HUGE_PAGES },
		[OPS_PART_HEAP] = { ERROR_MEMORY_IS_HEAP, FIX_NONE },
		[OPS_PART_STACKS] = { ERROR_MEMORY_IS_STACKS, FIX_NONE },
		[OPS_PART_DATA] = { ERROR_MEMORY_IS_DATA, FIX_NONE },
		[OPS_PART_FILES] = { ERROR_MEMORY_IS_FILES, FIX_NONE },
		[OPS_PART_SHARED] = { ERROR_MEMORY_IS_SHARED, FIX_NONE },
	};
	int64_t size = e->parts[part], all = (int64_t)e->memory.rss;
	int64_t missing = -e->parts[OPS_PART_UNCOUNTED];
	enum fix fix = parts[part].fix;

	if (part == OPS_PART_ANONYMOUS) {
		say_anonymous(e, a);
		return true;
	}
	if (part == OPS_PART_DIRTY && (n->background || n->dirty_decay_ms < 0))
		fix = FIX_DECAY_SOONER;
	if (part == OPS_PART_DIRTY && !n->has_pages) /* 4.x has other options */
		fix = FIX_NONE;
	if (fix == FIX_FEWER_ARENAS && n->arenas <= FEW_ARENAS)
		fix = FIX_NONE;
	if (part != OPS_PART_ALLOCATED && size > all)
		size = all;
	err_raise(a, parts[part].says, .size = size, .max = all, .count = n->arenas,
		  .need = missing <= all / WORTH_BOUND ? 0
			  : missing < size	       ? missing
						       : size);
	if (fix)
		err_advise(a, fix, .pid = e->cost.pid);
	return fix;
}

/* The largest part first, whatever it is; then those about which something can be done. */
static void give_advice(struct ops_explain *e, const struct numbers *n)
{
	int64_t last = INT64_MAX;

	while (e->n_advice < OPS_ADVICE_MAX) {
		enum ops_part next = OPS_PARTS;

		for (enum ops_part i = 0; i < OPS_PARTS; i++)
			if (e->parts[i] < last &&
			    (next == OPS_PARTS || e->parts[i] > e->parts[next]))
				next = i;
		if (next == OPS_PARTS || (e->n_advice && !is_worth(e, e->parts[next])))
			return;
		last = e->parts[next];
		e->n_advice += say(e, n, next, &e->advice[e->n_advice]) || !e->n_advice;
	}
}

const char *ops_part_name(enum ops_part part)
{
	static const char *const names[OPS_PARTS] = {
		[OPS_PART_ALLOCATED] = "allocated",
		[OPS_PART_TCACHE] = "thread_caches",
		[OPS_PART_FRAGMENTED] = "fragmented",
		[OPS_PART_DIRTY] = "dirty",
		[OPS_PART_MUZZY] = "muzzy",
		[OPS_PART_METADATA] = "metadata",
		[OPS_PART_UNCOUNTED] = "uncounted",
		[OPS_PART_ANONYMOUS] = "anonymous",
		[OPS_PART_HEAP] = "heap",
		[OPS_PART_STACKS] = "stacks",
		[OPS_PART_DATA] = "data",
		[OPS_PART_FILES] = "files",
		[OPS_PART_SHARED] = "shared",
	};

	return names[part];
}

/* What can be said without jemalloc's numbers is said without them. */
static int ask_jemalloc(struct session *s, struct numbers *n, struct ops_explain *e,
			struct err *err)
{
	if (!session_find_jemalloc(s, &e->why_not) && !session_open_injector(s, &e->why_not) &&
	    !count(s, n, &e->why_not)) {
		e->counted = true;
		return 0;
	}
	if (e->why_not.code != ERR_LOST && e->why_not.code != ERR_NOPROC)
		return 0;
	*err = e->why_not;
	return -1;
}

int ops_explain(pid_t pid, const struct ops_options *options, struct ops_explain *out,
		struct err *err)
{
	_cleanup_(session_close) struct session s = SESSION_INIT;
	struct numbers n = { .dirty_decay_ms = -1 };
	struct limit limit;

	*out = (struct ops_explain){ .counted = false };
	if (session_open_proc(&s, pid, options, err) || session_may_trace(&s, err) ||
	    ask_jemalloc(&s, &n, out, err) || look(&s, &out->memory, err))
		return -1;
	out->cost = s.cost;
	out->allocated = n.allocated;
	out->active = n.active;
	out->resident = n.resident;
	out->mapped = n.mapped;
	out->retained = n.retained;
	out->limited = limit_of_cgroup(pid, &limit);
	if (out->limited) {
		out->limit = limit.limit;
		out->used = limit.used;
	}
	split(&n, out);
	give_advice(out, &n);
	return 0;
}
