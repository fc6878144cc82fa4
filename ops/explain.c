// SPDX-License-Identifier: Apache-2.0
/* Where the memory of a process is: jemalloc's counts, within those of the kernel. */
#include "ops/explain.h"

#include "base/cleanup.h"
#include "base/json.h"
#include "ops/target/memory.h"
#include "ops/target/open.h"
#include "ops/target/run.h"
#include "process/limit.h"
#include "sandbox/confined.h"

#include <math.h>
#include <string.h>

#define ANSWER_MAX ((size_t)64 << 10)

/* What is worth advice: at least so many bytes, and such a part of the total. */
#define WORTH_BYTES (INT64_C(16) << 20)
#define WORTH_PART 10
#define WORTH_BOUND 100 /* uncertainty of a part that is worth mentioning */
#define FEW_ARENAS 4	/* as many as advised */

/* No target, and no document, has more: sums of a few do not overflow. */
#define BYTES_MAX (UINT64_C(1) << 56)

/* --- jemalloc's numbers --- */

/*
 * As returned by mallctl. Those for all arenas (4096, MALLCTL_ARENAS_ALL) exist in 5.0 and newer.
 */
struct numbers {
	uint64_t allocated, active, metadata, resident, mapped, retained, page;
	uint64_t dirty, muzzy, internal, tcache; /* the first two in pages */
	int64_t dirty_decay_ms;
	uint32_t arenas;
	bool background, prof, sampling;
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
		call_read("opt.prof", &n->prof, sizeof(n->prof)),
		call_read("prof.active", &n->sampling, sizeof(n->sampling)),
	};
	const struct run run = { .calls = calls,
				 .n = sizeof(calls) / sizeof(*calls),
				 .keep_going = true };

	_Static_assert(sizeof(calls) / sizeof(*calls) <= SESSION_CALLS_MAX, "one run");
	if (session_run(s, &run, err))
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
	_cleanup_(confined_end) struct confined c = CONFINED_UNTIL(s->options->stop_fd);
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
 * Numbers of a running process, read one after the other, may contradict each other: each part is
 * limited to what the next larger one leaves. A target may report anything; no part exceeds the
 * resident memory, or the address space.
 */
static void split_own(const struct numbers *n, struct ops_explain *e)
{
	const uint64_t most = BYTES_MAX;
	uint64_t active = (uint64_t)at_most(n->active, most), page = n->page;
	uint64_t allocated = (uint64_t)at_most(n->allocated, active);
	uint64_t metadata = (uint64_t)at_most(n->metadata, most);
	/* This part of the metadata also counts as allocated, and is in no profile. */
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
 * How much address space of the kind used by jemalloc is not its own. Inaccessible memory is not
 * resident; jemalloc retains such memory if vm.overcommit_memory is 2.
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
 * jemalloc's pages are among the anonymous ones. If they have its name, their number is known. If
 * not, others have at least what jemalloc does not count, as some of what it counts may never have
 * been used; and at most the address space that it does not count.
 */
static void split(const struct numbers *n, struct ops_explain *e)
{
	const struct memory_part *kinds = e->memory.kinds;
	int64_t named = (int64_t)kinds[MEMORY_JEMALLOC].rss;
	int64_t pool = (int64_t)kinds[MEMORY_ANONYMOUS].rss, own = 0;
	int64_t heap = (int64_t)kinds[MEMORY_HEAP].rss;
	bool dss = e->counted && !strcmp(n->dss, "primary"); /* brk(2) is its first source */
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

uint64_t ops_explain_up_to(const struct ops_explain *e)
{
	uint64_t least = (uint64_t)e->parts[OPS_PART_ANONYMOUS];

	return e->anonymous_max > least + e->memory.rss / WORTH_BOUND ? e->anonymous_max : 0;
}

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

const char *ops_runtime_name(enum memory_runtime runtime)
{
	return runtimes[runtime].name;
}

/* What may be jemalloc's and could not be separated, or is jemalloc's and was not split. */
static void say_unsplit(const struct ops_explain *e, enum ops_part part, struct err *a)
{
	int64_t bytes = e->parts[part], all = (int64_t)e->memory.rss;

	if (part == OPS_PART_UNCOUNTED)
		err_raise(a, ERROR_MEMORY_OF_JEMALLOC, .size = bytes, .max = all);
	else if (e->why_not.ids[0])
		err_raise(a, ERROR_MEMORY_UNSPLIT, .size = bytes, .max = all);
	else
		err_raise(a, ERROR_MEMORY_UNASKED, .size = bytes, .max = all);
	if (!e->why_not.ids[0] && e->cost.pid)
		err_advise(a, FIX_EXPLAIN_MEMORY, .pid = e->cost.pid);
}

static void say_anonymous(const struct ops_explain *e, struct err *a)
{
	int64_t bytes = e->parts[OPS_PART_ANONYMOUS], all = (int64_t)e->memory.rss;
	enum memory_runtime runtime = e->memory.runtime;
	int64_t most = (int64_t)ops_explain_up_to(e);

	if (!e->counted && e->why_not.code != ERR_NOJEMALLOC) {
		say_unsplit(e, OPS_PART_ANONYMOUS, a);
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
 * A part, and what could be done about it. Advice on jemalloc's parts comes from its TUNING.md and
 * its manual.
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
	int64_t size = e->parts[part], all = (int64_t)e->memory.rss, added = 0;
	int64_t missing = -e->parts[OPS_PART_UNCOUNTED];
	enum fix fix = parts[part].fix;
	enum error says = parts[part].says;

	if (part == OPS_PART_ANONYMOUS) {
		say_anonymous(e, a);
		return true;
	}
	if (part == OPS_PART_UNCOUNTED && !e->counted) {
		say_unsplit(e, part, a);
		return true;
	}
	if (part == OPS_PART_DIRTY && (n->background || n->dirty_decay_ms < 0))
		fix = FIX_DECAY_SOONER;
	if (part == OPS_PART_DIRTY && !n->has_pages) /* 4.x has other options */
		fix = FIX_NONE;
	if (!e->cost.pid) /* from another time, or place */
		fix = FIX_NONE;
	if (fix == FIX_FEWER_ARENAS && n->arenas <= FEW_ARENAS)
		fix = FIX_NONE;
	if (part != OPS_PART_ALLOCATED && size > all)
		size = all;
	if (part == OPS_PART_ALLOCATED)
		added = e->parts[OPS_PART_SAMPLING];
	if (part == OPS_PART_ALLOCATED && e->sampled)
		says = ERROR_MEMORY_IS_ALLOCATED_OR_SAMPLING;
	err_raise(a, says, .size = size, .added = added, .max = all, .count = n->arenas,
		  .need = missing <= all / WORTH_BOUND ? 0
			  : missing < size + added     ? missing
						       : size + added);
	if (fix)
		err_advise(a, fix, .pid = e->cost.pid);
	return fix;
}

/* Most of what sampling adds to sampled objects is never touched. */
static int64_t weight(const struct ops_explain *e, enum ops_part part)
{
	if (part == OPS_PART_ALLOCATED)
		return e->parts[part] + e->parts[OPS_PART_SAMPLING];
	return part == OPS_PART_SAMPLING ? INT64_MIN : e->parts[part];
}

/* The largest part first, whatever it is; then those that can be reduced. */
static void give_advice(struct ops_explain *e, const struct numbers *n, size_t most)
{
	int64_t last = INT64_MAX;

	e->n_advice = 0;
	while (e->n_advice < most) {
		enum ops_part next = OPS_PARTS;

		for (enum ops_part i = 0; i < OPS_PARTS; i++)
			if (weight(e, i) < last &&
			    (next == OPS_PARTS || weight(e, i) > weight(e, next)))
				next = i;
		if (next == OPS_PARTS)
			return;
		last = weight(e, next);
		if (e->n_advice &&
		    (last < WORTH_BYTES || last < (int64_t)e->memory.rss / WORTH_PART))
			return;
		e->n_advice += say(e, n, next, &e->advice[e->n_advice]) || !e->n_advice;
	}
}

const char *ops_part_name(enum ops_part part)
{
	static const char *const names[OPS_PARTS] = {
		[OPS_PART_ALLOCATED] = "allocated",  [OPS_PART_SAMPLING] = "sampling",
		[OPS_PART_TCACHE] = "thread_caches", [OPS_PART_FRAGMENTED] = "fragmented",
		[OPS_PART_DIRTY] = "dirty",	     [OPS_PART_MUZZY] = "muzzy",
		[OPS_PART_METADATA] = "metadata",    [OPS_PART_UNCOUNTED] = "uncounted",
		[OPS_PART_ANONYMOUS] = "anonymous",  [OPS_PART_HEAP] = "heap",
		[OPS_PART_STACKS] = "stacks",	     [OPS_PART_DATA] = "data",
		[OPS_PART_FILES] = "files",	     [OPS_PART_SHARED] = "shared",
	};

	return names[part];
}

int ops_explain(pid_t pid, const struct ops_options *options, struct ops_explain *out,
		struct err *err)
{
	_cleanup_(session_close) struct session s = SESSION_INIT;
	struct numbers n = { .dirty_decay_ms = -1 };
	struct limit limit;

	*out = (struct ops_explain){ .counted = false };
	if (session_open_proc(&s, pid, options, err) || session_may_trace(&s, err))
		return -1;
	out->counted = !session_find_jemalloc(&s, &out->why_not) &&
		       !session_open_injector(&s, &out->why_not) && !count(&s, &n, &out->why_not);
	/* Without jemalloc's numbers, the rest is still reported. */
	if (!out->counted && (out->why_not.code == ERR_LOST || out->why_not.code == ERR_NOPROC)) {
		*err = out->why_not;
		return -1;
	}
	if (look(&s, &out->memory, err))
		return -1;
	out->cost = s.cost;
	out->allocated = n.allocated;
	out->active = n.active;
	out->resident = n.resident;
	out->mapped = n.mapped;
	out->retained = n.retained;
	out->sampled = n.prof && n.sampling;
	out->limited = limit_of_cgroup(pid, &limit);
	if (out->limited) {
		out->limit = limit.limit;
		out->used = limit.used;
	}
	split(&n, out);
	give_advice(out, &n, OPS_ADVICE_MAX);
	return 0;
}

/* --- without asking the process --- */

static const struct numbers unasked = { .dirty_decay_ms = -1 };

int explain_seen(struct session *s, const struct err *why_not, struct ops_explain *out,
		 struct err *err)
{
	struct memory seen;

	if (look(s, &seen, err))
		return -1;
	*out = (struct ops_explain){ .cost = s->cost, .why_not = *why_not, .memory = seen };
	split(&unasked, out);
	give_advice(out, &unasked, 1);
	return 0;
}

static int64_t bytes_at(struct json_object *doc, const char *name)
{
	struct json_object *value;
	int64_t bytes =
		json_object_object_get_ex(doc, name, &value) ? json_object_get_int64(value) : 0;

	return bytes > (int64_t)BYTES_MAX    ? (int64_t)BYTES_MAX
	       : bytes < -(int64_t)BYTES_MAX ? -(int64_t)BYTES_MAX
					     : bytes;
}

static const char *text_at(struct json_object *doc, const char *name)
{
	struct json_object *value;
	const char *text =
		json_object_object_get_ex(doc, name, &value) ? json_object_get_string(value) : NULL;

	return text ? text : "";
}

static uint64_t size_at(struct json_object *doc, const char *name)
{
	int64_t bytes = bytes_at(doc, name);

	return bytes > 0 ? (uint64_t)bytes : 0;
}

int explain_parse(const char *text, size_t len, struct ops_explain *out, struct err *err)
{
	_cleanup_(json_close) struct json_object *doc = json_parse(text, len);
	struct json_object *parts, *value;
	const char *runtime;
	bool negative = false;
	int64_t sum = 0;

	if (!json_object_is_type(doc, json_type_object))
		return err_raise(err, ERROR_EXPLANATION_MALFORMED);
	/* Only the numbers of the document are used: the words are ours. */
	*out = (struct ops_explain){ .counted = false };
	out->memory.rss = size_at(doc, "rss_bytes");
	out->memory.swap = size_at(doc, "swap_bytes");
	out->anonymous_max = size_at(doc, "anonymous_max_bytes");
	out->counted = json_object_object_get_ex(doc, "stats", &value) && value;
	out->sampled =
		json_object_object_get_ex(doc, "sampled", &value) && json_object_get_boolean(value);
	if (!strcmp(text_at(doc, "warning_id"), "no_jemalloc"))
		out->why_not = (struct err){ .code = ERR_NOJEMALLOC, .ids = { ERROR_NO_JEMALLOC } };
	else if (!out->counted)
		out->why_not = (struct err){ .code = ERR_FAILED, .ids = { ERROR_NOT_COUNTED } };
	runtime = text_at(doc, "runtime");
	for (enum memory_runtime i = RUNTIME_NONE + 1; i < RUNTIMES; i++)
		if (!strcmp(runtime, runtimes[i].name))
			out->memory.runtime = i;
	if (json_object_object_get_ex(doc, "parts", &parts)) {
		for (enum ops_part i = 0; i < OPS_PARTS; i++) {
			out->parts[i] = bytes_at(parts, ops_part_name(i));
			sum += out->parts[i];
			negative |= out->parts[i] < 0 && i != OPS_PART_UNCOUNTED;
		}
	}
	/* As after ops_explain(): the parts add up to the total, and only one may be negative. */
	if (negative || sum <= 0 || sum != (int64_t)out->memory.rss)
		return err_raise(err, ERROR_EXPLANATION_MALFORMED);
	give_advice(out, &unasked, 1);
	return 0;
}

void explain_sampling(struct ops_explain *e, double bytes)
{
	int64_t most = e->parts[OPS_PART_ALLOCATED] + e->parts[OPS_PART_SAMPLING];
	int64_t taken = bytes > 0 ? llround(fmin(bytes, (double)BYTES_MAX)) : 0;

	if (!e->counted)
		return;
	e->parts[OPS_PART_SAMPLING] = taken < most ? taken : most;
	e->parts[OPS_PART_ALLOCATED] = most - e->parts[OPS_PART_SAMPLING];
	e->sampled = false;
	give_advice(e, &unasked, 1);
}
