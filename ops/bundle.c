// SPDX-License-Identifier: Apache-2.0

#include "ops/bundle.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/text.h"
#include "base/write.h"
#include "io/archive.h"
#include "io/memory_file.h"
#include "io/output.h"
#include "ops/apart/symbol_keeper.h"
#include "ops/profile_file.h"
#include "ops/render.h"
#include "ops/target/session.h"
#include "process/maps.h"
#include "process/procfs.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define CPU_MAX_S 3600
#define SUFFIX ".bundle.tar.gz"

void ops_bundle_fini(struct ops_bundle *bundle)
{
	free(bundle->file);
	bundle->file = NULL;
}

struct work {
	const struct ops_bundle_request *request;
	const struct ops_options *options;
	uint64_t deadline_ms;
	struct ops_bundle result;
	int profile; /* the bytes of profile.heap */
	uint64_t profile_bytes;
	struct ops_stats stats; /* the text is stats.json */
	char *explain;
	int archive;	  /* a memory file */
	struct proc proc; /* opened before it is dumped */
};

static void work_fini(struct work *w)
{
	ops_bundle_fini(&w->result);
	cleanup_close(&w->profile);
	cleanup_close(&w->archive);
	ops_stats_fini(&w->stats);
	free(w->explain);
	proc_close(&w->proc);
}

/* --- the profile --- */

/* One deadline for everything. */
static struct ops_options in_time(const struct work *w)
{
	struct ops_options options = *w->options;
	uint64_t now = now_ms();

	options.start_time = w->proc.start_time; /* everything in it is from one process */
	options.timeout_ms = w->deadline_ms > now ? (unsigned int)(w->deadline_ms - now) : 1;
	return options;
}

static int dump(struct work *w, struct err *err)
{
	struct ops_dump_request request = { .stream_fd = -1 };
	struct ops_options options;
	struct ops_dump got;

	if (memory_file_make(&w->profile, err) ||
	    proc_open_at(&w->proc, w->request->pid, w->options->start_time, err))
		return -1;
	options = in_time(w);
	request.stream_fd = w->profile;
	if (ops_dump(w->request->pid, &request, &options, &got, err))
		return -1;
	w->result.cost = got.cost;
	w->result.warning = got.warning;
	ops_dump_fini(&got);
	return memory_file_size(w->profile, &w->profile_bytes, err);
}

static int bad_file(const struct work *w, struct err *err)
{
	return err_within(err, ERROR_IN_FILE, .path = w->request->profile);
}

/* A stream is copied to memory: it is parsed, and also added to the bundle. */
static int keep(int *fd, struct err *err)
{
	_cleanup_(cleanup_close) int memory = -1;
	char buf[65536];
	ssize_t n = 1;

	if (memory_file_make(&memory, err))
		return -1;
	while (n) {
		n = read(*fd, buf, sizeof(buf));
		if (n < 0 && errno != EINTR)
			return err_raise_sys(err, ERROR_FILE_UNREADABLE, errno);
		if (n > 0 && !write_all(memory, buf, (size_t)n))
			return err_raise_sys(err, ERROR_FILE_UNKEPT, errno);
	}
	close(*fd);
	*fd = take_fd(memory);
	return 0;
}

static int open_file(struct work *w, struct err *err)
{
	const char *path = w->request->profile;
	struct stat st;

	w->profile = errand_open(path);
	if (w->profile < 0 || fstat(w->profile, &st)) {
		err_raise_sys(err, ERROR_FILE_UNOPENED, errno);
		return bad_file(w, err);
	}
	if ((!S_ISREG(st.st_mode) && keep(&w->profile, err)) ||
	    memory_file_size(w->profile, &w->profile_bytes, err))
		return bad_file(w, err);
	return 0;
}

static int add_rendered(struct bundle_out *out, const struct profile *p, enum profile_format format,
			struct err *err)
{
	_cleanup_(cleanup_close) int fd = -1;
	char name[64];
	uint64_t bytes;

	if (render_write(p, format, &render_plain, NULL, &fd, &bytes, err))
		return -1;
	snprintf(name, sizeof(name), "profile%s", profile_format_info(format)->suffix);
	return bundle_out_add_fd(out, name, fd, bytes, err);
}

static int add_profile(struct work *w, struct bundle_out *out, struct err *err)
{
	static const struct profile_options all = { 0 };
	const struct ops_symbolize_options symbols = {
		.pid = w->request->pid,
		.debuginfod = w->options->debuginfod,
		.trust_images = w->request->trust_images,
		.no_cache = w->request->no_cache,
		.on_warning = w->request->on_warning ? errand_warn : NULL,
	};
	_cleanup_(profile_fini) struct profile p = { 0 };

	if (profile_file_read_fd(w->profile, w->profile_bytes, &all, &p, err))
		return w->request->pid ? -1 : bad_file(w, err);
	if ((!p.symbols && ops_symbolize(&p, &symbols, err)) ||
	    bundle_out_add_fd(out, "profile.heap", w->profile, w->profile_bytes, err) ||
	    add_rendered(out, &p, PROFILE_FORMAT_PPROF, err))
		return -1;
	return add_rendered(out, &p, PROFILE_FORMAT_RAW, err);
}

/* --- context of the profile, as far as it is available --- */

static void read_stats(struct work *w)
{
	struct ops_options options = in_time(w);
	const struct ops_match of = { .pid = w->request->pid, .start_time = w->proc.start_time };
	struct err why;

	options.max_bytes = 0; /* that limit was for the profile */
	if (ops_stats(&of, 1, OPS_STATS_JSON, &options, &w->stats, &why) ||
	    ops_stats_failed(&w->stats, &why)) {
		err_unadvise(&why);
		err_within(&why, ERROR_BUNDLE_LACKS_STATISTICS);
		w->result.warning = why;
		return;
	}
	cost_add(&w->result.cost, &w->stats.v->cost);
}

static void explain(struct work *w)
{
	const struct ops_options options = in_time(w);
	struct ops_explain got;
	struct err why;

	if (!ops_explain(w->request->pid, &options, &got, &why)) {
		cost_add(&w->result.cost, &got.cost);
		w->explain = w->request->explain_text(&got);
		return;
	}
	err_unadvise(&why);
	err_within(&why, ERROR_BUNDLE_LACKS_MEMORY);
	if (!w->result.warning.ids[0])
		w->result.warning = why;
}

/* --- the file --- */

static char *default_name(const struct work *w)
{
	char stamp[32], *name = NULL;
	time_t now = time(NULL);
	struct tm tm;
	int ret;

	strftime(stamp, sizeof(stamp), "%Y%m%dT%H%M%SZ", gmtime_r(&now, &tm));
	if (w->request->pid) {
		ret = asprintf(&name, "jemalloc.%d.%s" SUFFIX, w->request->pid, stamp);
	} else {
		ret = asprintf(&name, "%s" SUFFIX,
			       strcmp(w->request->profile, "-") != 0
				       ? text_file_name(w->request->profile)
				       : "profile");
	}
	return ret < 0 ? NULL : name;
}

/* --- in a confined child: parsing and packing --- */

static int load(void *ctx, struct err *err)
{
	const struct libarchive *ignored;

	(void)ctx;
	return libarchive_load(&ignored, err);
}

static int pack_all(struct work *w, struct err *err)
{
	_cleanup_(bundle_out_close) struct bundle_out *out = NULL;
	_cleanup_(cleanup_free) char *maps = NULL;
	struct err ignored;
	size_t maps_len;
	const char *name = text_file_name(w->result.file);
	size_t len = text_stem(name, SUFFIX);
	char folder[NAME_MAX];

	/* The folder that it unpacks to: the file's name without its suffix. */
	snprintf(folder, sizeof(folder), "%.*s", (int)(len < 200 ? len : 200), name);
	if (bundle_out_open(&out, w->archive, folder, err) || add_profile(w, out, err))
		return -1;
	/* If they are missing, the bundle only lacks a file for people to read. */
	if (w->request->pid &&
	    !procfs_read(w->request->pid, 0, "maps", MAPS_TEXT_MAX, &maps, &maps_len, &ignored) &&
	    bundle_out_add(out, "maps", maps, maps_len, err))
		return -1;
	if ((w->explain &&
	     bundle_out_add(out, BUNDLE_EXPLAIN, w->explain, strlen(w->explain), err)) ||
	    (w->stats.text && bundle_out_add(out, "stats.json", w->stats.text, w->stats.len, err)))
		return -1;
	return bundle_out_finish(out, err);
}

static void pack_confined(void *ctx)
{
	struct err err = ERR_INIT;

	if (pack_all(ctx, &err))
		confined_reply(true, &err, NULL, -1);
	else
		errand_done(NULL, -1);
}

static int write_bundle(struct work *w, struct err *err)
{
	const int fds[] = { w->profile, w->archive };
	const struct confined_options options = {
		.what = "make a bundle",
		.policy = { .pid = w->request->pid,
			    .pidfd = w->proc.pidfd,
			    .debuginfod = w->options->debuginfod,
			    .temporary_max_bytes = errand_file_max(w->profile_bytes),
			    .no_memory = !w->request->pid },
		.fds = fds,
		.n_fds = 2,
		.enter = load,
		.memory_max_bytes = errand_memory(w->profile_bytes),
		.file_max_bytes = errand_file_max(w->profile_bytes),
		.cpu_max_s = CPU_MAX_S,
	};
	_cleanup_(symbol_keeper_end) struct symbol_keeper keeper = SYMBOL_KEEPER_INIT;
	const struct errand_rules rules = {
		.look_up = symbol_keeper_look_up,
		.keeper = &keeper,
		.debuginfod = w->options->debuginfod,
		.on_warning = w->request->on_warning,
		.ctx = w->request->ctx,
		.deadline_ms = w->deadline_ms,
	};
	_cleanup_(confined_end) struct confined c = CONFINED_UNTIL(w->options->stop_fd);
	struct unpack answer;

	if (confined_start(&c, &options, pack_confined, w, err) ||
	    errand_run(&c, &rules, &answer, NULL, err))
		return -1;
	symbol_keeper_finish(&keeper, &c);
	return errand_check(w->archive, &rules, &w->result.bytes, err);
}

int ops_bundle(const struct ops_bundle_request *request, const struct ops_options *options,
	       struct ops_bundle *out, struct err *err)
{
	_cleanup_(work_fini) struct work w = {
		.request = request, .options = options, .profile = -1, .archive = -1
	};
	_cleanup_(output_close) struct output output = OUTPUT_INIT;
	bool to_stream = request->stream_fd >= 0;

	if (request->pid || options->timeout_ms)
		w.deadline_ms = now_ms() + ops_timeout_ms(options);
	w.result.file = request->output ? strdup(request->output) : default_name(&w);
	if (!w.result.file)
		return err_no_memory(err);
	if ((!to_stream && output_open(&output, w.result.file, request->force, err)) ||
	    memory_file_make(&w.archive, err))
		return -1;
	if (request->pid) {
		if (dump(&w, err))
			return -1;
		read_stats(&w);
		explain(&w);
	} else if (open_file(&w, err)) {
		return -1;
	}
	if (write_bundle(&w, err))
		return -1;
	if (to_stream ? output_copy(request->stream_fd, "the output stream", w.archive,
				    w.result.bytes, w.deadline_ms, err)
		      : output_commit(&output, w.archive, w.result.bytes, w.deadline_ms, err))
		return -1;
	*out = w.result;
	w.result.file = NULL;
	return 0;
}
