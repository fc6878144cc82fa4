// SPDX-License-Identifier: Apache-2.0
/*
 * We have a thread make system calls that the program may never have made. Its filters stay in
 * force: suspending them (PTRACE_O_SUSPEND_SECCOMP) would let the target's own code do meanwhile
 * what they forbid. So every call that we need is first evaluated by the filters, and none may kill
 * or trap, whether or not we are still alive.
 */
#include "injector/filters.h"

#include "arch/machine.h"
#include "base/cleanup.h"
#include "injector/check.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/futex.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>

/* 1, 0, or -1. A thread that has exited has none. */
static int has_filter(pid_t pid, pid_t tid, struct err *err)
{
	struct err why = ERR_INIT;
	struct proc_status st;

	if (proc_thread_status(pid, tid, &st, &why) == 0)
		return st.seccomp != 0;
	if (!why.own)
		return 0;
	*err = why;
	return -1;
}

int seccomp_present(const struct proc *p, pid_t tid, bool *present, struct err *err)
{
	_cleanup_(cleanup_free) pid_t *tids = NULL;
	int found = p->status.seccomp != 0;
	size_t n = 0;

	if (tid)
		found = has_filter(p->pid, tid, err);
	else if (!found && proc_threads(p->pid, &tids, &n, err) < 0)
		return -1;
	for (size_t i = 0; i < n && !found; i++)
		found = has_filter(p->pid, tids[i], err);
	*present = found > 0;
	return found < 0 ? -1 : 0;
}

static unsigned int uses_of(const struct tracer *t)
{
	unsigned int uses = t->mode == INJECTOR_THREAD ? USE_THREAD : USE_INLINE;

	if (calls_want_file(t->calls, t->n_calls))
		uses |= USE_FILE | USE_MEMFD;
	if (calls_want_dump(t->calls, t->n_calls))
		uses |= USE_FILE;
	if (calls_want_map(t->calls, t->n_calls))
		uses |= USE_MAP;
	return uses;
}

static bool lets_pass(uint32_t action, bool must_work)
{
	action &= SECCOMP_RET_ACTION_FULL;
	return action == SECCOMP_RET_ALLOW || action == SECCOMP_RET_LOG ||
	       (action == SECCOMP_RET_ERRNO && !must_work);
}

/*
 * A thread without an rseq area creates none for new threads; in one with such an area, a failure
 * leads to abort().
 */
static bool is_made(const struct checked_call *c, unsigned int uses, bool has_rseq)
{
	return (c->uses & uses) && (c->nr != SYS_rseq || has_rseq);
}

static bool allows(const struct sock_filter *prog, size_t n, const struct checked_call *c,
		   unsigned int uses)
{
	struct seccomp_data data = { .nr = (int)c->nr, .arch = ARCH_AUDIT };

	memcpy(data.args, c->args, sizeof(data.args));
	return lets_pass(seccomp_filter_run(prog, n, &data), c->must_work & uses);
}

static const char *check_calls_of(const struct checked_call *calls, size_t n_calls,
				  const struct sock_filter *prog, size_t n, unsigned int uses,
				  bool has_rseq)
{
	for (size_t i = 0; i < n_calls; i++)
		if (is_made(&calls[i], uses, has_rseq) && !allows(prog, n, &calls[i], uses))
			return calls[i].name;
	return NULL;
}

/* The first call that this filter would punish, or NULL. */
static const char *check_filter(const struct callsite *cs, const struct sock_filter *prog, size_t n,
				unsigned int uses, bool has_rseq)
{
	const char *bad = check_calls_of(cs->lib->calls, cs->lib->n_calls, prog, n, uses, has_rseq);

	if (!bad)
		bad = check_calls_of(&libc_homes[cs->home_call], 1, prog, n, uses, has_rseq);
	return bad ? bad
		   : check_calls_of(libc_map_calls, n_libc_map_calls, prog, n, uses, has_rseq);
}

static bool allows_restart(const struct filters *f)
{
	const struct seccomp_data data = { .nr = SYS_restart_syscall, .arch = ARCH_AUDIT };

	for (size_t i = 0; i < f->n; i++)
		if (!lets_pass(seccomp_filter_run(f->code[i], f->len[i], &data), true))
			return false;
	return true;
}

/* The first call that one of the filters read last would punish, or NULL. */
static const char *punished(const struct tracer *t, unsigned int uses)
{
	const struct filters *f = t->filters;
	const char *bad = NULL;

	for (size_t i = 0; i < f->n && !bad; i++)
		bad = check_filter(&t->inj->cs, f->code[i], f->len[i], uses, f->has_rseq);
	return bad;
}

static int check_filters(struct tracer *t, pid_t tid, struct err *err)
{
	const char *bad = punished(t, uses_of(t));

	t->shared->report.thread_punished = punished(t, USE_THREAD | USE_FILE | USE_MEMFD);
	if (!bad)
		return 0;
	return err_raise(err,
			 t->mode == INJECTOR_THREAD ? ERROR_FILTER_PUNISHES_THREAD
						    : ERROR_FILTER_PUNISHES_CALL,
			 .tid = tid, .name = bad);
}

bool seccomp_allows_inline(const struct tracer *t)
{
	unsigned int uses = USE_INLINE | (calls_want_dump(t->calls, t->n_calls) ? USE_FILE : 0);

	return t->filters->tid && !punished(t, uses); /* without a tid, none were read */
}

static int filter_was_added(struct tracer *t, struct err *err)
{
	t->shared->another = ANOTHER_NOW; /* the next tracer starts a filter reader */
	return err_raise(err, ERROR_FILTER_JUST_NOW);
}

int seccomp_read(struct tracer *t, pid_t tid, struct err *err)
{
	struct proc_status st;

	if (proc_thread_status_read(t->status, &st, err) < 0)
		return err_raise(err, ERROR_THREAD_ENDED, .tid = tid);
	if (!st.seccomp)
		return 0;
	if (!t->guarded)
		return filter_was_added(t, err);
	t->fenced = true;
	if (st.seccomp == SECCOMP_MODE_STRICT)
		return err_raise(err, ERROR_THREAD_STRICT, .tid = tid);
	if (!st.filters)
		return err_raise(err, ERROR_FILTERS_UNCOUNTED, .tid = tid);
	if (filters_read(t, tid, st.filters, allows_restart, err) < 0) {
		t->fenced = false;
		return -1;
	}
	if (check_filters(t, tid, err) < 0)
		return -1;
	t->fenced = false;
	return 0;
}

static bool same_filters(const struct tracer *t, pid_t tid)
{
	return t->guarded && t->filters->tid == tid && t->filters->count == t->now.filters;
}

int seccomp_check(struct tracer *t, pid_t tid, struct err *err)
{
	if (!t->now.seccomp || same_filters(t, tid))
		return 0;
	if (!t->guarded)
		return filter_was_added(t, err);
	return err_raise(err, ERROR_ANOTHER_FILTER_JUST_NOW);
}

bool seccomp_restarts(const struct tracer *t, pid_t tid)
{
	return !t->now.seccomp || (same_filters(t, tid) && allows_restart(t->filters));
}
