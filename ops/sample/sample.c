// SPDX-License-Identifier: Apache-2.0
#include "ops/sample/sample.h"

#include "arch/machine.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/signals.h"
#include "base/text.h"
#include "bpf/heap.h"
#include "io/memory_file.h"
#include "io/output.h"
#include "ops/dump.h"
#include "ops/sample/block.h"
#include "ops/sample/collect.h"
#include "ops/sample/emitter.h"
#include "ops/stacks/timed.h"
#include "ops/target/look.h"
#include "ops/target/open.h"
#include "ops/target/sampling.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SAMPLE_BYTES (UINT64_C(512) << 10)
#define RATE_MS 500	    /* how long allocations are counted in advance */
#define PAIR_NS 70	    /* CPU time that the hooks take for a malloc() and its free() */
#define REMOVE_WAIT_MS 5000 /* for another tracer to end */
#define REMOVE_TRIES 3
#define COUNT_MS 1000 /* how often allocations are counted */
#define OVERHEAD_MAX 5
#define LG_SAMPLE_MAX 40 /* SAMPLER_BYTES_MAX */
#define NS_PER_MS UINT64_C(1000000)
#define NS_PER_S (1000 * NS_PER_MS)

struct sampling {
	struct session *s;
	const struct ops_sample_request *request;
	struct emitter emitter; /* or, if it is none: */
	struct block block;
	uint64_t program; /* proc_program(), 0 if unknown */
	struct heap *heap;
	struct collector collector;
	struct output output;
	char *file; /* its name */
	struct heap_counts counts;
	struct block_counts block_counts;
	uint64_t counted_ms; /* when they were */
	struct timed timed;
	struct ops_sample_progress told;
	uint64_t told_ms, until_ms;
	uint64_t *living; /* ids; HEAP_LIVE_MAX */
	size_t n_living;
	uint64_t end_ns;
	bool opt_prof;
	bool prof; /* jemalloc's own samples are reported */
	uint64_t sample_bytes;
	struct err failed; /* the collector's first failure */
};

static bool emits(const struct sampling *g)
{
	return g->emitter.n[HEAP_ALLOC];
}

/* --- the expected cost --- */

static int count_requests(struct session *s, uint64_t *n, struct err *err)
{
	static const uint64_t epoch = 1;
	uint64_t small = 0, large = 0;
	struct call calls[] = {
		call_write("epoch", &epoch, sizeof(epoch)),
		call_read("stats.arenas.4096.small.nrequests", &small, sizeof(small)),
		call_read("stats.arenas.4096.large.nrequests", &large, sizeof(large)),
	};
	const struct run run = { .calls = calls,
				 .n = sizeof(calls) / sizeof(*calls),
				 .keep_going = true };

	if (session_run(s, &run, err))
		return -1;
	*n = call_succeeded(&calls[1]) ? small + large : 0;
	return 0;
}

static unsigned int max_overhead(const struct ops_sample_request *q)
{
	return q->max_overhead ? q->max_overhead : OVERHEAD_MAX;
}

/* From jemalloc's statistics, if it has any. */
static int predict(struct sampling *g, struct err *err)
{
	struct pollfd stop = { .fd = g->s->options->stop_fd, .events = POLLIN };
	uint64_t before, after, began = now_ms(), ms;

	if (count_requests(g->s, &before, err))
		return -1;
	poll(&stop, 1, RATE_MS);
	if (count_requests(g->s, &after, err))
		return -1;
	ms = now_ms() - began;
	g->told.rate = ms && after > before ? (after - before) * 1000 / ms : 0;
	g->told.per_mille = (unsigned int)(g->told.rate * PAIR_NS / (NS_PER_S / 1000));
	if (g->told.per_mille <= max_overhead(g->request) * 10)
		return 0;
	err_raise(err, ERROR_SAMPLING_TOO_COSTLY, SESSION_ARGS(g->s), .rate = (int64_t)g->told.rate,
		  .number = (g->told.per_mille + 9) / 10, .limit = max_overhead(g->request));
	return err_advise(err, FIX_ALLOW_OVERHEAD, .count = g->told.per_mille / 5 + 1);
}

/* --- sampling --- */

/* In a session of its own, even if we are to end. */
static int remove_block(struct sampling *g, struct err *err)
{
	struct ops_options patient = *g->s->options;
	bool failed = true;

	patient.stop_fd = -1;
	patient.start_time = g->s->proc.start_time;
	patient.wait_ms = REMOVE_WAIT_MS;
	for (int i = 0; i < REMOVE_TRIES && failed && !proc_replaced(&g->s->proc); i++) {
		_cleanup_(session_close) struct session s = SESSION_INIT;
		/* What is there now: the process may have become another program. */
		struct block b = { .base = g->block.base, .seed = g->block.seed };

		s.question = block_answer;
		failed = session_open(&s, g->s->proc.pid, &patient, err) ||
			 block_find(&s, &b, err) || (b.base && block_remove(&s, &b, false, err));
		if (s.cost.stops)
			cost_add(&g->s->cost, &s.cost);
	}
	g->block.may_be_in = failed;
	return failed ? -1 : 0;
}

static void close_sampling(struct sampling *g)
{
	struct err ignored = ERR_INIT;

	if (g->block.may_be_in)
		(void)!remove_block(g, &ignored);
	heap_close(g->heap);
	emitter_close(&g->emitter);
	block_close(&g->block);
	collector_end(&g->collector);
	output_close(&g->output);
	free(g->living);
	free(g->file);
}

static bool on_object(void *ctx, const struct heap_object *object)
{
	struct sampling *g = ctx;

	return !collector_add(&g->collector, object, &g->failed) && now_ms() < g->until_ms;
}

static uint64_t overhead_ns(const struct sampling *g)
{
	return g->block_counts.allocations * PAIR_NS + g->counts.ns +
	       (g->counts.objects + g->counts.frees) * PROBE_NS;
}

static int take(struct sampling *g, unsigned int ms, struct err *err)
{
	g->until_ms = now_ms() + ms;
	heap_count(g->heap, &g->counts);
	if (heap_read(g->heap, err))
		return -1;
	if (g->failed.code)
		*err = g->failed;
	return g->failed.code ? -1 : 0;
}

/*
 * How often the block was called; no longer known if the process has ended. Also checks that the
 * probes are still there: the kernel takes them away when the first thread ends, and the block
 * removes itself then.
 */
static int check_on(struct sampling *g, struct err *err)
{
	const struct proc *p = &g->s->proc;
	struct err ignored = ERR_INIT;

	if (emits(g) ? !g->program || proc_program(p->mm_pid)
		     : sample_counts(&g->collector, g->s, &g->block_counts, &ignored) ||
			       g->block_counts.is_on)
		return 0;
	if (!proc_alive(p) || proc_replaced(p))
		return 0;
	return err_raise(err, ERROR_SAMPLING_ENDED, SESSION_ARGS(g->s));
}

static int go_on(struct sampling *g, struct ops_sample *out, struct err *err)
{
	const struct ops_sample_request *q = g->request;
	unsigned int ms = ops_timeout_ms(g->s->options);
	struct err why = ERR_INIT;
	bool more;

	do {
		if (timed_wait(&g->timed, &more, err) || take(g, TIMED_ROUND_MS, err))
			return -1;
		if (now_ms() >= g->counted_ms + COUNT_MS) {
			g->counted_ms = now_ms();
			g->s->timeout_ms = now_ms() + ms;
			if (check_on(g, err) ||
			    timed_check_overhead(&g->timed, overhead_ns(g), err))
				return -1;
		}
		if (q->progress && now_ms() >= g->told_ms + q->progress_ms) {
			g->told_ms = now_ms();
			g->told.elapsed_ms = timed_elapsed_ms(&g->timed);
			g->told.samples = g->counts.objects;
			g->told.overhead_us = overhead_ns(g) / 1000;
			q->progress(q->ctx, &g->told);
		}
	} while (more);
	g->s->recorded_ms = timed_elapsed_ms(&g->timed);
	/* What was live when the block was removed, or when the process ended. */
	g->s->timeout_ms = now_ms() + ms;
	if (!g->timed.ended && check_on(g, err))
		return -1;
	if (!emits(g) && !g->timed.ended && remove_block(g, &why) && !proc_replaced(&g->s->proc)) {
		out->left = why;
		err_within(&out->left, ERROR_BLOCK_LEFT, SESSION_ARGS(g->s));
	}
	g->block.may_be_in = false;
	g->end_ns = now_us() * 1000;
	heap_stop(g->heap);
	heap_living(g->heap, g->living, &g->n_living);
	if (take(g, ms, err))
		return -1;
	if (now_ms() < g->until_ms)
		return 0;
	err_raise(err, ERROR_CHILD_LATE, .what = g->collector.child.what, .ms = ms);
	return err_advise(err, FIX_GIVE_IT_TIME);
}

/* --- the beginning --- */

static uint64_t sample_bytes(const struct ops_sample_request *q)
{
	uint64_t bytes = q->sample_bytes ? q->sample_bytes : SAMPLE_BYTES;

	if (bytes < SAMPLER_BYTES_MIN)
		return SAMPLER_BYTES_MIN;
	return bytes < SAMPLER_BYTES_MAX ? bytes : SAMPLER_BYTES_MAX;
}

/* Can it be sampled at all? */
static int check(struct sampling *g, struct err *err)
{
	struct session *s = g->s;
	struct jemalloc_values values;

	if (jemalloc_has_hooks(s->version) == TRI_NO)
		return err_raise(err,
				 session_older(s, 5, 2, 0) ? ERROR_NO_HOOKS : ERROR_HOOKS_UNKNOWN,
				 SESSION_ARGS(s), .version = s->version);
	if (block_find(s, &g->block, err) || look_values(s, &values, err))
		return session_failed(s, err);
	if (g->block.base && g->block.is_read)
		return err_raise(err, ERROR_ALREADY_SAMPLED, SESSION_ARGS(s));
	g->opt_prof = jemalloc_value_is(&values, OPT_PROF) == TRI_YES;
	return 0;
}

/*
 * Where jemalloc samples by itself, 5.3.1 has hooks for these samples, so that other allocations
 * stay on its fast path, and no thread is marked.
 */
static int ask_prof(struct session *s, bool *prof, uint64_t *sample_bytes, struct err *err)
{
	bool active = false, in_threads = false;
	uint64_t lg = 0, alloc = 0, free = 0;
	struct call calls[] = {
		call_read("prof.active", &active, sizeof(active)),
		call_read("prof.thread_active_init", &in_threads, sizeof(in_threads)),
		call_read("prof.lg_sample", &lg, sizeof(lg)),
		call_read("experimental.hooks.prof_sample", &alloc, sizeof(alloc)),
		call_read("experimental.hooks.prof_sample_free", &free, sizeof(free)),
	};
	const struct run run = { .calls = calls,
				 .n = sizeof(calls) / sizeof(*calls),
				 .keep_going = true };

	if (session_run(s, &run, err))
		return -1;
	for (size_t i = 0; i < run.n; i++)
		if (!call_succeeded(&calls[i]))
			return 0;
	*prof = active && in_threads && !alloc && !free && lg <= LG_SAMPLE_MAX;
	if (*prof)
		*sample_bytes = UINT64_C(1) << lg;
	return 0;
}

static int choose_hooks(struct sampling *g, struct err *err)
{
	struct session *s = g->s;

	g->sample_bytes = sample_bytes(g->request);
	if (g->opt_prof && *s->version && !session_older(s, 5, 3, 1) && !g->request->sample_bytes &&
	    ask_prof(s, &g->prof, &g->sample_bytes, err))
		return -1;
	return g->prof || g->block.guard.slot
		       ? 0
		       : err_raise(err, ERROR_ENDS_UNGUARDED, SESSION_ARGS(s));
}

/* The registers of a function's first three, for both probes. */
static struct heap_args block_args(void)
{
	struct heap_args args = { 0 };

	for (unsigned int i = 0; i < 3; i++) {
		const char *name = arch_arg_register(i + 1);

		args.v[i].kind = HEAP_REGISTER;
		(void)!arch_register(name, strlen(name), &args.v[i].reg);
	}
	return args;
}

static int map(struct sampling *g, struct err *err)
{
	/* A block that a killed run left, and that had no chance to remove itself. */
	if (g->block.base && g->block.phase != SAMPLER_OUT &&
	    block_remove(g->s, &g->block, true, err))
		return -1;
	return block_map(g->s, &g->block, err);
}

/* Only then does the block do something. */
static int install(struct sampling *g, struct err *err)
{
	const struct sampler_offsets *at = &sampler_offsets;
	const bool hold = g->request->for_others;
	struct heap_place place = { .pid = g->s->proc.mm_pid, .args = block_args() };
	char name[MAP_FILE_NAME_SIZE];

	if (sample_began(&g->collector, g->s, g->block.base, err))
		return -1;
	snprintf(g->told.image, sizeof(g->told.image), "/proc/%d/%s", g->s->proc.mm_pid,
		 map_file_name(g->block.base, g->block.base + SAMPLER_STATE, name));
	g->told.alloc = (struct heap_probe){ at->alloc_probe, at->alloc_semaphore };
	g->told.free = (struct heap_probe){ at->free_probe, at->free_semaphore };
	place.handle = g->block.handle;
	place.probe =
		(struct heap_probe){ hold ? at->free_hold : at->free_probe, at->free_semaphore };
	if (heap_attach(g->heap, HEAP_FREE, &place, err))
		return -1;
	place.probe =
		(struct heap_probe){ hold ? at->alloc_hold : at->alloc_probe, at->alloc_semaphore };
	return heap_attach(g->heap, HEAP_ALLOC, &place, err) ||
			       (!g->prof && block_guard(g->s, &g->block, err)) ||
			       block_install(g->s, &g->block, g->prof, g->sample_bytes, err)
		       ? -1
		       : 0;
}

/* Frees first: an object of which only the allocation is seen looks live. */
static int attach(struct sampling *g, struct err *err)
{
	const struct emitter *e = &g->emitter;

	for (int event = HEAP_EVENTS - 1; event >= 0; event--) {
		for (size_t i = 0; i < e->n[event]; i++) {
			if (heap_attach(g->heap, (enum heap_event)event, &e->places[event][i], err))
				return -1;
		}
	}
	/* Its pid could have been reused before it was probed. */
	g->program = proc_program(g->s->proc.mm_pid);
	return proc_alive(&g->s->proc) ? 0 : err_raise(err, ERROR_TARGET_ENDED, SESSION_ARGS(g->s));
}

/* Ensures that it can be written before anything is sampled. */
static int begin(struct sampling *g, struct err *err)
{
	const struct ops_sample_request *q = g->request;

	g->living = calloc(HEAP_LIVE_MAX, sizeof(*g->living));
	if (!g->living)
		return err_no_memory(err);
	/* The collector reads which files are mapped, and walks through them: the block is one. */
	if ((!emits(g) &&
	     (check(g, err) || session_open_injector(g->s, err) || choose_hooks(g, err))) ||
	    dump_open(&g->s->proc, q->file, q->force, &g->output, &g->file, err) ||
	    heap_open(&g->heap, on_object, g, err) ||
	    (!emits(g) && ((!g->prof && predict(g, err)) || map(g, err))) ||
	    collector_start(&g->collector, &sample_collector_kind, g->s, q->fd, err) ||
	    (emits(g) ? attach(g, err) : install(g, err)))
		return session_failed(g->s, err);
	look_end(g->s);
	injector_close(take_ptr(g->s->inj));
	timed_begin(&g->timed, g->s, q->duration_ms, q->max_overhead);
	g->timed.wake_fd = heap_fd(g->heap);
	g->counted_ms = now_ms();
	g->told.cost = &g->s->cost;
	g->told.duration_ms = q->duration_ms;
	g->told.sample_bytes = g->sample_bytes;
	g->told.prof = g->prof;
	return q->began && q->began(q->ctx, &g->told, err) ? -1 : 0;
}

/* --- the end --- */

/* A jemalloc may have such probes, too, and not use them. */
static int advise_hooks(const struct session *s, struct err *err)
{
	if (!s->n_jemallocs)
		return -1;
	return err_advise_too(err, FIX_SAMPLE_BY_HOOKS,
			      .name = text_file_name(s->jemallocs[0].image->path));
}

static int write_profile(struct sampling *g, struct sampled *got, struct ops_sample *out,
			 struct err *err)
{
	const struct sample_write how = {
		.sample_bytes = g->sample_bytes,
		.end_ns = g->end_ns,
		.old_ns = g->s->recorded_ms / 2 * NS_PER_MS,
		.min_age_ns = g->request->min_age_ms * NS_PER_MS,
	};

	g->s->timeout_ms = now_ms() + ops_timeout_ms(g->s->options);
	if (sample_live(&g->collector, g->s, g->living, g->n_living, err) ||
	    sample_write(&g->collector, g->s, &how, got, err))
		return -1;
	if (!got->samples && (emits(g) || g->prof)) {
		err_raise(err, emits(g) ? ERROR_NO_OBJECT_EMITTED : ERROR_NO_OBJECT_OF_PROF,
			  SESSION_ARGS(g->s), .ms = (int64_t)g->s->recorded_ms);
		err_advise(err, FIX_SAMPLE_FOR_LONGER);
		return emits(g) ? advise_hooks(g->s, err) : -1;
	}
	/* If the process has ended, that was perhaps not counted. */
	if (!got->samples && !g->block_counts.allocations && !g->timed.ended) {
		err_raise(err, ERROR_NO_ALLOCATION, SESSION_ARGS(g->s),
			  .ms = (int64_t)g->s->recorded_ms);
		return err_advise(err, FIX_SAMPLE_FOR_LONGER);
	}
	if (!got->samples) {
		err_raise(err, ERROR_NO_OBJECT_SAMPLED, SESSION_ARGS(g->s),
			  .count = (int64_t)g->block_counts.allocations,
			  .ms = (int64_t)g->s->recorded_ms);
		return err_advise(err, FIX_SAMPLE_LONGER_OR_OFTENER);
	}
	if (memory_file_size(g->request->fd, &out->bytes, err) ||
	    (g->file &&
	     output_commit(&g->output, g->request->fd, out->bytes, g->s->timeout_ms, err)))
		return -1;
	out->file = take_ptr(g->file);
	return 0;
}

static int end(struct sampling *g, struct ops_sample *out, struct err *err)
{
	struct sampled got = { 0 };

	if (!g->request->for_others && write_profile(g, &got, out, err))
		return -1;
	out->cost = g->s->cost;
	out->duration_ms = g->s->recorded_ms;
	out->allocations = g->block_counts.allocations;
	out->samples = got.samples;
	out->stacks = got.stacks;
	out->allocated_bytes = got.allocated_bytes;
	out->live_bytes = got.live_bytes;
	out->old_bytes = got.old_bytes;
	out->live_samples = got.live_samples;
	out->old_samples = got.old_samples;
	out->overhead_us = overhead_ns(g) / 1000;
	out->cut = got.cut;
	out->lost = g->counts.lost + g->counts.untracked + g->block_counts.dropped;
	out->early = g->timed.early;
	out->ended = g->timed.ended;
	out->opt_prof = g->opt_prof;
	out->prof = g->prof;
	return 0;
}

void ops_sample_fini(struct ops_sample *sample)
{
	free(sample->file);
	sample->file = NULL;
}

/* In the child that looks. */
static int answer(struct session *s, struct unpack *u, struct pack *p, struct err *err)
{
	return s->je ? block_answer(s, u, p, err) : emitter_answer(s, u, p, err);
}

/* By its own probes, or else by those of a block in its jemalloc. */
static int choose(struct sampling *g, struct ops_sample *out, struct err *err)
{
	struct session *s = g->s;

	if (look_found(s, err))
		return session_failed(s, err);
	if (!s->options->image && emitter_find(s, &g->emitter, err)) {
		if (err->ids[0] == ERROR_PROBES_UNREADABLE)
			(void)!advise_hooks(s, err);
		return session_failed(s, err);
	}
	if (!emits(g)) {
		if (session_pick_jemalloc(s, err))
			return -1;
		sampling_warn_hidden(s, &out->hidden);
		return 0;
	}
	if (g->request->for_others) {
		err_raise(err, ERROR_PROBES_OF_ITS_OWN, SESSION_ARGS(s));
		return err_advise(err, FIX_READ_USDT, .pid = s->proc.pid);
	}
	return g->request->sample_bytes ? err_raise(err, ERROR_SAMPLES_OF_ITS_OWN, SESSION_ARGS(s))
					: 0;
}

int ops_sample(pid_t pid, const struct ops_sample_request *request,
	       const struct ops_options *options, struct ops_sample *out, struct err *err)
{
	_cleanup_(session_close) struct session s = SESSION_INIT;
	_cleanup_(close_sampling) struct sampling g = { .s = &s,
							.request = request,
							.block = BLOCK_INIT,
							.collector = COLLECTOR_INIT,
							.output = OUTPUT_INIT };

	*out = (struct ops_sample){ 0 };
	s.question = answer;
	s.opt_active = TRI_NO;
	if (session_open_proc(&s, pid, options, err) || session_may_trace(&s, err) ||
	    choose(&g, out, err))
		return -1;
	return begin(&g, err) || go_on(&g, out, err) || end(&g, out, err) ? -1 : 0;
}
