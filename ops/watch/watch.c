// SPDX-License-Identifier: Apache-2.0
#include "ops/watch/watch.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "bpf/watch.h"
#include "ops/hook.h"
#include "ops/watch/event.h"
#include "ops/watch/find.h"
#include "ops/watch/frames.h"
#include "ops/watch/who.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PIDS_MAX 64

struct state {
	const struct ops_watch_request *request;
	struct watch *watch;
	struct watch_finder finder;
	struct watch_whos whos;
	struct watch_frames frames;
	struct hooks hooks;
	struct watch_texts texts;
	struct ops_watch_event event;
	struct ops_watch_summary sum;
	uint64_t deadline_ms; /* 0: none */
	int pidfds[PIDS_MAX]; /* of request->pids, -1 for those that have ended */
	size_t n_pidfds;
	bool failed; /* a handler failed: see `err` */
	struct err err;
};

/* Passes the event to the command. */
static void run_hook(struct state *s)
{
	const struct ops_watch_event *e = &s->event;
	struct hook_env env;

	hook_env_begin(&env);
	hook_set_time(&env, "TIME", &e->time);
	hook_set_number(&env, "PID", (uint64_t)e->pid);
	hook_set_number(&env, "TID", (uint64_t)e->tid);
	hook_set(&env, "COMM", e->comm);
	hook_set(&env, "KIND", watch_kind_name(e->kind));
	hook_set(&env, "FILE", e->file);
	hook_set(&env, "HOST_FILE", e->host_file ? e->host_file : e->file);
	hook_set(&env, "OK", e->ok ? "true" : "false");
	hook_set(&env, "ERROR", e->error);
	if (e->has_bytes)
		hook_set_number(&env, "BYTES", e->bytes);
	else
		hook_set(&env, "BYTES", NULL);
	hook_set_number(&env, "DURATION_US", e->duration_us);
	hook_set(&env, "SOURCE", e->probed ? "uprobe" : "tracepoint");
	hook_set(&env, "BY", e->by_us ? "jeprof-ctl" : NULL);
	hook_set(&env, "CGROUP", e->cgroup);
	hook_set(&env, "CONTAINER", e->container);
	hook_run(&s->hooks, &env);
}

static bool has_enough(const struct state *s)
{
	return s->failed || (s->request->count && s->sum.events >= s->request->count);
}

static void on_dump(void *ctx, const struct watch_dump *dump)
{
	struct state *s = ctx;
	const struct watch_who *who;

	if (has_enough(s) || !watch_event_is_dump(dump))
		return;
	who = watch_who_find(&s->whos, (pid_t)dump->pid, dump->process_began_ns);
	watch_event_make(dump, who, &s->frames, &s->texts, &s->event);
	s->sum.events++;
	s->sum.failed += !s->event.ok;
	s->failed = s->request->event(s->request->ctx, &s->event, &s->err) != 0;
	if (hooks_wanted(&s->hooks))
		run_hook(s);
}

static void on_begin(void *ctx, const struct watch_begin *begin)
{
	struct state *s = ctx;

	/* Its process is recorded now, as it may end with its dump. */
	(void)watch_who_find(&s->whos, (pid_t)begin->process.pid, begin->process.began_ns);
	watch_frames_begin(&s->frames, begin);
}

static void on_process(void *ctx, pid_t pid)
{
	struct state *s = ctx;

	watch_find_later(&s->finder, pid);
}

static int start(struct state *s, struct err *err)
{
	const struct watch_options options = { .all = s->request->all,
					       .stacks = s->request->stacks };
	const struct watch_handlers handlers = { on_dump, on_begin, on_process, s };

	if (s->request->n_pids > PIDS_MAX)
		return err_raise(err, ERROR_TOO_MANY_PROCESSES, .limit = PIDS_MAX);
	if (watch_open(&s->watch, &options, &handlers, err) ||
	    (s->request->stacks && watch_frames_start(&s->frames, err)))
		return -1;
	s->finder.watch = s->watch;
	s->finder.debuginfod = s->request->debuginfod;
	s->finder.no_uprobes = s->request->no_uprobes;
	s->finder.files.dumps = s->finder.files.confined = true;
	s->finder.looker.debuginfod = s->request->debuginfod;
	s->finder.files.debuginfod = s->request->debuginfod;
	s->finder.on_warning = s->request->on_warning;
	s->finder.ctx = s->request->ctx;
	if (s->request->all && watch_find_all(&s->finder, err))
		return -1;
	for (size_t i = 0; !s->request->all && i < s->request->n_pids; i++) {
		pid_t pid = s->request->pids[i];
		int fd;

		if (watch_find_one(&s->finder, pid, err))
			return -1;
		fd = (int)syscall(SYS_pidfd_open, pid, 0);
		if (fd < 0)
			return err_raise_sys(err, ERROR_UNWATCHED, errno,
					     .code = errno == ESRCH ? ERR_NOPROC : ERR_FAILED,
					     .pid = pid);
		s->pidfds[s->n_pidfds++] = fd;
	}
	if (s->request->for_ms)
		s->deadline_ms = now_ms() + s->request->for_ms;
	return s->request->ready(s->request->ctx, s->finder.processes, err);
}

static int sooner(int a, int b)
{
	return a < 0 ? b : b < 0 || a < b ? a : b;
}

/* How long nothing needs to be done, in ms; -1: until something happens. */
static int idle_ms(struct state *s)
{
	uint64_t now = now_ms();
	int ms;

	watch_find_due(&s->finder, &ms);
	if (hooks_go_on(&s->hooks))
		ms = sooner(ms, HOOKS_POLL_MS);
	if (s->deadline_ms)
		ms = sooner(ms, s->deadline_ms > now ? (int)(s->deadline_ms - now) : 0);
	return ms;
}

enum { AT_RING, AT_BEGINS, AT_STOP, AT_OUT, AT_PIDS };

/* Wait, and report what there is. 1: it is over. */
static int turn(struct state *s, struct err *err)
{
	struct pollfd fds[AT_PIDS + PIDS_MAX] = {
		[AT_RING] = { .fd = watch_fd(s->watch), .events = POLLIN },
		[AT_BEGINS] = { .fd = watch_begins_fd(s->watch), .events = POLLIN },
		[AT_STOP] = { .fd = s->request->stop_fd, .events = POLLIN },
		[AT_OUT] = { .fd = s->request->out_fd },
	};
	uint64_t lost, more;
	size_t alive = 0;
	bool over;

	for (size_t i = 0; i < s->n_pidfds; i++)
		fds[AT_PIDS + i] = (struct pollfd){ .fd = s->pidfds[i], .events = POLLIN };
	if (poll(fds, AT_PIDS + s->n_pidfds, idle_ms(s)) < 0 && errno != EINTR)
		return err_raise_sys(err, ERROR_DUMPS_UNAWAITED, errno);
	for (size_t i = 0; i < s->n_pidfds; i++) {
		if (s->pidfds[i] >= 0 && fds[AT_PIDS + i].revents) {
			close(s->pidfds[i]);
			s->pidfds[i] = -1;
		}
		alive += s->pidfds[i] >= 0;
	}
	over = (s->n_pidfds && !alive) || (fds[AT_STOP].revents & POLLIN) ||
	       (s->deadline_ms && now_ms() >= s->deadline_ms);
	if (watch_read(s->watch, err))
		return -1;
	if (s->failed) {
		*err = s->err;
		return -1;
	}
	lost = watch_lost(s->watch);
	more = lost - s->sum.lost;
	s->sum.lost = lost;
	if (more && s->request->lost(s->request->ctx, more, err))
		return -1;
	if (fds[AT_OUT].revents & (POLLERR | POLLHUP | POLLNVAL))
		return err_raise_sys(err, ERROR_STDOUT_UNWRITTEN, EPIPE);
	return over || has_enough(s);
}

static void end(struct state **at)
{
	struct state *s = *at;

	if (!s)
		return;
	watch_close(s->watch);
	watch_find_fini(&s->finder);
	watch_frames_fini(&s->frames);
	hooks_fini(&s->hooks);
	for (size_t i = 0; i < s->n_pidfds; i++)
		if (s->pidfds[i] >= 0)
			close(s->pidfds[i]);
	free(s);
}

int ops_watch(const struct ops_watch_request *request, struct ops_watch_summary *out,
	      struct err *err)
{
	_cleanup_(end) struct state *s = calloc(1, sizeof(*s));
	int ret = -1;

	if (!s)
		return err_no_memory(err);
	s->request = request;
	s->frames = (struct watch_frames)WATCH_FRAMES_INIT;
	s->finder.looker = (struct watch_looker)WATCH_LOOKER_INIT;
	s->frames.debuginfod = request->debuginfod;
	s->hooks.command = request->on_dump;
	s->hooks.program = request->on_dump_exec;
	if (!start(s, err)) {
		do {
			ret = turn(s, err);
		} while (!ret);
		hooks_finish(&s->hooks, request->stop_fd);
	}
	s->sum.skipped = s->hooks.skipped;
	s->sum.commands_failed = s->hooks.failed;
	*out = s->sum;
	return ret < 0 ? -1 : 0;
}
