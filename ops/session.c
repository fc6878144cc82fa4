// SPDX-License-Identifier: Apache-2.0

#include "ops/session.h"

#include "base/clock.h"
#include "base/text.h"
#include "ops/look.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* --- which jemalloc --- */

#define LIST_SIZE 400
#define SHOWN_SIZE 256

/* The kernel marks the names of files that are gone. */
static bool is_named(const struct image *img, const char *path, const char *name)
{
	static const char gone[] = " (deleted)";
	size_t len = strlen(name);

	return !strcmp(path, name) ||
	       (img->is_deleted && !strncmp(path, name, len) && !strcmp(path + len, gone));
}

static bool is_meant(const struct jemalloc *je, const char *name)
{
	const char *path = je->image->path;

	return is_named(je->image, path, name) || is_named(je->image, text_file_name(path), name) ||
	       (*name && !strcmp(je->prefix, name));
}

/* "/usr/bin/a (je_), /usr/lib/libjemalloc.so.2 (no prefix)". */
static void list_all(const struct jemalloc *v, size_t n, char *buf, size_t size)
{
	size_t used = 0;

	buf[0] = '\0';
	for (size_t i = 0; i < n && used < size; i++) {
		char path[SHOWN_SIZE], prefix[SHOWN_SIZE];

		output_safe(v[i].image->path, path, sizeof(path));
		output_safe(v[i].prefix, prefix, sizeof(prefix));
		used += (size_t)snprintf(buf + used, size - used, "%s%s (%s)", i ? ", " : "", path,
					 *prefix ? prefix : "no prefix");
	}
}

int pick_jemalloc(struct jemalloc *v, size_t n, const char *name, struct jemalloc **picked,
		  struct err *err)
{
	char list[LIST_SIZE], safe[SHOWN_SIZE];
	struct jemalloc *found = NULL;
	size_t hits = 0;

	for (size_t i = 0; i < n && (name || !i); i++) {
		if (name && !is_meant(&v[i], name))
			continue;
		found = found ? found : &v[i];
		hits++;
	}
	if (hits == 1) {
		*picked = found;
		return 0;
	}
	list_all(v, n, list, sizeof(list));
	output_safe(name ? name : "", safe, sizeof(safe));
	if (hits)
		err_set(err, ERR_USAGE, "--image %s means %zu of its jemallocs: %s", safe, hits,
			list);
	else
		err_set(err, ERR_NOJEMALLOC, "--image %s is none of its jemallocs: %s", safe, list);
	return err_fix(err, "name one by its path or prefix; jeprof-ctl list --json has them all");
}

/* --- sessions --- */

#define BUSY_RETRY_MS 20

/* After a failure: true when it is worth trying again, after a short sleep. */
static bool busy_wait(const struct session *s, const struct err *err)
{
	const struct timespec nap = { .tv_nsec = BUSY_RETRY_MS * 1000000L };

	if (err->code != ERR_BUSY || now_ms() >= s->deadline_ms)
		return false;
	nanosleep(&nap, NULL);
	return true;
}

const char *session_who(const struct session *s, char *buf, size_t size)
{
	char comm[PROC_COMM_SIZE * 4];

	snprintf(buf, size, "%d (%s)", s->proc.pid,
		 output_safe(s->proc.status.comm, comm, sizeof(comm)));
	return buf;
}

/* A process that is just ending has no memory any more, before it has no pid any more. */
static bool has_ended(const struct session *s)
{
	struct err why = ERR_INIT;
	struct proc_status now;

	if (!proc_alive(&s->proc))
		return true;
	/* What cannot be read for a reason of our own (EMFILE) says nothing of the process. */
	if (proc_thread_status(s->proc.pid, 0, &now, &why))
		return why.code == ERR_LOST;
	return s->proc.status.rss_bytes && !now.rss_bytes;
}

/* Whatever failed in a process that has ended, or runs another program: that is the cause. */
static int failed(const struct session *s, struct err *err)
{
	char who[SESSION_WHO_SIZE];

	if (err->code == ERR_LOST)
		return -1;
	session_who(s, who, sizeof(who));
	if (has_ended(s))
		return err_set(err, ERR_LOST, "%s has ended meanwhile", who);
	return proc_replaced(&s->proc)
		       ? err_set(err, ERR_LOST, "%s became another program meanwhile", who)
		       : -1;
}

/* The injector failed, and touched nothing unless that is ERR_LOST. */
static int no_call(struct session *s, struct err *err)
{
	failed(s, err);
	s->no_call = err->code != ERR_LOST && !err->own;
	return -1;
}

int session_open_proc(struct session *s, pid_t pid, const struct ops_options *options,
		      struct err *err)
{
	err_forget();
	s->options = options;
	s->deadline_ms = now_ms() + options->wait_ms;
	s->timeout_ms = now_ms() + ops_timeout_ms(options);
	s->cost.pid = pid;
	if (proc_open(&s->proc, pid, err))
		return -1;
	memcpy(s->cost.comm, s->proc.status.comm, sizeof(s->cost.comm));
	return 0;
}

int session_may_trace(struct session *s, struct err *err)
{
	struct err again = ERR_INIT;

	/* If that fails, session_find_jemalloc() tries it again, and says why it failed. */
	if (s->looker.sock < 0 && look_begin(s, &again))
		look_end(s);
	while (proc_may_trace(&s->proc, err)) {
		look_end(s); /* what it found may have changed by then */
		if (!busy_wait(s, err) || proc_refresh(&s->proc, err))
			return failed(s, err);
	}
	return 0;
}

/* As nm(1) shows them: addresses in the image's file. */
static int log_found(struct session *s, struct err *err)
{
	const struct jemalloc *je = s->je;
	struct jemalloc_values ignored;
	const char *from = image_debug_source(je->image);
	char line[1024];
	struct {
		const char *name;
		uint64_t addr;
	} found[] = {
		{ "mallctl", je->mallctl },
		{ "malloc_stats_print", je->malloc_stats_print },
		{ "opt_prof", 0 },
	};

	if (!s->options->log)
		return 0;
	if (look_values(s, &ignored, err))
		return -1;
	found[2].addr = je->opt[OPT_PROF];
	for (size_t i = 0; i < sizeof(found) / sizeof(found[0]); i++) {
		if (!found[i].addr)
			continue;
		snprintf(line, sizeof(line), "%s%s at 0x%llx of %s%s%s", je->prefix, found[i].name,
			 (unsigned long long)(found[i].addr - je->image->bias), je->image->path,
			 from ? ", symbols from " : "", from ? from : "");
		s->options->log(s->options->ctx, line);
	}
	return 0;
}

int session_find_jemalloc(struct session *s, struct err *err)
{
	if (look_found(s, err))
		return failed(s, err);
	if (pick_jemalloc(s->jemallocs, s->n_jemallocs, s->options->image, &s->je, err))
		return failed(s, err);
	snprintf(s->version, sizeof(s->version), "%s", s->je->version);
	return log_found(s, err) ? failed(s, err) : 0;
}

int session_open_injector(struct session *s, struct err *err)
{
	const struct injector_options io = {
		.mode = s->options->mode,
		.timeout_ms = s->options->timeout_ms,
		.max_pause_ms = s->options->max_pause_ms,
		.stop_fd = s->options->stop_fd,
		.log = s->options->log,
		.ctx = s->options->ctx,
	};

	struct callsite *site;

	if (s->options->mode == INJECTOR_POKE)
		return err_set(err, ERR_USAGE,
			       "--mode poke makes no call: activate, deactivate and undo alone can "
			       "do without");
	while (injector_may_work(&s->proc, &s->images, err)) {
		if (!busy_wait(s, err))
			return no_call(s, err);
	}
	return look_site(s, &site, err) ||
			       injector_open(&s->inj, &s->proc, &s->images, s->je, site, &io, err)
		       ? no_call(s, err)
		       : 0;
}

int session_open(struct session *s, pid_t pid, const struct ops_options *options, struct err *err)
{
	if (session_open_proc(s, pid, options, err) || session_may_trace(s, err) ||
	    session_find_jemalloc(s, err))
		return -1;
	return session_open_injector(s, err);
}

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
int session_may_unwind(const struct session *s, enum jemalloc_unwinder unwinder, struct err *err)
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
int session_may_gdump(const struct session *s, struct err *err)
{
	char who[SESSION_WHO_SIZE];

	err_set(err, ERR_FAILED,
		"dumps at new maxima (prof.gdump) may hang %s for good: jemalloc makes them also "
		"where a thread holds a lock that the dump takes",
		session_who(s, who, sizeof(who)));
	return err_fix(err,
		       "record --interval makes dumps as memory grows, without that risk; take it "
		       "with --force");
}

static enum tristate answer_of(const struct call *call)
{
	if (!call->made || call->ret)
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
	return err_fix(err, "without --mode poke it is asked for by a call; or take the risk with "
			    "--force");
}

int session_may_sample(struct session *s, struct err *err)
{
	enum jemalloc_unwinder unwinder;
	struct jemalloc_values values;
	enum tristate gdump;

	if (look_values(s, &values, err))
		return failed(s, err);
	unwinder = s->je->unwinder;
	gdump = jemalloc_value_is(&values, OPT_PROF_GDUMP);
	/* Where opt.prof is false, that is what the calls fail with. */
	if (!unwinder || gdump == TRI_UNKNOWN || jemalloc_value_is(&values, OPT_PROF) == TRI_NO) {
		if (!s->inj)
			return not_asked(s, err);
		if (ask_sampling(s, &unwinder, &gdump, err))
			return -1;
	}
	if (session_may_unwind(s, unwinder, err))
		return -1;
	return gdump == TRI_NO ? 0 : session_may_gdump(s, err);
}

void session_close(struct session *s)
{
	injector_close(s->inj);
	look_end(s);
	free(s->jemallocs);
	images_fini(&s->images);
	proc_close(&s->proc);
	*s = (struct session)SESSION_INIT;
}

static bool succeeded(const struct call *call)
{
	return call->made && !call->ret;
}

static void add_cost(struct session *s, const struct injector_report *report,
		     const struct call *calls, size_t n)
{
	s->last = *report;
	if (report->fresh)
		return;
	s->cost.stops += report->stops;
	s->cost.tid = report->tid;
	s->cost.mode = report->mode;
	s->cost.pause_us += report->pause_us;
	s->cost.prolonged += report->prolonged;
	s->cost.late_us += report->late_us;
	for (size_t i = 0; i < n; i++)
		s->cost.call_us += calls[i].made ? calls[i].call_us : 0;
}

static int not_jemalloc(const struct session *s, const char *version, struct err *err)
{
	char who[SESSION_WHO_SIZE], safe[sizeof(s->version) * 4];

	err_set(err, ERR_NOJEMALLOC,
		"what was found at %#llx in %s, which has no symbols, is not jemalloc's mallctl: "
		"asked for its version it %s%s instead of %s",
		(unsigned long long)s->je->mallctl, session_who(s, who, sizeof(who)),
		*version ? "said " : "failed", output_safe(version, safe, sizeof(safe)),
		s->je->version);
	return err_fix(err, "run a build of the program that was not stripped, or install its "
			    "debug symbols");
}

unsigned int session_left_ms(const struct session *s)
{
	uint64_t now = now_ms();

	return now < s->timeout_ms ? (unsigned int)(s->timeout_ms - now) : 0;
}

int session_no_config_prof(const struct session *s, struct err *err)
{
	char who[SESSION_WHO_SIZE];

	err_set(err, ERR_NOPROF,
		"config.prof is false in %s: its jemalloc was built without profiling",
		session_who(s, who, sizeof(who)));
	/* The program calls it by names of its own, or by its own malloc(3). */
	if (*s->je->prefix || s->je->linkage == LINKAGE_STATIC)
		return err_fix(err,
			       "build it with a jemalloc that has profiling (--enable-prof%s): no "
			       "library that is preloaded takes the place of this one",
			       strcmp(s->je->prefix, "_rjem_") ? ""
							       : "; in Rust the feature profiling "
								 "of tikv-jemallocator");
	return err_fix(err,
		       "run it with a jemalloc built with --enable-prof (Debian's libjemalloc2 "
		       "on amd64 is one; LD_PRELOAD can bring it in)");
}

int session_no_opt_prof(const struct session *s, struct err *err)
{
	char who[SESSION_WHO_SIZE], name[sizeof(s->je->conf_name) * 4];

	output_safe(s->je->conf_name, name, sizeof(name));
	err_set(err, ERR_NOPROF,
		"opt.prof is false in %s: its jemalloc was started without profiling, "
		"which cannot be changed while it runs",
		session_who(s, who, sizeof(who)));
	return err_fix(err, "restart it with %s=prof:true,prof_active:false in its environment",
		       name);
}

int session_call_failed(const struct session *s, const struct call *call, struct err *err)
{
	char who[SESSION_WHO_SIZE];

	session_who(s, who, sizeof(who));
	if (!call->made)
		return err_set(err, ERR_FAILED, "%s was not called in %s", call->name, who);
	if (call->ret == ENOENT)
		return err_set(err, ERR_FAILED, "jemalloc %s in %s does not know %s",
			       s->version[0] ? s->version : "of unknown version", who, call->name);
	if (call->ret == EFAULT && call->sys)
		return err_target(err, ERR_FAILED, call->sys, "%s failed in %s", call->name, who);
	return err_target(err, ERR_FAILED, call->ret, "%s failed in %s", call->name, who);
}

/* What is asked before the calls of a run are made. */
struct gate {
	char confirmed[64], version[64]; /* as that of struct jemalloc */
	bool config_prof, opt_prof;
};
enum { GATE_VERSION, GATE_CONFIG_PROF, GATE_OPT_PROF, GATE_CALLS };

/* The version is known already: if that is not what comes back, it is the last call. */
static struct call confirm(const struct session *s, struct gate *gate)
{
	struct call call = call_read_string("version", gate->confirmed, sizeof(gate->confirmed));

	call.expect = s->je->version;
	return call;
}

static void add_gate(struct gate *gate, struct call calls[GATE_CALLS])
{
	static const bool yes = true;

	calls[GATE_VERSION] = call_read_string("version", gate->version, sizeof(gate->version));
	calls[GATE_CONFIG_PROF] = call_read("config.prof", &gate->config_prof, sizeof(bool));
	calls[GATE_OPT_PROF] = call_read("opt.prof", &gate->opt_prof, sizeof(bool));
	calls[GATE_CONFIG_PROF].expect = calls[GATE_OPT_PROF].expect = &yes;
}

static int gate_verdict(struct session *s, const struct gate *gate, const struct call *calls,
			struct err *err)
{
	for (size_t i = 0; i < GATE_CALLS; i++) {
		if (!succeeded(&calls[i]))
			return session_call_failed(s, &calls[i], err);
		if (i == GATE_VERSION)
			snprintf(s->version, sizeof(s->version), "%s", gate->version);
		if (i == GATE_CONFIG_PROF && !gate->config_prof)
			return session_no_config_prof(s, err);
	}
	return gate->opt_prof ? 0 : session_no_opt_prof(s, err);
}

static bool all_succeeded(const struct call *calls, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!succeeded(&calls[i]))
			return false;
	return true;
}

int session_run(struct session *s, const struct run *run, struct err *err)
{
	const size_t n_confirm = s->je->by_scan, n_gate = run->gated ? GATE_CALLS : 0;
	const size_t n_first = run->gated ? run->n_unconditional : run->n;
	struct gate gate = { .version = "" };
	struct call all[CALLS_MAX], *first = all + n_confirm, *gates = first + n_first;
	struct injector_run in = { .calls = all,
				   .n = n_confirm + run->n + n_gate,
				   .tid = run->tid,
				   .search_ms = run->search_ms };
	struct injector_report report = { 0 };
	bool failed;

	if (run->n > SESSION_CALLS_MAX)
		return err_set(err, ERR_FAILED, "too many calls for one run: %zu", run->n);
	if (n_confirm)
		all[0] = confirm(s, &gate);
	memcpy(first, run->calls, n_first * sizeof(*all));
	if (n_gate)
		add_gate(&gate, gates);
	memcpy(gates + n_gate, run->calls + n_first, (run->n - n_first) * sizeof(*all));
	do {
		failed = injector_run(s->inj, &in, &report, err) != 0;
	} while (failed && busy_wait(s, err));
	memcpy(run->calls, first, n_first * sizeof(*all));
	memcpy(run->calls + n_first, gates + n_gate, (run->n - n_first) * sizeof(*all));
	if (failed)
		return no_call(s, err);
	add_cost(s, &report, all, in.n);
	if (report.fresh)
		return 0;
	if (n_confirm && (!succeeded(&all[0]) || strcmp(gate.confirmed, s->je->version) != 0))
		return not_jemalloc(s, gate.confirmed, err);
	return n_gate && all_succeeded(first, n_first) ? gate_verdict(s, &gate, gates, err) : 0;
}

bool session_older(const struct session *s, int major, int minor, int patch)
{
	return jemalloc_version_cmp(s->version, major, minor, patch) < 0;
}

struct call call_read(const char *name, void *old, size_t len)
{
	return (struct call){ .name = name, .old = old, .old_len = len, .fd = -1 };
}

struct call call_write(const char *name, const void *new, size_t len)
{
	return (struct call){ .name = name, .new = new, .new_len = len, .fd = -1 };
}

struct call call_swap(const char *name, void *old, const void *new, size_t len)
{
	return (struct call){
		.name = name, .old = old, .old_len = len, .new = new, .new_len = len, .fd = -1
	};
}

struct call call_read_string(const char *name, char *old, size_t size)
{
	return (struct call){
		.name = name, .flags = CALL_OLD_STRING, .old = old, .old_len = size, .fd = -1
	};
}

struct call call_write_string(const char *name, const char *text)
{
	return (struct call){ .name = name,
			      .flags = CALL_NEW_STRING,
			      .new = text,
			      .new_len = strlen(text) + 1,
			      .fd = -1 };
}
