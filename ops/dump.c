// SPDX-License-Identifier: Apache-2.0
#include "ops/ops.h"

#include "base/cleanup.h"
#include "io/output.h"
#include "io/received.h"
#include "ops/dump.h"
#include "ops/dump_file_name.h"
#include "ops/render.h"
#include "ops/target/facts.h"
#include "ops/target/inside.h"
#include "ops/target/inside_file.h"
#include "ops/target/look.h"
#include "ops/target/mapped.h"
#include "ops/target/open.h"
#include "ops/target/run.h"
#include "ops/watch/own_dumps.h"
#include "process/limit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define STACK_BYTES 512			   /* a stack in a profile, with its counts */
#define PROFILE_LARGE (UINT64_C(32) << 20) /* bytes */
#define ANSWER_MAX 8192			   /* bytes: an error or nothing */

void ops_dump_fini(struct ops_dump *dump)
{
	free(dump->file);
	dump->file = NULL;
}

bool ops_names_folder(const char *file)
{
	return *file && file[strlen(file) - 1] == '/';
}

static char *new_path(pid_t pid, const char *name, const char *folder, const char *why,
		      const char *suffix)
{
	static const char ok[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_";
	char comm[PROC_COMM_SIZE] = "", stamp[32], *path = NULL;
	time_t now = time(NULL);
	struct tm tm;

	/* A comm can hold any byte: all but letters, digits, '-' and '_' become '_'. */
	for (size_t i = 0; i < sizeof(comm) - 1 && name[i]; i++)
		comm[i] = strchr(ok, name[i]) ? name[i] : '_';
	strftime(stamp, sizeof(stamp), "%Y%m%dT%H%M%SZ", gmtime_r(&now, &tm));
	if (asprintf(&path, "%s%s.%d.%s%s%s%s", folder, *comm ? comm : "process", pid, stamp,
		     why ? GUARD_PART : "", why ? why : "", suffix) < 0)
		return NULL;
	return path;
}

char *dump_path(const struct proc *p, const char *file)
{
	if (file && !ops_names_folder(file))
		return strdup(file);
	return new_path(p->pid, p->status.comm, file ? file : "", NULL, ".heap");
}

int dump_open(const struct proc *p, const char *file, bool force, struct output *out, char **path,
	      struct err *err)
{
	if (!file)
		return 0;
	*path = dump_path(p, file);
	return *path ? output_open(out, *path, force, err) : err_no_memory(err);
}

char *dump_path_of_guard(pid_t pid, const char *comm, const char *folder, const char *why)
{
	return new_path(pid, comm, folder, why, ".heap");
}

char *dump_name(pid_t pid, const char *comm, const char *suffix)
{
	return new_path(pid, comm, "", NULL, suffix);
}

/* Asked before the dump, which depends on it if `needed`. */
static struct call ask_active(bool *active, bool needed)
{
	static const bool yes = true;
	struct call call = call_read("prof.active", active, sizeof(*active));

	call.expect = needed ? &yes : NULL;
	call.flags |= needed ? 0 : CALL_KEEP_GOING;
	return call;
}

static bool is_inactive(const struct call *active)
{
	return call_answer(active) == TRI_NO;
}

static int no_dump(const struct session *s, struct err *err)
{
	err_raise(err, ERROR_PROF_INACTIVE, SESSION_ARGS(s));
	return err_advise(err, FIX_ACTIVATE, .pid = s->proc.pid);
}

static void warn_inactive(const struct call *active, struct ops_dump *dump)
{
	if (is_inactive(active))
		err_raise(&dump->warning, ERROR_SAMPLED_BEFORE);
}

static int check_profile(int fd, uint64_t bytes, struct err *err)
{
	char head[16] = "";

	if (pread(fd, head, sizeof(head) - 1, 0) < 0)
		return err_raise_sys(err, ERROR_DUMP_UNREADABLE, errno);
	if (strncmp(head, "heap_v2/", 8) && strncmp(head, "heap profile:", 13))
		return err_raise(err, ERROR_DUMP_NO_PROFILE, .number = (int64_t)bytes);
	return 0;
}

static struct received_rules profile_rules(const struct session *s)
{
	return (struct received_rules){
		.what = "the target's profile",
		.max_bytes = s->options->max_bytes ? s->options->max_bytes : OPS_PROFILE_MAX,
		.deadline_ms = s->timeout_ms,
	};
}

/* --- coverage of a profile --- */

#define COUNT_CALLS 4

/* From mallctl; the size of thread caches is available in 5.0 and newer (4096: all arenas). */
struct count {
	uint64_t allocated, cached;
	bool opt_active;
};

static void count_calls(struct count *c, struct call calls[COUNT_CALLS])
{
	static const uint64_t epoch = 1;

	calls[0] = call_write("epoch", &epoch, sizeof(epoch));
	calls[1] = call_read("stats.allocated", &c->allocated, sizeof(c->allocated));
	calls[2] = call_read("stats.arenas.4096.tcache_bytes", &c->cached, sizeof(c->cached));
	calls[3] = call_read("opt.prof_active", &c->opt_active, sizeof(c->opt_active));
	for (size_t i = 0; i < COUNT_CALLS; i++)
		calls[i].flags |= CALL_KEEP_GOING;
}

static void count_take(struct session *s, const struct count *c, const struct call *calls)
{
	s->allocated = call_succeeded(&calls[1]) ? c->allocated : 0;
	if (call_succeeded(&calls[2]))
		s->allocated -= c->cached < s->allocated ? c->cached : s->allocated;
	s->opt_active = call_answer(&calls[3]);
}

int dump_count(struct session *s, struct err *err)
{
	struct count count = { 0 };
	struct call calls[COUNT_CALLS];

	count_calls(&count, calls);
	if (session_run(s, &(struct run){ .calls = calls, .n = COUNT_CALLS }, err))
		return -1;
	count_take(s, &count, calls);
	return 0;
}

/* The calls of a dump, after those that read the totals it is a part of. */
static int run_counted(struct session *s, struct call *calls, size_t n, struct err *err)
{
	struct call all[SESSION_CALLS_MAX];
	struct count count = { 0 };
	int failed;

	if (n > SESSION_CALLS_MAX - COUNT_CALLS)
		return err_raise(err, ERROR_TOO_MANY_CALLS, .number = (int64_t)n);
	count_calls(&count, all);
	memcpy(all + COUNT_CALLS, calls, n * sizeof(*calls));
	failed = session_run(s, &(struct run){ .calls = all, .n = COUNT_CALLS + n, .gated = true },
			     err);
	memcpy(calls, all + COUNT_CALLS, n * sizeof(*calls));
	count_take(s, &count, all);
	return failed;
}

/* --- a profile through memory --- */

/* A profile of our own that is being completed. */
struct work {
	const struct session *s;
	uint64_t deadline_ms;
	int fd;
	uint64_t bytes;
};

static void complete_profile(void *ctx)
{
	const struct work *w = ctx;
	struct err err = ERR_INIT;
	int failed;

	failed = check_profile(w->fd, w->bytes, &err) ||
		 mapped_complete(w->fd, &w->s->proc, w->deadline_ms, &err) ||
		 facts_append(w->fd, w->s, &err);
	confined_reply(failed, &err, NULL, -1);
}

/* Makes a complete profile of our own from what the target wrote. */
static int take_profile(const struct session *s, int from, int *fd, uint64_t *bytes,
			struct err *err)
{
	struct received_rules rules = profile_rules(s);
	_cleanup_(confined_end) struct confined c = CONFINED_UNTIL(s->options->stop_fd);
	_cleanup_(cleanup_close) int got = -1;
	struct work w = { .s = s, .deadline_ms = rules.deadline_ms };
	struct confined_options options = {
		.what = "complete the profile",
		.policy = { .pid = s->proc.pid, .pidfd = s->proc.pidfd },
		.fds = &got,
		.n_fds = 1,
	};
	struct unpack answer;

	if (received_copy(from, &rules, &got, &w.bytes, err))
		return -1;
	w.fd = got;
	options.file_max_bytes = w.bytes + CONFINED_FILE;
	if (confined_start(&c, &options, complete_profile, &w, err) ||
	    confined_answer(&c, session_left_ms(s), ANSWER_MAX, &answer, NULL, err))
		return -1;
	rules.max_bytes = UINT64_MAX;
	if (received_check(got, &rules, bytes, err))
		return -1;
	*fd = take_fd(got);
	return 0;
}

/* Advises what to do if the target ran into a limit. */
static bool limit_fix(const struct session *s, int sys, struct err *err)
{
	if (sys == EFBIG)
		err_advise(err, FIX_FSIZE_LIMITED, .pid = s->proc.pid);
	else if (sys == EMFILE)
		err_advise(err, FIX_NOFILE_LIMITED, .pid = s->proc.pid);
	return sys == EFBIG || sys == EMFILE;
}

struct call dump_call(void)
{
	return (struct call){ .name = "prof.dump", .flags = CALL_MEMFD, .fd = -1 };
}

/*
 * An estimate of the profile's size, if the limit of a control group is near: what jemalloc writes
 * to memory is charged to the target. One stack for each sample in the resident memory, and no more
 * than the largest profiles seen. 0: unknown.
 */
static uint64_t estimate(struct session *s)
{
	struct jemalloc_values values = { 0 };
	struct err ignored = ERR_INIT;
	struct limit l;
	uint64_t stacks;

	if (!limit_of_cgroup(s->proc.pid, &l) ||
	    (l.limit > l.used && l.limit - l.used > 2 * PROFILE_LARGE) ||
	    look_values(s, &values, &ignored) || !values.opt[OPT_LG_PROF_SAMPLE].known)
		return 0;
	stacks = s->proc.status.rss_bytes >> (values.opt[OPT_LG_PROF_SAMPLE].value & 63);
	return stacks < PROFILE_LARGE / STACK_BYTES ? stacks * STACK_BYTES : PROFILE_LARGE;
}

int dump_run(struct session *s, struct call *calls, size_t n, size_t at, int *fd, uint64_t *bytes,
	     struct err *err)
{
	_cleanup_(cleanup_close) int got = -1;
	int own = own_dump_begin(&s->proc, calls[at].new), failed;

	calls[at].file_bytes = estimate(s);
	failed = run_counted(s, calls, n, err);
	own_dump_end(own);
	got = take_fd(calls[at].fd);
	if (failed) {
		/* Without a thread there is no memfd: the alternative is the target's own file. */
		if (err->code == ERR_FAILED && !err->own && !limit_fix(s, err->sys, err) &&
		    !err->fixes[0])
			err_advise(err, FIX_IN_TARGET);
		return -1;
	}
	if (!call_succeeded(&calls[at]) || got < 0) {
		session_call_failed(s, &calls[at], err);
		if (calls[at].made && calls[at].ret && !limit_fix(s, err->sys, err))
			err_advise(err, FIX_IN_TARGET_WITHOUT_FD);
		return -1;
	}
	return take_profile(s, got, fd, bytes, err);
}

int dump_take(struct session *s, const struct ops_dump_request *request, const char *label, int *fd,
	      struct ops_dump *dump, struct err *err)
{
	bool active = false;
	struct call calls[] = { ask_active(&active, request->only_active), dump_call() };

	calls[1].new = label;
	if (dump_run(s, calls, 2, 1, fd, &dump->bytes, err))
		return request->only_active && is_inactive(&calls[0]) ? no_dump(s, err) : -1;
	warn_inactive(&calls[0], dump);
	return 0;
}

const char *dump_label(const char *path, char buf[DUMP_LABEL_SIZE])
{
	char cwd[DUMP_LABEL_SIZE] = "";
	bool whole = path[0] == '/' || !strcmp(path, "-");
	int len;

	if (!whole && !getcwd(cwd, sizeof(cwd)))
		return NULL;
	len = snprintf(buf, DUMP_LABEL_SIZE, "%s%s%s", cwd, whole || !cwd[1] ? "" : "/", path);
	return len > 0 && len < DUMP_LABEL_SIZE ? buf : NULL;
}

int dump_check_memory(const struct session *s, struct err *err)
{
	if (inside_has_proc(s))
		return 0;
	err_raise(err, ERROR_NO_PROC_FOR_DUMP, SESSION_ARGS(s));
	return err_advise(err, FIX_IN_TARGET);
}

/* After the target has been released. */
static int render(const struct session *s, const struct ops_dump_request *request, int *fd,
		  struct ops_dump *dump, struct err *err)
{
	const struct ops_symbolize_options symbols = {
		.pid = s->proc.pid,
		.pidfd = s->proc.pidfd,
		.debuginfod = s->options->debuginfod,
		.no_cache = request->no_cache,
		.on_warning = request->on_warning,
		.ctx = request->ctx,
	};

	if (!request->format)
		return 0;
	return render_profile(s,
			      &(struct render_request){
				      .format = profile_format_by_name(request->format),
				      .path = request->file,
				      .max_stacks = request->max_stacks,
			      },
			      &symbols, fd, &dump->bytes, err);
}

/* A default name has the suffix of its format. */
static char *name_output(const struct session *s, const struct ops_dump_request *request)
{
	const char *folder = request->file ? request->file : "";

	if (!request->format || (request->file && !ops_names_folder(request->file)))
		return dump_path(&s->proc, request->file);
	return new_path(s->proc.pid, s->proc.status.comm, folder, NULL,
			profile_format_info(profile_format_by_name(request->format))->suffix);
}

/* Through a memfd: to a file, or to the requested stream. */
static int dump_by_memfd(struct session *s, const struct ops_dump_request *request,
			 struct ops_dump *dump, struct err *err)
{
	_cleanup_(output_close) struct output output = OUTPUT_INIT;
	_cleanup_(cleanup_free) char *path = NULL;
	_cleanup_(cleanup_close) int fd = -1;
	bool to_stream = request->stream_fd >= 0;
	char label[DUMP_LABEL_SIZE];

	if (dump_check_memory(s, err))
		return -1;
	path = to_stream ? strdup("-") : name_output(s, request);
	if (!path)
		return err_no_memory(err);
	if ((!to_stream && output_open(&output, path, request->force, err)) ||
	    session_open_injector(s, err) ||
	    dump_take(s, request, dump_label(path, label), &fd, dump, err) ||
	    render(s, request, &fd, dump, err))
		return -1;
	if (to_stream)
		return output_copy(request->stream_fd, "the output stream", fd, dump->bytes,
				   s->timeout_ms, err);
	if (output_commit(&output, fd, dump->bytes, s->timeout_ms, err))
		return -1;
	dump->file = take_ptr(path);
	return 0;
}

static int run_in_target(struct session *s, struct call dump_call, bool only_active, bool by_prefix,
			 struct ops_dump *dump, struct err *err)
{
	bool active = false;
	struct call calls[] = { ask_active(&active, only_active), dump_call };

	if (run_counted(s, calls, 2, err))
		return -1;
	if (only_active && is_inactive(&calls[0]))
		return no_dump(s, err);
	if (call_succeeded(&calls[1])) {
		warn_inactive(&calls[0], dump);
		return 0;
	}
	session_call_failed(s, &calls[1], err);
	if (calls[1].made && calls[1].ret == EFAULT && by_prefix)
		return err_advise(err, FIX_SEE_PREFIX);
	if (calls[1].made && calls[1].ret && !limit_fix(s, err->sys, err))
		return err_advise(err, FIX_NAME_A_PATH_IN_TARGET);
	return -1;
}

/* Fails only when the target did not write a complete profile. */
static int complete(const struct session *s, const struct inside *in, struct ops_dump *dump,
		    struct err *err)
{
	const struct received_rules rules = profile_rules(s);
	struct err why = ERR_INIT;

	if (!inside_file_complete(in, s, &rules, &why))
		return 0;
	if (why.code == ERR_FAILED) {
		*err = why;
		return -1;
	}
	err_unadvise(&why);
	err_within(&why, ERROR_MAY_LACK_FACTS);
	dump->warning = why;
	return 0;
}

static int dump_to_target_path(struct session *s, const struct ops_dump_request *request,
			       struct ops_dump *dump, struct err *err)
{
	_cleanup_(inside_close) struct inside in = INSIDE_INIT;
	uint64_t old_size;
	bool existed;

	if (inside_open(&in, s, request->target_path, true, err) ||
	    inside_absent(&in, request->force, err) || session_open_injector(s, err))
		return -1;
	existed = inside_size(&in, &old_size);
	if (run_in_target(s, call_write_string("prof.dump", in.path), request->only_active, false,
			  dump, err) ||
	    complete(s, &in, dump, err)) {
		/*
		 * A partial profile is useless. While the call may still run, the file is the
		 * target's.
		 */
		if (!existed && err->code == ERR_FAILED)
			inside_remove(&in);
		return -1;
	}
	if (!inside_size(&in, &dump->bytes))
		return err_raise(err, ERROR_DUMP_MISSING);
	dump->file = take_ptr(in.path);
	return 0;
}

static int warn_unknown_file(struct ops_dump *dump)
{
	err_raise(&dump->warning, ERROR_FILE_NAME_UNKNOWN);
	return 0;
}

/*
 * Which file the target wrote: the newest by its prefix, if that has changed. Otherwise the dump
 * went to a prefix that was set after the start.
 */
static int find_dump(struct session *s, const struct inside *in, const struct inside_dump *before,
		     struct ops_dump *dump, struct err *err)
{
	struct inside_dump after;
	struct inside file = { .s = s, .dir = in->dir, .name = after.name };

	if (!inside_newest_dump(in, &after) ||
	    (!strcmp(after.name, before->name) &&
	     !memcmp(&after.written, &before->written, sizeof(after.written))) ||
	    !inside_size(&file, &dump->bytes))
		return warn_unknown_file(dump);
	if (complete(s, &file, dump, err))
		return -1;
	inside_size(&file, &dump->bytes); /* it has grown */
	if (asprintf(&dump->file, "%.*s%s", (int)(strlen(in->path) - strlen(in->name)), in->path,
		     after.name) < 0) {
		dump->file = NULL;
		return err_no_memory(err);
	}
	return 0;
}

static int dump_by_prefix(struct session *s, bool only_active, struct ops_dump *dump,
			  struct err *err)
{
	_cleanup_(inside_close) struct inside in = INSIDE_INIT;
	struct call call = { .name = "prof.dump", .fd = -1 };
	struct inside_dump before = { 0 };
	char prefix[OPS_TEXT_SIZE] = "";
	/* The prefix at its start; one set later with prof.prefix cannot be read back. */
	struct call ask = call_read_string("opt.prof_prefix", prefix, sizeof(prefix));
	struct err ignored = ERR_INIT;
	bool known;

	if (session_open_injector(s, err) ||
	    session_run(s, &(struct run){ .calls = &ask, .n = 1, .gated = true }, err))
		return -1;
	if (!call_succeeded(&ask))
		return session_call_failed(s, &ask, err);
	if (!*prefix && session_older(s, 5, 3, 0)) {
		err_raise(err, ERROR_NO_PREFIX, SESSION_ARGS(s));
		return err_advise(err, FIX_GIVE_A_PATH);
	}
	known = *prefix && !inside_open(&in, s, prefix, false, &ignored);
	if (known)
		inside_newest_dump(&in, &before);
	if (run_in_target(s, call, only_active, true, dump, err))
		return -1;
	return known ? find_dump(s, &in, &before, dump, err) : warn_unknown_file(dump);
}

int ops_dump(pid_t pid, const struct ops_dump_request *request, const struct ops_options *options,
	     struct ops_dump *out, struct err *err)
{
	_cleanup_(session_close) struct session s = SESSION_INIT;
	struct ops_dump dump = { 0 };
	int failed;

	if (request->format && profile_format_by_name(request->format) == PROFILE_FORMAT_NONE)
		return profile_format_unknown(request->format, "", err);
	if (session_open_proc(&s, pid, options, err) || session_may_trace(&s, err) ||
	    session_find_jemalloc(&s, err))
		return -1;
	dump.via = request->in_target ? OPS_VIA_TARGET : OPS_VIA_MEMFD;
	failed = !request->in_target	? dump_by_memfd(&s, request, &dump, err)
		 : request->target_path ? dump_to_target_path(&s, request, &dump, err)
					: dump_by_prefix(&s, request->only_active, &dump, err);
	if (failed) {
		ops_dump_fini(&dump);
		return -1;
	}
	dump.cost = s.cost;
	*out = dump;
	return 0;
}
