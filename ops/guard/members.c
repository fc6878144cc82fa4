// SPDX-License-Identifier: Apache-2.0
#include "ops/guard/parts.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/signals.h"
#include "base/vec.h"
#include "ops/match.h"
#include "ops/target/open.h"
#include "process/procfs.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#define SCAN_MS 2000
#define SCAN_ALL_MS 60000 /* also known ones: they may run another program */
#define TRIES 3		  /* a new process may not have mapped its libraries yet */

struct scanned {
	pid_t pid;
	unsigned int tries;
};

/* A jemalloc of a process, as reported by a subprocess. */
struct fitting {
	pid_t pid;
	enum tristate opt_prof, prof_active;
};

static void member_free(struct guard *g, struct member *m)
{
	groups_give(&g->groups, m->limit);
	groups_give(&g->groups, m->own);
	cleanup_close(&m->statm);
	free(m->memory);
	free(m);
}

void members_drop(struct guard *g)
{
	size_t n = 0;

	for (size_t i = 0; i < g->n; i++) {
		if (g->v[i]->gone && !g->v[i]->busy)
			member_free(g, g->v[i]);
		else
			g->v[n++] = g->v[i];
	}
	g->n = n;
}

void members_fini(struct guard *g)
{
	_cleanup_(cleanup_free) char *bytes = NULL;
	struct unpack answer;
	struct err ignored;

	if (g->looking.pidfd >= 0) {
		subprocess_stop(&g->looking);
		(void)!subprocess_take(&g->looking, &bytes, &answer, &ignored);
	}
	ops_match_fini(&g->found);
	for (size_t i = 0; i < g->n; i++)
		member_free(g, g->v[i]);
	free(g->v);
	free(g->scanned);
	groups_fini(&g->groups);
}

/* --- adding one --- */

static void caution(const struct guard *g, const struct err *warning)
{
	g->request->on_warning(g->request->ctx, warning);
}

/* Warns if pressure or events cannot be observed: the rule can never fire then. */
static void warn_unobservable(const struct guard *g, const struct member *m)
{
	const struct ops_guard_request *r = g->request;
	struct err warning = ERR_INIT;

	for (size_t i = 0; i < r->n_rules; i++) {
		const struct guard_rule *rule = &r->rules[i];
		bool unseen = rule->kind == GUARD_PSI	  ? !group_sees(m->own, i)
			      : rule->kind == GUARD_EVENT ? !group_sees(m->limit, i)
			      : rule->kind == GUARD_LEVEL && rule->level.of == UNTIL_CGROUP
				      ? !m->limit->folder
				      : false;

		if (!unseen)
			continue;
		err_raise(&warning, ERROR_RULE_UNSEEN, .pid = m->is.pid, .comm = m->is.comm,
			  .text = rule->text);
		caution(g, &warning);
	}
}

static bool needs_prof(const struct guard *g)
{
	return g->request->action != OPS_GUARD_SAMPLE;
}

static int add(struct guard *g, const struct ops_match *who, bool named, enum tristate active,
	       struct err *err)
{
	struct member *m = calloc(1, sizeof(*m));

	if (!m || !vec_grow(g->v, g->room, g->n)) {
		free(m);
		return err_no_memory(err);
	}
	*m = (struct member){ .is = *who,
			      .named = named,
			      .statm = procfs_open(who->pid, 0, "statm"),
			      .memory = calloc(g->request->n_rules, sizeof(*m->memory)) };
	if (m->statm < 0) {
		member_free(g, m);
		return 0; /* it has ended */
	}
	g->v[g->n++] = m; /* from now on it is freed with the others */
	if (!m->memory)
		return err_no_memory(err);
	if (groups_take(&g->groups, who->pid, &m->limit, &m->own, err))
		return -1;
	if (named)
		warn_unobservable(g, m);
	m->activate = g->request->activate && needs_prof(g) && active != TRI_YES;
	if (g->request->action == OPS_GUARD_DUMP && !m->activate && active == TRI_NO) {
		struct err warning = ERR_INIT;

		err_raise(&warning, ERROR_NOTHING_SAMPLED_YET, .pid = who->pid, .comm = who->comm);
		err_advise(&warning, FIX_ACTIVATE_BEFORE, .pid = who->pid);
		caution(g, &warning);
	}
	return 0;
}

static bool is_guarded(const struct guard *g, pid_t pid)
{
	for (size_t i = 0; i < g->n; i++) {
		if (g->v[i]->is.pid == pid && !g->v[i]->gone)
			return true;
	}
	return false;
}

/* --- named processes --- */

static int add_named(struct guard *g, const struct ops_match *who, struct err *err)
{
	struct ops_options options = g->options;
	_cleanup_(ops_list_fini) struct ops_list list = { 0 };
	_cleanup_(session_close) struct session s = SESSION_INIT;
	const struct ops_list_request request = {
		.debuginfod = options.debuginfod,
		.stop_fd = options.stop_fd,
		.only = &who->pid,
		.n_only = 1,
	};

	options.start_time = who->start_time;
	options.turn_fd = 0;
	if (session_open_proc(&s, who->pid, &options, err) || session_may_trace(&s, err) ||
	    session_find_jemalloc(&s, err) || ops_list(&request, &list, err))
		return -1;
	if (needs_prof(g) && list.n && list.v[0].opt_prof == TRI_NO) {
		err_raise(err, ERROR_OPT_PROF_FALSE, .pid = who->pid, .comm = who->comm);
		return err_advise(err, FIX_GUARD_BY_SAMPLING);
	}
	return add(g, who, true, list.n ? list.v[0].prof_active : TRI_UNKNOWN, err);
}

int members_begin(struct guard *g, struct err *err)
{
	for (size_t i = 0; i < g->request->n_named; i++) {
		if (!is_guarded(g, g->request->named[i].pid) &&
		    add_named(g, &g->request->named[i], err))
			return -1;
	}
	return 0;
}

/* --- matching processes --- */

/* Puts the candidates among all these in `found`; remembers which ones were inspected. */
static int match_new(struct guard *g, const pid_t *pids, size_t n, bool all,
		     struct ops_matches *found, struct err *err)
{
	_cleanup_(cleanup_free) struct scanned *scanned = calloc(n + 1, sizeof(*scanned));
	char cgroup[PROC_CGROUP_SIZE];

	found->v = calloc(n + 1, sizeof(*found->v));
	if (!scanned || !found->v)
		return err_no_memory(err);
	for (size_t i = 0; i < n; i++) {
		_cleanup_(proc_close) struct proc p = { 0 };
		const struct scanned *before =
			vec_find(&pids[i], g->scanned, g->n_scanned, proc_by_pid);
		struct err ended;

		scanned[i].pid = pids[i];
		scanned[i].tries = before ? before->tries : 0;
		if ((scanned[i].tries >= TRIES && !all) || is_guarded(g, pids[i]))
			continue;
		scanned[i].tries += scanned[i].tries < TRIES;
		if (proc_open(&p, pids[i], &ended))
			continue;
		proc_cgroup(p.pid, cgroup, sizeof(cgroup));
		if (!match_wants(g->request->filter, &p, cgroup))
			continue;
		found->v[found->n] = (struct ops_match){ p.pid, p.start_time, "" };
		memcpy(found->v[found->n++].comm, p.status.comm, PROC_COMM_SIZE);
	}
	free(g->scanned);
	g->scanned = take_ptr(scanned);
	g->n_scanned = n;
	return 0;
}

/* In a subprocess: an operation that hangs, or is slow, must not keep us from watching memory. */
static int look_at_found(void *ctx, int stop_fd, struct pack *answer, struct err *err)
{
	_cleanup_(ops_list_fini) struct ops_list list = { 0 };
	const struct guard *g = ctx;
	_cleanup_(cleanup_free) pid_t *pids = calloc(g->found.n, sizeof(*pids));
	const struct ops_list_request request = { .debuginfod = g->options.debuginfod,
						  .stop_fd = stop_fd,
						  .only = pids,
						  .n_only = g->found.n };

	if (!pids)
		return err_no_memory(err);
	for (size_t i = 0; i < g->found.n; i++)
		pids[i] = g->found.v[i].pid;
	if (ops_list(&request, &list, err))
		return -1;
	for (size_t i = 0; i < list.n; i++)
		pack_bytes(answer,
			   &(struct fitting){ list.v[i].pid, list.v[i].opt_prof,
					      list.v[i].prof_active },
			   sizeof(struct fitting));
	return 0;
}

/* Both are by pid; of several jemallocs of a process, the first is the one of its malloc. */
static int add_fitting(struct guard *g, struct unpack *answer, struct err *err)
{
	struct fitting one = { 0 };
	size_t at = 0;

	while (answer->at < answer->end && !answer->bad) {
		pid_t before = one.pid;

		unpack_bytes(answer, &one, sizeof(one));
		while (at < g->found.n && g->found.v[at].pid < one.pid)
			at++;
		if (at == g->found.n || g->found.v[at].pid != one.pid || one.pid == before ||
		    (needs_prof(g) && one.opt_prof == TRI_NO))
			continue;
		if (add(g, &g->found.v[at], false, one.prof_active, err))
			return -1;
	}
	return 0;
}

int members_found(struct guard *g, struct err *err)
{
	struct pollfd fds[] = { { .fd = g->looking.pidfd, .events = POLLIN },
				{ .fd = g->options.stop_fd, .events = POLLIN } };
	_cleanup_(cleanup_free) char *bytes = NULL;
	struct err why = ERR_INIT;
	struct unpack answer;
	int ret = 0;

	if (g->looking.pidfd < 0)
		return 0;
	while (poll(fds, 2, -1) < 0 && errno == EINTR)
		;
	if (fds[1].revents)
		subprocess_stop(&g->looking);
	if (!subprocess_take(&g->looking, &bytes, &answer, &why))
		ret = add_fitting(g, &answer, err);
	else if (!stop_asked(g->options.stop_fd))
		caution(g, &why);
	ops_match_fini(&g->found);
	return ret;
}

int members_scan(struct guard *g, struct err *err)
{
	_cleanup_(cleanup_free) pid_t *pids = NULL;
	uint64_t now = now_ms();
	struct err why = ERR_INIT;
	bool all;
	size_t n;

	if (now < g->scan_ms)
		return 0;
	g->scan_ms = now + SCAN_MS;
	all = now >= g->scan_all_ms;
	if (all) {
		g->rescan = true;
		g->scan_all_ms = now + SCAN_ALL_MS;
	}
	/* Groups come and go, and processes move between them. */
	for (size_t i = 0; all && i < g->n; i++) {
		struct member *m = g->v[i];
		struct group *limit = NULL, *own = NULL;

		if (groups_take(&g->groups, m->is.pid, &limit, &own, err)) {
			groups_give(&g->groups, limit);
			return -1;
		}
		groups_give(&g->groups, m->limit);
		groups_give(&g->groups, m->own);
		m->limit = limit;
		m->own = own;
	}
	if (!g->request->filter || g->looking.pidfd >= 0)
		return 0;
	/* The process whose children are meant may have ended. */
	if (match_pids(g->request->filter->children, &pids, &n, err))
		return err->code == ERR_NOPROC || err->code == ERR_LOST ? 0 : -1;
	ops_match_fini(&g->found);
	if (match_new(g, pids, n, g->rescan, &g->found, err))
		return -1;
	g->rescan = false;
	/* If no process can be started now, the next scan tries again. */
	if (g->found.n && subprocess_start(&g->looking, look_at_found, g, &why))
		caution(g, &why);
	return 0;
}
