// SPDX-License-Identifier: Apache-2.0
/*
 * The tracer: a separate process that looks for a thread that may be borrowed, and carries out the
 * injection. It may be killed at any instant.
 */
#include "injector/search.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "injector/check.h"
#include "injector/confine.h"
#include "injector/filters.h"
#include "injector/memfd.h"
#include "injector/proof.h"
#include "injector/tracee.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define BACKOFF_MIN_US 500
#define BACKOFF_MAX_US 50000
#define FENCED_ENOUGH 4
#define PATIENCE_US 200000 /* to wait for a thread that has called jemalloc; or a quarter */

/*
 * A tracer that is left behind must not keep a pipe or the terminal of the caller open. Reports of
 * a sanitizer must remain visible.
 */
static void leave_streams(void)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	int n = 3;

#ifdef __SANITIZE_ADDRESS__
	n = 2;
#endif
	for (int i = 0; null >= 0 && i < n; i++)
		dup2(null, i);
}

/*
 * Is it still the program that was examined? The pid and the addresses may belong to another one.
 */
static int same_program(const struct tracer *t, struct err *err)
{
	if (proc_alive(t->inj->p) && callsite_holds(t))
		return 0;
	return err_raise(err, ERROR_PROGRAM_ENDED, .pid = t->inj->p->pid);
}

/*
 * A sleep continues through restart_syscall(2), which lists of allowed calls often leave out. If
 * the filter punishes it, the sleep is restarted instead.
 */
static void mend_sleep(const struct tracer *t, pid_t tid, struct arch_regs *regs)
{
	if (!arch_restarts_sleep(regs) || seccomp_restarts(t, tid))
		return;
	arch_restart_syscall(regs);
	wait_shorten(t, regs);
	proof_set_regs(t, tid, regs);
}

/*
 * Would our call be the thread's first call of jemalloc? In thread mode pthread_create(3) makes
 * one.
 */
static int check_data(struct tracer *t, const struct borrow *b, struct err *err)
{
	enum tristate has_data = footprint_has_data(t, b->tid, &b->regs);

	t->shared->report.fresh = t->only && has_data == TRI_NO;
	if (!footprint_may_borrow(t, has_data))
		return err_raise(err,
				 has_data == TRI_NO ? ERROR_WOULD_GET_ARENA : ERROR_ARENA_UNKNOWN);
	if (t->grows && has_data == TRI_NO)
		tracer_log(t, "thread %d: no other may be borrowed, so it gets an arena", b->tid);
	return 0;
}

static int check_stopped(struct tracer *t, struct borrow *b, struct err *err)
{
	struct arch_regs mended;

	if (tracee_look(t, b, t->status, err) < 0)
		return -1;
	if (check_shadow_stack(b->tid, &t->now, err) < 0 || check_data(t, b, err) < 0)
		return -1;
	mended = b->regs;
	mend_sleep(t, b->tid, &mended);
	if (same_program(t, err) < 0 || safepoint_check(t, b->tid, &b->regs, err) < 0 ||
	    seccomp_check(t, b->tid, err) < 0)
		return -1;
	b->regs = mended;
	return 0;
}

static int no_status(pid_t tid, int sys, struct err *err)
{
	if (sys == ENOENT || sys == ESRCH)
		return err_raise(err, ERROR_THREAD_ENDED, .tid = tid);
	return err_raise_sys(err, ERROR_THREAD_UNREADABLE, sys, .tid = tid);
}

/* 0: done; -1: err says whether another thread should be tried (ERR_UNSAFE). */
static int try_thread(struct tracer *t, pid_t tid, struct err *err)
{
	_cleanup_(cleanup_close) int status = proc_thread_status_open(t->inj->p->pid, tid);
	static struct borrow b;
	int ret;

	b = (struct borrow){ .tid = tid };
	t->status = status;
	atomic_fetch_add(&t->shared->attempts, 1);
	if (status < 0)
		return no_status(tid, errno, err);
	if (seccomp_read(t, tid, err) < 0)
		return -1;
	if (t->guarded)
		wait_look_again(t, tid);
	if (tracee_stop(t, tid, err) < 0) {
		tracer_phase(t, PHASE_SEARCH);
		return -1;
	}
	b.stopped_us = now_us();
	tracer_beat(t);
	if (check_stopped(t, &b, err) < 0) {
		tracee_release(t, tid, &b.regs);
		tracer_phase(t, PHASE_SEARCH);
		return -1;
	}
	ret = borrow_run(t, &b, err);
	tracer_phase(t, PHASE_CALL);
	if (ret < 0 || !b.child)
		return ret;
	return worker_run(t, b.child, err);
}

/* Sleep for a random time with exponential backoff, but not beyond `until_us`. */
static void back_off(unsigned int *us, uint64_t until_us)
{
	uint64_t now = now_us(), for_us = *us + (unsigned int)random() % *us;
	struct timespec ts;

	if (until_us > now && until_us - now < for_us)
		for_us = until_us - now + 1;
	ts = (struct timespec){ .tv_nsec = (long)for_us * 1000 };
	nanosleep(&ts, NULL);
	if (*us < BACKOFF_MAX_US)
		*us *= 2;
}

/* Threads usually share their filters: stopping all of them, or repeatedly, is no use. */
static int fenced_in(const struct tracer *t, struct err *err)
{
	err->code = ERR_FAILED;
	if (t->mode == INJECTOR_INLINE || !seccomp_allows_inline(t))
		return err_advise(err, calls_want_dump(t->calls, t->n_calls)
					       ? FIX_NO_PROFILE_BEHIND_FILTER
					       : FIX_NOTHING_CALLED_SAFELY);
	return err_advise(err, check_without_thread(t->calls, t->n_calls));
}

static int rank(const struct tracer *t, struct candidate **c, size_t *n, struct err *err)
{
	const struct injector *inj = t->inj;

	return t->only ? rank_one(inj->p, t->only, inj->cs.caution, c, n, err)
		       : rank_threads(inj->p, inj->cs.caution, c, n, err);
}

static void log_refusal(struct tracer *t, pid_t tid, const struct err *err)
{
	char text[ERR_TEXT_SIZE];

	tracer_log(t, "thread %d: %s", tid, err_text(err, text, sizeof(text)));
}

static bool is_left_alone(struct tracer *t, pid_t tid, struct err *err)
{
	uint64_t until_us;

	if (!wait_is_spared(t, &until_us))
		return false;
	t->waits = true;
	if (until_us && (!t->look_us || until_us < t->look_us))
		t->look_us = until_us;
	err_raise(err, ERROR_WAITS_WITH_TIMEOUT);
	log_refusal(t, tid, err);
	return true;
}

static int search_once(struct tracer *t, struct err *err)
{
	_cleanup_(cleanup_free) struct candidate *c = NULL;
	size_t n, tried = 0, fenced = 0;
	bool in_vain = true; /* trying again later will not help */

	if (rank(t, &c, &n, err) < 0)
		return -1;
	if (!n && t->inj->cs.caution)
		callsite_too_bold(
			&t->inj->cs,
			t->only ? ERROR_IT_NEVER_WAITS_KNOWN : ERROR_NO_THREAD_WAITS_KNOWN, err);
	else if (!n)
		err_raise(err, t->only ? ERROR_IN_SYSTEM_CALL : ERROR_ALL_IN_SYSTEM_CALLS);
	/* One is examined in any case, even if we did not get a CPU until the time was over. */
	for (size_t i = 0; i < n && now_us() < (t->waits || !i ? t->end_us : t->deadline_us); i++) {
		wait_look(t, c[i].tid);
		if (is_left_alone(t, c[i].tid, err)) {
			in_vain = false;
			continue;
		}
		/*
		 * If jemalloc's thread state cannot be read, stopping the thread would not reveal
		 * it either.
		 */
		if (!t->inj->cs.tsd.is_known &&
		    !footprint_may_borrow(t, footprint_has_data(t, c[i].tid, NULL)))
			continue;
		t->fenced = false;
		if (try_thread(t, c[i].tid, err) == 0 || t->shared->report.fresh)
			return 0;
		tried++;
		fenced += t->fenced;
		in_vain &= err->fixes[0] != FIX_NONE;
		log_refusal(t, c[i].tid, err);
		if (err->code != ERR_UNSAFE || t->shared->another)
			return -1;
		if (fenced == tried && fenced == FENCED_ENOUGH)
			break;
	}
	if (n && !in_vain)
		err_unadvise(err);
	return tried && fenced == tried ? fenced_in(t, err) : -1;
}

static int search(struct tracer *t, struct err *err)
{
	uint64_t now = now_us(), left = t->deadline_us > now ? t->deadline_us - now : 0;
	uint64_t patient_us = now + (left / 4 < PATIENCE_US ? left / 4 : PATIENCE_US);
	unsigned int backoff = BACKOFF_MIN_US;
	struct err why = ERR_INIT;

	t->passed_over = t->grows = false;
	err_raise(&why, ERROR_NO_TIME_FOR_THREADS);
	for (;;) {
		bool patience_is_over;

		t->look_us = 0;
		t->waits = false;
		if (search_once(t, &why) == 0)
			return 0;
		*err = why;
		if (why.code != ERR_UNSAFE || t->shared->another)
			return -1;
		patience_is_over = t->passed_over && now_us() >= patient_us;
		t->shared->unfit = patience_is_over && !t->may_grow;
		if (t->shared->unfit)
			break;
		/* A wait with a timeout ends eventually. */
		if (now_us() >= (t->waits && !t->only ? t->end_us : t->deadline_us))
			break;
		err_forget(); /* another attempt may succeed */
		/* However late we are, the others were tried immediately before. */
		t->grows = patience_is_over && !t->grows;
		if (!t->grows)
			back_off(&backoff, t->look_us);
	}
	if (!err->fixes[0])
		err_advise(err, FIX_RETRY_LONGER);
	err->own = false;
	err_within(err, ERROR_NO_SAFE_MOMENT, .count = atomic_load(&t->shared->attempts));
	return err_advise_too(err, FIX_NOTHING_WAS_CHANGED);
}

/* From here on the tracer is confined; the filter reader must be started before (filters.h). */
static int prepare(struct tracer *t, struct err *err)
{
	if (seccomp_present(t->inj->p, t->only, &t->guarded, err) < 0)
		return -1;
	if (calls_want_file(t->calls, t->n_calls) && memfd_device(&t->memfd_dev, err) < 0)
		return -1;
	if (t->guarded && filters_open(t, err) < 0)
		return -1;
	return confine_capabilities(false, err) < 0 ? -1 : confine_syscalls(err);
}

static enum err_code open_error(int sys)
{
	if (sys == ENOENT || sys == ESRCH)
		return ERR_LOST;
	return sys == EACCES || sys == EPERM ? ERR_PERM : ERR_FAILED;
}

static int open_memory(struct tracer *t, struct err *err)
{
	const pid_t pid = t->inj->p->mm_pid;
	char path[32];

	snprintf(path, sizeof(path), "/proc/%d/mem", pid);
	t->mem = open(path, O_RDWR | O_CLOEXEC);
	if (t->mem < 0 && errno == EACCES) {
		/* Another user's file, without CAP_DAC_OVERRIDE; tracing may still be permitted. */
		t->mem = open(path, O_RDONLY | O_CLOEXEC);
		t->pokes = true;
	}
	if (t->mem >= 0) {
		snprintf(path, sizeof(path), "/proc/%d/maps", pid);
		t->maps = open(path, O_RDONLY | O_CLOEXEC);
	}
	if (t->maps >= 0)
		return 0;
	return err_raise_sys(err, ERROR_MEMORY_UNOPENED, errno, .code = open_error(errno),
			     .pid = t->inj->p->pid);
}

/* Once a thread has been redirected, the cause of a failure is known, but not the outcome. */
static void explain(const struct tracer *t, struct err *err)
{
	enum err_code code = err->code;

	err_explain(err);
	if (atomic_load(&t->shared->progress) != PROGRESS_NONE)
		err->code = code;
}

static void finish(struct tracer *t, int ret, struct err *err)
{
	if (ret < 0)
		explain(t, err);
	t->shared->report.attempts = atomic_load(&t->shared->attempts);
	t->shared->failed = ret < 0;
	t->shared->err = *err;
	tracer_phase(t, PHASE_DONE);
}

/* Wait for the next thread, attached to nothing and with the last thread's state cleared. */
static bool next_thread(struct tracer *t)
{
	const char done = 0;
	struct next next;

	if (!t->only || write(t->socket, &done, sizeof(done)) != sizeof(done) ||
	    read(t->socket, &next, sizeof(next)) != sizeof(next))
		return false;
	t->only = next.tid;
	t->deadline_us = next.deadline_us;
	t->end_us = next.end_us;
	t->proven = 0;
	t->wait = (struct wait){ 0 };
	t->has_walked = false;
	err_forget();
	return true;
}

void tracer_main(struct tracer *t, pid_t controller)
{
	struct err err = ERR_INIT;
	sigset_t all;
	int ret;

	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	signal(SIGCHLD, SIG_DFL); /* if ignored, threads could not be waited for */
	leave_streams();
	setsid(); /* no job control by the terminal */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != controller)
		return;
	setpriority(PRIO_PROCESS, 0, NICEST);
	srandom((unsigned int)now_us());
	arch_prepare();
	ret = open_memory(t, &err) < 0 || prepare(t, &err) < 0 ? -1 : search(t, &err);
	finish(t, ret, &err);
	while (ret == 0 && next_thread(t)) {
		ret = search(t, &err);
		finish(t, ret, &err);
	}
	filters_close(t);
}
