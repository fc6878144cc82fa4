// SPDX-License-Identifier: Apache-2.0
#include "ops/sites/sites.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "bpf/sites.h"
#include "io/memory_file.h"
#include "io/output.h"
#include "jemalloc/answer.h"
#include "ops/dump.h"
#include "ops/sites/collect.h"
#include "ops/sites/estimate.h"
#include "ops/stacks/timed.h"
#include "ops/target/look.h"
#include "ops/target/open.h"
#include "ops/watch/filecache.h"

#include <stdlib.h>
#include <string.h>

#define SAMPLE_BYTES (UINT64_C(512) << 10)
#define EVENT_BYTES (UINT64_C(64) << 10) /* the minimum, at which each event is sampled */
#define SENSELESS_MAX 100 /* one event in so many, which a signal handler may have begun */

/* --- where to probe --- */

/* In the child that looks: the mapping of the code that s->je is in. */
static int find_code(struct session *s, struct unpack *nothing, struct pack *p, struct err *err)
{
	const struct map *m = maps_find(&s->maps, s->je->mallctl);

	(void)nothing;
	if (!m || !file_is_code(m))
		return err_raise(err, ERROR_CODE_IS_OF_NO_FILE, .path = s->je->image->path);
	maps_pack(&(struct maps){ .v = (struct map *)m, .n = 1 }, p);
	return 0;
}

/* From its file, read by a child that has nothing else: a probe is set in the file. */
static int find_event(struct filecache *files, struct session *s, struct sites_probe *probe,
		      struct err *err)
{
	struct jemalloc_file_event event;
	_cleanup_(maps_fini) struct maps code = { 0 };
	struct pack nothing = { 0 };
	struct known_file file;
	struct unpack u;

	if (session_older(s, 5, 3, 0)) {
		err_raise(err, ERROR_NO_ALLOCATION_EVENT, SESSION_ARGS(s), .version = s->version);
		return err_advise(
			err, session_older(s, 5, 2, 0) ? FIX_RECORD_INSTEAD : FIX_SAMPLE_INSTEAD,
			.pid = s->proc.pid);
	}
	if (look_ask(s, &nothing, &u, err))
		return -1;
	if (!maps_unpack(&code, &u) || code.n != 1 || !unpack_done(&u))
		return err_raise(err, ERROR_FOUND_MALFORMED, .pid = s->proc.pid);
	file = filecache_know(files, &s->proc, code.v);
	if (file.holds != JEMALLOC_FILE_SOME || file.handle < 0)
		return err_raise(err, ERROR_FILE_NOT_READ, .path = s->je->image->path);
	if (jemalloc_file_count(file.file) != 1)
		return err_raise(err, ERROR_SEVERAL_IN_FILE, .path = s->je->image->path);
	event = jemalloc_file_event(file.file, 0);
	if (!event.known) {
		err_raise(err, ERROR_EVENT_NOT_FOUND, .path = s->je->image->path);
		return err_advise(err, FIX_INSTALL_SYMBOLS);
	}
	probe->handle = file.handle;
	probe->offset = event.offset;
	return 0;
}

/* --- sampling --- */

struct run {
	struct session *s;
	const struct ops_sites_request *request;
	struct sites *sites;
	struct collector collector;
	struct output output;
	char *file; /* its name */
	struct sites_counts counts;
	struct timed timed;
	uint64_t until_ms; /* take samples until then */
	struct err failed; /* the collector's first failure */
};

static void close_run(struct run *r)
{
	sites_close(r->sites);
	collector_end(&r->collector);
	output_close(&r->output);
	free(r->file);
}

static bool on_sample(void *ctx, const struct sites_sample *sample)
{
	struct run *r = ctx;

	return !collector_add(&r->collector, sample, &r->failed) && now_ms() < r->until_ms;
}

static uint64_t events(const struct run *r)
{
	return r->counts.events[SITES_SMALL] + r->counts.events[SITES_LARGE];
}

static uint64_t overhead_ns(const struct run *r)
{
	return r->counts.ns + r->counts.hits * PROBE_NS;
}

static int take(struct run *r, unsigned int ms, struct err *err)
{
	r->until_ms = now_ms() + ms;
	sites_count(r->sites, &r->counts);
	/* If too many events do not look like events, the wrong function was found. */
	if (r->counts.senseless > events(r) / SENSELESS_MAX + SENSELESS_MAX)
		return err_raise(err, ERROR_EVENT_SENSELESS, .path = r->s->je->image->path,
				 .number = (int64_t)r->counts.senseless);
	if (timed_check_overhead(&r->timed, overhead_ns(r), err) || sites_read(r->sites, err))
		return -1;
	if (r->failed.code)
		*err = r->failed;
	return r->failed.code ? -1 : 0;
}

static uint64_t allocated(const struct run *r)
{
	return r->counts.allocated[SITES_SMALL] + r->counts.allocated[SITES_LARGE];
}

static int go_on(struct run *r, struct err *err)
{
	const struct ops_sites_request *q = r->request;
	unsigned int ms = ops_timeout_ms(r->s->options);
	uint64_t told_ms = 0;
	bool more;

	do {
		if (timed_wait(&r->timed, &more, err) || take(r, TIMED_ROUND_MS, err))
			return -1;
		if (q->progress && now_ms() >= told_ms + q->progress_ms) {
			const struct ops_sites_progress p = {
				.cost = &r->s->cost,
				.elapsed_ms = timed_elapsed_ms(&r->timed),
				.duration_ms = q->duration_ms,
				.allocated_bytes = allocated(r),
			};

			told_ms = now_ms();
			q->progress(q->ctx, &p);
		}
	} while (more);
	r->s->recorded_ms = timed_elapsed_ms(&r->timed);
	sites_stop(r->sites);
	/* What is left in the ring buffer after the end. */
	if (take(r, ms, err))
		return -1;
	if (now_ms() < r->until_ms)
		return 0;
	err_raise(err, ERROR_CHILD_LATE, .what = r->collector.child.what, .ms = ms);
	return err_advise(err, FIX_GIVE_IT_TIME);
}

/* The rate in the profile must be the one in use, or its errors are wrong. */
static uint64_t sample_bytes(const struct ops_sites_request *q)
{
	uint64_t bytes = q->sample_bytes ? q->sample_bytes : SAMPLE_BYTES;

	if (bytes < EVENT_BYTES)
		return EVENT_BYTES;
	return bytes < SITES_BYTES_MAX ? bytes : SITES_BYTES_MAX;
}

/* Ensures that it can be written before anything is sampled. */
static int begin(struct run *r, struct err *err)
{
	_cleanup_(filecache_fini) struct filecache files = { .confined = true, .events = true };
	struct sites_probe probe = {
		.pid = r->s->proc.mm_pid,
		.sample_bytes = sample_bytes(r->request),
	};

	files.debuginfod = r->s->options->debuginfod;
	if (find_event(&files, r->s, &probe, err))
		return session_failed(r->s, err);
	look_end(r->s);
	r->s->sample_bytes = probe.sample_bytes;
	if (dump_open(&r->s->proc, r->request->file, r->request->force, &r->output, &r->file, err))
		return -1;
	if (collector_start(&r->collector, &sites_collector_kind, r->s, r->request->fd, err) ||
	    sites_open(&r->sites, &probe, on_sample, r, err))
		return session_failed(r->s, err);
	/* Its pid could have been reused before it was probed. */
	if (!proc_alive(&r->s->proc))
		return err_raise(err, ERROR_TARGET_ENDED, SESSION_ARGS(r->s));
	timed_begin(&r->timed, r->s, r->request->duration_ms, r->request->max_overhead);
	if (r->request->began)
		r->request->began(r->request->ctx, &r->s->cost);
	return 0;
}

static int end(struct run *r, struct ops_sites *out, struct err *err)
{
	uint64_t totals[SITES_SIZES];
	struct collected got;

	if (!events(r)) {
		err_raise(err, ERROR_NOTHING_ALLOCATED, SESSION_ARGS(r->s),
			  .ms = (int64_t)r->s->recorded_ms);
		return err_advise(err, FIX_SAMPLE_FOR_LONGER);
	}
	/* The whole of --timeout again, for the remaining work. */
	r->s->timeout_ms = now_ms() + ops_timeout_ms(r->s->options);
	sites_totals(&r->counts, totals);
	if (sites_collected(&r->collector, r->s, totals, &got, err))
		return -1;
	if (!got.samples) {
		err_raise(err, ERROR_NO_STACK_SAMPLED, SESSION_ARGS(r->s),
			  .count = (int64_t)(allocated(r) >> 10), .ms = (int64_t)r->s->recorded_ms);
		return err_advise(err, FIX_SAMPLE_LONGER_OR_OFTENER);
	}
	if (memory_file_size(r->request->fd, &out->bytes, err) ||
	    (r->file &&
	     output_commit(&r->output, r->request->fd, out->bytes, r->s->timeout_ms, err)))
		return -1;
	out->file = take_ptr(r->file);
	out->cost = r->s->cost;
	out->duration_ms = r->s->recorded_ms;
	out->allocated_bytes = allocated(r);
	out->events = events(r);
	out->overhead_us = overhead_ns(r) / 1000;
	out->samples = got.samples;
	out->stacks = got.stacks;
	out->cut = got.cut;
	out->lost = r->counts.lost;
	out->early = r->timed.early;
	out->ended = r->timed.ended;
	return 0;
}

void ops_sites_fini(struct ops_sites *sites)
{
	free(sites->file);
	sites->file = NULL;
}

int ops_sites(pid_t pid, const struct ops_sites_request *request, const struct ops_options *options,
	      struct ops_sites *out, struct err *err)
{
	_cleanup_(session_close) struct session s = SESSION_INIT;
	_cleanup_(close_run) struct run r = {
		.s = &s, .request = request, .collector = COLLECTOR_INIT, .output = OUTPUT_INIT
	};

	*out = (struct ops_sites){ 0 };
	s.question = find_code;
	s.opt_active = TRI_UNKNOWN;
	if (session_open_proc(&s, pid, options, err) || session_may_trace(&s, err) ||
	    session_find_jemalloc(&s, err))
		return -1;
	return begin(&r, err) || go_on(&r, err) || end(&r, out, err) ? -1 : 0;
}
