// SPDX-License-Identifier: Apache-2.0
#include "ops/guard/guard.h"
#include "ops/guard/parts.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/signals.h"
#include "base/turn.h"
#include "base/vec.h"
#include "io/output.h"
#include "process/procfs.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#define FILES_MAX 65536
#define NEAR_MS 20 /* interval for memory that may reach a level at any moment */
#define FILL_PER_MS ((double)(UINT64_C(1) << 30) / 1000) /* how fast memory may grow, in bytes */

static uint64_t sooner(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* --- what is due --- */

static void due(struct member *m, const struct guard_rule *rule, uint64_t level, uint64_t limit)
{
	/* A waiting profile has priority, unless it is a regular one. */
	if (m->due.rule && m->due.rule->kind != GUARD_EVERY)
		return;
	m->due = (struct due){
		.rule = rule, .rss = m->rss, .level = level, .limit = limit, .since_ms = now_ms()
	};
	clock_gettime(CLOCK_REALTIME, &m->due.time);
}

/* In a group, the process with the most memory is profiled. */
static void due_in_group(const struct guard *g, const struct group *group,
			 const struct guard_rule *rule, uint64_t level, uint64_t limit)
{
	struct member *most = NULL;

	for (size_t i = 0; i < g->n; i++) {
		struct member *m = g->v[i];

		if (!m->gone && !m->given_up &&
		    (rule->kind == GUARD_PSI ? m->own : m->limit) == group &&
		    (!most || m->rss > most->rss))
			most = m;
	}
	if (most) /* a group without a limit has no value for its memory */
		due(most, rule, level ? level : most->rss, limit);
}

/* How long memory at this distance from a level cannot reach it: when to look again. */
static uint64_t look_in(const struct guard *g, double bytes, double threshold)
{
	double far = (threshold - bytes) / FILL_PER_MS, most = (double)g->request->interval_ms;

	if (far < 0 || !(far < most))
		return g->request->interval_ms;
	return far > NEAR_MS ? (uint64_t)far : NEAR_MS;
}

static bool is_of_group(const struct guard_rule *rule)
{
	return rule->kind == GUARD_LEVEL && rule->level.of == UNTIL_CGROUP;
}

/* --- looking --- */

/* From the file opened when it was found: if the process has ended, it reads as nothing. */
static bool read_rss(struct member *m)
{
	_cleanup_(proc_close) struct proc p = { 0 };
	char text[128];
	ssize_t n = pread(m->statm, text, sizeof(text) - 1, 0);
	struct err ignored;
	uint64_t pages;

	text[n > 0 ? n : 0] = '\0';
	if (n <= 0 || sscanf(text, "%*u %" SCNu64, &pages) != 1)
		return false;
	m->rss = pages * (uint64_t)sysconf(_SC_PAGESIZE);
	if (pages)
		return true;
	/* If its first thread has ended, the file of another has the numbers, if there is one. */
	if (proc_open_at(&p, m->is.pid, m->is.start_time, &ignored))
		return false;
	if (p.mm_pid != p.pid) {
		cleanup_close(&m->statm);
		m->statm = procfs_open(p.mm_pid, 0, "statm");
	}
	return m->statm >= 0;
}

static void look_at_group(struct guard *g, struct group *group, uint64_t now)
{
	const struct ops_guard_request *r = g->request;
	uint64_t used, in = r->interval_ms;

	group->next_ms = now + in;
	if (!group_read(group))
		return;
	used = limit_working_set(&group->limit);
	for (size_t i = 0; group->folder && i < r->n_rules; i++) {
		double threshold;

		if (!is_of_group(&r->rules[i]))
			continue;
		if (guard_level_fires(&r->rules[i], &group->memory[i], &r->policy, now, used,
				      group->limit.limit, &threshold))
			due_in_group(g, group, &r->rules[i], used, group->limit.limit);
		in = sooner(in, look_in(g, (double)used, threshold));
	}
	group->next_ms = now + in;
}

static void look_at_member(struct guard *g, struct member *m, uint64_t now)
{
	const struct ops_guard_request *r = g->request;
	uint64_t in = r->interval_ms;

	m->gone |= !read_rss(m);
	for (size_t i = 0; !m->gone && !m->given_up && i < r->n_rules; i++) {
		const struct guard_rule *rule = &r->rules[i];
		double threshold;

		if (rule->kind == GUARD_EVERY) {
			if (guard_every_fires(rule, &m->memory[i], now) && !m->due.rule)
				due(m, rule, m->rss, 0);
			in = sooner(in, m->memory[i].every_ms - now);
		}
		if (rule->kind != GUARD_LEVEL || is_of_group(rule))
			continue;
		if (guard_level_fires(rule, &m->memory[i], &r->policy, now, m->rss,
				      m->limit->limit.limit, &threshold))
			due(m, rule, m->rss, m->limit->limit.limit);
		in = sooner(in, look_in(g, (double)m->rss, threshold));
	}
	m->next_ms = now + in;
}

/* Looks at everything that is due. Returns when to look again, as now_ms(). */
static uint64_t look(struct guard *g)
{
	uint64_t now = now_ms(), next = now + g->request->interval_ms;

	for (size_t i = 0; i < g->n; i++) {
		struct member *m = g->v[i];

		/* Limits first: the levels of processes are parts of them. */
		if (m->limit->next_ms <= now)
			look_at_group(g, m->limit, now);
		if (!m->gone && m->next_ms <= now)
			look_at_member(g, m, now);
		next = sooner(next, m->limit->next_ms);
		if (!m->gone)
			next = sooner(next, m->next_ms);
		if (m->due.rule && m->retry.at_ms > now)
			next = sooner(next, m->retry.at_ms);
	}
	return sooner(next, g->scan_ms);
}

/* --- waiting --- */

/* stop_fd, out_fd, the search for new processes, jobs, and events of groups. */
struct waiting {
	struct pollfd *fds;
	size_t n, room;
	size_t jobs, groups; /* indexes of the first ones */
};

static int wait_for(struct waiting *w, int fd, short events, struct err *err)
{
	if (!vec_grow(w->fds, w->room, w->n))
		return err_no_memory(err);
	w->fds[w->n++] = (struct pollfd){ .fd = fd, .events = events };
	return 0;
}

/* They may have changed a lot since they were read last. */
static void read_members(const struct guard *g, const struct group *group)
{
	for (size_t i = 0; i < g->n; i++) {
		struct member *m = g->v[i];

		if (!m->gone && (m->own == group || m->limit == group))
			m->gone = !read_rss(m);
	}
}

static void take_told(struct guard *g, const struct waiting *w)
{
	const struct ops_guard_request *r = g->request;

	for (size_t i = 0; i < g->groups.n; i++) {
		struct group *group = g->groups.v[i];

		for (size_t j = 0; j < r->n_rules; j++) {
			short revents = w->fds[w->groups + i * r->n_rules + j].revents;

			if (!revents || !group_told(group, &r->rules[j], j, revents))
				continue;
			(void)!group_read(group);
			if (!guard_event_fires(&group->memory[j], &r->policy, now_ms(),
					       limit_working_set(&group->limit)))
				continue;
			read_members(g, group);
			due_in_group(g, group, &r->rules[j], limit_working_set(&group->limit),
				     group->limit.limit);
		}
	}
}

/* Handles what has come; -1 when it cannot be reported. */
static int wait_once(struct guard *g, struct waiting *w, uint64_t until_ms, struct err *err)
{
	w->n = 0;
	if (wait_for(w, g->options.stop_fd, POLLIN, err) ||
	    wait_for(w, g->request->out_fd, 0, err) || wait_for(w, g->looking.pidfd, POLLIN, err))
		return -1;
	w->jobs = w->n;
	for (size_t i = 0; i < JOBS_MAX; i++) {
		if (wait_for(w, g->jobs[i].member ? g->jobs[i].process.pidfd : -1, POLLIN, err))
			return -1;
	}
	w->groups = w->n;
	for (size_t i = 0; i < g->groups.n; i++) {
		for (size_t j = 0; j < g->request->n_rules; j++) {
			if (wait_for(w, g->groups.v[i]->fds[j], POLLPRI, err))
				return -1;
		}
	}
	if (poll(w->fds, w->n, ms_until(until_ms)) < 0)
		return errno == EINTR ? 0 : err_raise_sys(err, ERROR_SIGNALS_UNAVAILABLE, errno);
	if (w->fds[1].revents & (POLLERR | POLLHUP))
		return err_raise_sys(err, ERROR_STDOUT_UNWRITTEN, EPIPE);
	take_told(g, w);
	for (size_t i = 0; i < JOBS_MAX; i++) {
		if (w->fds[w->jobs + i].revents && job_take(g, &g->jobs[i], err))
			return -1;
	}
	return w->fds[2].revents ? members_found(g, err) : 0;
}

/* --- all of it --- */

/* Ensures that profiles can be written when they are due. */
static int check_folder(const struct ops_guard_request *r, struct err *err)
{
	_cleanup_(output_close) struct output o = OUTPUT_INIT;
	_cleanup_(cleanup_free) char *path = NULL;

	if (asprintf(&path, "%sguard.%d.heap", r->folder, getpid()) < 0)
		return err_no_memory(err);
	return output_open(&o, path, false, err);
}

static int guard(struct guard *g, struct waiting *w, struct err *err)
{
	const struct ops_guard_request *r = g->request;
	uint64_t end_ms = r->for_ms ? now_ms() + r->for_ms : UINT64_MAX;

	if (!r->take && check_folder(r, err))
		return -1;
	if (members_begin(g, err) || members_scan(g, err) || members_found(g, err))
		return stop_asked(g->options.stop_fd) ? 0 : -1;
	if (r->ready(r->ctx, g->n, err))
		return -1;
	while (!stop_asked(g->options.stop_fd) && now_ms() < end_ms &&
	       (!r->count || g->sum.profiles < r->count)) {
		uint64_t next;

		if (members_scan(g, err))
			return -1;
		next = sooner(look(g), end_ms);
		jobs_start(g);
		members_drop(g);
		g->sum.none_left = !g->n && !r->filter;
		if (g->sum.none_left)
			return 0;
		if (hooks_go_on(&g->hooks))
			next = sooner(next, now_ms() + HOOKS_POLL_MS);
		if (wait_once(g, w, next, err))
			return -1;
	}
	return 0;
}

static void guard_fini(struct guard *g)
{
	members_fini(g);
	hooks_fini(&g->hooks);
	cleanup_close(&g->turn);
}

int ops_guard(const struct ops_guard_request *request, const struct ops_options *options,
	      struct ops_guard_summary *out, struct err *err)
{
	_cleanup_(guard_fini) struct guard g = {
		.request = request,
		.options = *options,
		.groups = { .rules = request->rules, .n_rules = request->n_rules },
		.looking = SUBPROCESS_INIT,
		.turn = turn_make(),
		.hooks = { .command = request->on_profile, .program = request->on_profile_exec },
	};
	struct waiting w = { 0 };
	struct rlimit limit;
	struct err ignored;
	int ret;

	if (g.turn < 0)
		return err_raise_sys(err, ERROR_NO_SHARED_MEMORY, errno);
	/* A file for each process and three for each group, if the hard limit allows. */
	if (!getrlimit(RLIMIT_NOFILE, &limit) && limit.rlim_cur < FILES_MAX) {
		/* Commands inherit it, and some of them close all possible descriptors. */
		limit.rlim_cur = limit.rlim_max < FILES_MAX ? limit.rlim_max : FILES_MAX;
		setrlimit(RLIMIT_NOFILE, &limit);
	}
	/* When memory is short, our own must not be read from disk first. A failure is ignored. */
	(void)mlockall(MCL_CURRENT | MCL_ONFAULT);
	ret = guard(&g, &w, err);
	/* Running jobs end with care, whatever happened here. */
	if (jobs_end(&g, ret ? &ignored : err))
		ret = -1;
	hooks_finish(&g.hooks, options->stop_fd);
	free(w.fds);
	g.sum.skipped = g.hooks.skipped;
	g.sum.commands_failed = g.hooks.failed;
	*out = g.sum;
	return ret;
}
