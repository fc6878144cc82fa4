// SPDX-License-Identifier: Apache-2.0
#include "injector/tracee.h"
#include "injector/proof.h"

#include "base/clock.h"
#include "injector/search.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

#define BEAT_MS 50
#define STOP_TIMEOUT_MS 180

static enum stop classify(int status, int *sig)
{
	int event = status >> 16;

	*sig = 0;
	if (!WIFSTOPPED(status))
		return STOP_GONE;
	*sig = WSTOPSIG(status);
	if (event == PTRACE_EVENT_STOP)
		return *sig == SIGTRAP ? STOP_EVENT : STOP_GROUP;
	if (event == PTRACE_EVENT_CLONE)
		return STOP_CLONE;
	if (event)
		return STOP_OTHER;
	return *sig == (SIGTRAP | 0x80) ? STOP_SYSCALL : STOP_SIGNAL;
}

/* It runs another program now, perhaps with more privileges, and must not be changed. */
static enum stop let_go_after_exec(struct tracer *t, pid_t tid)
{
	t->proven = 0;
	ptrace(PTRACE_DETACH, tid, 0, 0);
	return STOP_GONE;
}

static enum stop stop_of(struct tracer *t, pid_t tid, int status, int *sig)
{
	if (WIFSTOPPED(status) && status >> 16 == PTRACE_EVENT_EXEC)
		return let_go_after_exec(t, tid);
	return classify(status, sig);
}

/*
 * As waitpid(2): the tid, 0 with WNOHANG, or -1. But the stop is not consumed (WNOWAIT): otherwise
 * its signal would be lost if we died before passing it on.
 */
static pid_t look(pid_t tid, int *status, int flags)
{
	siginfo_t info = { 0 };

	if (waitid(P_PID, (id_t)tid, &info, WSTOPPED | WEXITED | WNOWAIT | __WALL | flags) < 0)
		return -1;
	*status = info.si_code == CLD_TRAPPED || info.si_code == CLD_STOPPED
			  ? info.si_status << 8 | 0x7f
			  : 0;
	return info.si_pid;
}

enum stop tracee_wait(struct tracer *t, pid_t tid, int *sig)
{
	int status;

	while (look(tid, &status, 0) < 0)
		if (errno != EINTR)
			return STOP_GONE;
	return stop_of(t, tid, status, sig);
}

/* Sleep until a child changes state, at most `ms`. SIGCHLD is blocked in the tracer. */
static void sleep_for_child(unsigned int ms)
{
	const struct timespec ts = { .tv_sec = ms / 1000, .tv_nsec = (long)(ms % 1000) * 1000000 };
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	sigtimedwait(&set, NULL, &ts);
}

/* 1 with *status, 0 on timeout, -1 when there is nothing to wait for. */
static int wait_until(pid_t tid, uint64_t deadline_us, int *status)
{
	for (;;) {
		pid_t got = look(tid, status, WNOHANG);
		uint64_t now = now_us();

		if (got == tid)
			return 1;
		if (got < 0 && errno != EINTR)
			return -1;
		if (now >= deadline_us)
			return 0;
		sleep_for_child((unsigned int)((deadline_us - now) / 1000 + 1));
	}
}

enum stop tracee_wait_beating(struct tracer *t, pid_t tid, int *sig)
{
	int status, got;

	do {
		tracer_beat(t);
		got = wait_until(tid, now_us() + BEAT_MS * 1000, &status);
	} while (got == 0);
	tracer_beat(t);
	*sig = 0;
	return got < 0 ? STOP_GONE : stop_of(t, tid, status, sig);
}

int tracee_resume(pid_t tid, int request, int sig, struct err *err)
{
	if (ptrace(request, tid, 0, (long)sig) == 0)
		return 0;
	if (errno == ESRCH)
		return err_raise(err, ERROR_THREAD_ENDED, .code = ERR_LOST, .tid = tid);
	return err_raise_sys(err, ERROR_THREAD_NOT_RELEASED, errno, .tid = tid);
}

static int seize_error(const struct tracer *t, pid_t tid, int sys, struct err *err)
{
	struct err ignored = ERR_INIT;
	struct proc_status st;

	bool ended = sys == ESRCH;

	if (sys == EPERM) { /* also the error for a thread that has just exited (ptrace_attach()) */
		ended = proc_thread_status(t->inj->p->pid, tid, &st, &ignored) < 0 ||
			st.state == 'Z' || st.state == 'X';
		if (!ended && st.tracer_pid)
			return err_raise(err, ERROR_THREAD_TRACED, .tid = tid,
					 .other = st.tracer_pid);
	}
	if (ended)
		return err_raise(err, ERROR_THREAD_ENDED, .tid = tid);
	if (sys == EPERM)
		return err_raise_sys(err, ERROR_THREAD_FORBIDDEN, sys, .tid = tid);
	return err_raise_sys(err, ERROR_THREAD_UNATTACHED, sys, .tid = tid);
}

/*
 * The stop did not happen: the thread is in an uninterruptible wait (vfork(2), a dead file server),
 * or did not get a CPU. Only the exit of the tracer withdraws the request without a trace; so a new
 * tracer continues with the other threads.
 */
static int no_stop(struct tracer *t, pid_t tid, struct err *err)
{
	struct err ignored = ERR_INIT;
	struct proc_status st;

	t->shared->another = ANOTHER_NOW;
	if (proc_thread_status(t->inj->p->pid, tid, &st, &ignored) == 0 && st.state != 'D')
		return err_raise(err, ERROR_THREAD_WITHOUT_CPU, .tid = tid);
	return err_raise(err, ERROR_THREAD_UNINTERRUPTIBLE, .tid = tid);
}

int tracee_stop(struct tracer *t, pid_t tid, struct err *err)
{
	const long options = PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACECLONE | PTRACE_O_TRACEEXEC;
	unsigned int patience_ms = tracer_patience_ms(t);
	uint64_t deadline;
	int status, sig;

	if (ptrace(PTRACE_SEIZE, tid, 0, options) < 0)
		return seize_error(t, tid, errno, err);
	if (proof_program(t, tid, err) < 0)
		return -1; /* the exit of the tracer releases it */
	t->shared->report.tid = tid;
	tracer_phase(t, PHASE_HOLD);
	if (ptrace(PTRACE_INTERRUPT, tid, 0, 0) < 0)
		return err_raise(err, ERROR_THREAD_ENDED, .tid = tid);
	/* Attaching itself may have taken long, and giving up now would leave an EINTR behind. */
	deadline = now_us() +
		   1000 * (uint64_t)(patience_ms < STOP_TIMEOUT_MS ? patience_ms : STOP_TIMEOUT_MS);
	for (;;) {
		int got = wait_until(tid, deadline, &status);

		if (got < 0) /* not exited, but no longer with this ID: execve(2) gave it the
			      * leader's */
			return err_raise(err, ERROR_PROGRAM_REPLACED, .pid = t->inj->p->pid);
		if (got == 0)
			return no_stop(t, tid, err);
		switch (stop_of(t, tid, status, &sig)) {
		case STOP_EVENT:
			return 0;
		case STOP_GONE:
			return err_raise(err, ERROR_THREAD_ENDED, .tid = tid);
		case STOP_GROUP:
			ptrace(PTRACE_DETACH, tid, 0, 0);
			return err_raise(err, ERROR_BEING_STOPPED, .number = sig);
		case STOP_SIGNAL:
			ptrace(PTRACE_CONT, tid, 0, (long)sig);
			break;
		default:
			ptrace(PTRACE_CONT, tid, 0, 0);
		}
	}
}

static void remember_sleep(struct tracer *t, const struct borrow *b)
{
	struct sleep *s = &t->shared->sleeps[t->shared->n_sleeps % SLEEPS_MAX];

	if (!arch_restarts_sleep(&b->regs) || arch_syscall_nr(&b->regs) == SYS_restart_syscall)
		return;
	*s = (struct sleep){ .tid = b->tid, .regs = b->regs };
	t->shared->n_sleeps++;
}

/* Is there a signal that the thread would handle? Then EINTR is its own, not ours. */
static bool signal_awaits(const struct tracer *t)
{
	struct err ignored = ERR_INIT;
	struct proc_status st;

	if (proof_status(t->status, &st, &ignored) < 0)
		return true;
	return (st.sig_pending | st.shared_pending) & ~st.sig_blocked;
}

bool tracee_hide_eintr(const struct tracer *t, struct arch_regs *regs)
{
	long nr = arch_syscall_nr(regs);

	if (nr < 0 || arch_syscall_result(regs) != -EINTR || !rank_eintr_restartable(nr) ||
	    signal_awaits(t))
		return false;
	arch_restart_syscall(regs);
	wait_shorten(t, regs);
	return true;
}

/*
 * Give a thread in a PTRACE_EVENT_STOP its own registers, `regs`, with that EINTR hidden. Doing
 * this first after such a stop minimizes the time in which our death would make the EINTR visible.
 */
static void tracee_own_regs(const struct tracer *t, pid_t tid, const struct arch_regs *regs)
{
	struct arch_regs again = *regs;

	tracee_hide_eintr(t, &again);
	proof_set_regs(t, tid, &again);
}

int tracee_look(struct tracer *t, struct borrow *b, int status, struct err *err)
{
	unsigned char code[ARCH_SYSCALL_INSN];
	struct err ignored = ERR_INIT;

	if (arch_get_regs(b->tid, &b->regs) < 0) {
		if (errno == ENOEXEC)
			return err_raise(err, ERROR_IN_32_BIT);
		return err_raise(err, ERROR_THREAD_ENDED, .tid = b->tid);
	}
	/* Otherwise it would return from our call to a sleep that the kernel has forgotten. */
	if (arch_syscall_result(&b->regs) == SYS_restart_syscall && t->mem >= 0 &&
	    !mem_read(t, arch_pc(&b->regs), code, sizeof(code), &ignored))
		arch_undo_restart(&b->regs, code);
	remember_sleep(t, b);
	if (proof_take(t, b->tid, status, err) < 0)
		return -1;
	wait_settle(t, &b->regs);
	if (arch_syscall_nr(&b->regs) >= 0 && arch_syscall_result(&b->regs) == -EINTR)
		tracee_own_regs(t, b->tid, &b->regs);
	return 0;
}

uint64_t tracee_rseq(pid_t tid)
{
	struct {
		uint64_t rseq_abi_pointer;
		uint32_t rseq_abi_size, signature, flags, pad;
	} conf;

	if (ptrace(GET_RSEQ_CONFIGURATION, tid, sizeof(conf), &conf) < (long)sizeof(conf))
		return 0;
	return conf.rseq_abi_pointer;
}

void tracee_release(const struct tracer *t, pid_t tid, const struct arch_regs *regs)
{
	if (arch_syscall_result(regs) == -EINTR)
		tracee_own_regs(t, tid, regs);
	ptrace(PTRACE_DETACH, tid, 0, 0);
}
