// SPDX-License-Identifier: Apache-2.0
/*
 * Borrowing a thread.
 *
 * What is written to its stack, from its stack pointer downwards:
 *
 *	red zone	the program's, untouched
 *	note		of a prolonged wait (wait.h)
 *	xframe		extended state, as rt_sigreturn(2) reads it
 *	scratch		arguments and results of the call
 *	home		registers and signal mask, as rt_sigreturn(2) reads them
 *	link		return address: __restore_rt
 *	ucontext	registers for a store that restores errno, likewise
 *	chain		return addresses: a store of the result, then __restore_rt
 *
 * The order of the writes makes it safe to die at any instant. Memory comes first: nothing uses
 * the stack below the red zone. Then the registers: from here on the thread, if released, makes
 * the call, returns to __restore_rt and gets its own state back. The signal mask comes last; the
 * frame restores it as well.
 *
 * Unless we die, the thread is stopped on entry of that rt_sigreturn, which is replaced by a
 * system call without effect: rt_sigreturn would forget how much of an interrupted sleep remains.
 * The program counter is set to __restore_rt again, so that the frame still restores the thread
 * if we die now. The original registers are set in a PTRACE_EVENT_STOP, the only stop from which
 * the kernel still restarts the interrupted call.
 */
#include "injector/proof.h"
#include "injector/tracee.h"

#include "base/clock.h"
#include "injector/check.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>

#ifndef PTRACE_GETSIGMASK
#define PTRACE_GETSIGMASK 0x420a
#endif

#define ALIGN_DOWN(x, a) ((x) & ~(uint64_t)((a)-1))
#define BLOCK_MAX (ARGS_MAX + ARCH_XSTATE_MAX + 4096)
#define KERNEL_SIGSET_SIZE 8
#define LINK_SIZE (2 * sizeof(uint64_t))
#define ROUNDING_MAX (3 * 64)

/*
 * Blocks all signals except some internal ones of the C library. setuid(2) and similar functions,
 * called by another thread, wait until each thread has handled such a signal and made the same
 * change (nptl(7)). The helper thread inherits this mask: with the signal blocked it would keep
 * them waiting forever, and would itself hang when it exits.
 */
static uint64_t call_sigmask(const struct tracer *t)
{
	return ~t->inj->cs.lib->open_signals;
}

struct make_thread { /* contents of scratch */
	uint64_t result;
	uint64_t thread;
	unsigned char attr[ATTR_SIZE];
};

static int lost(struct err *err, pid_t tid)
{
	if (errno == ESRCH)
		return err_raise(err, ERROR_THREAD_LOST, .tid = tid);
	return err_raise_sys(err, ERROR_THREAD_UNCONTROLLABLE, errno, .tid = tid);
}

static int gone(const struct borrow *b, struct err *err)
{
	return err_raise(err, ERROR_PROGRAM_LOST, .tid = b->tid);
}

static uint64_t errno_address(const struct tracer *t, const struct borrow *b)
{
	return arch_tls(&b->regs) + (uint64_t)t->inj->cs.errno_offset;
}

static int save(const struct tracer *t, struct borrow *b, struct err *err)
{
	const struct callsite *cs = &t->inj->cs;

	if (arch_get_xstate(b->tid, &b->xstate) < 0)
		return err_raise_sys(err, ERROR_STATE_UNSAVED, errno, .tid = b->tid);
	if (ptrace(PTRACE_GETSIGMASK, b->tid, KERNEL_SIGSET_SIZE, &b->sigmask) < 0)
		return err_raise_sys(err, ERROR_SIGNAL_MASK_UNSAVED, errno, .tid = b->tid);
	if (cs->has_errno)
		return mem_read(t, errno_address(t, b), &b->sys, sizeof(b->sys), err);
	return 0;
}

/* The registers that the frame restores unless we restore the original ones. */
static void way_home(const struct tracer *t, const struct borrow *b, struct arch_regs *home)
{
	unsigned char code[ARCH_SYSCALL_CODE];
	struct err ignored = ERR_INIT;

	*home = b->regs;
	if (tracee_hide_eintr(t, home))
		return;
	for (size_t i = 0; i < SLEEPS_MAX && arch_syscall_nr(home) == SYS_restart_syscall; i++)
		if (t->shared->sleeps[i].tid == b->tid)
			arch_name_as(home, &t->shared->sleeps[i].regs);
	if (arch_syscall_nr(home) == SYS_restart_syscall &&
	    mem_read(t, arch_pc(home) - sizeof(code), code, sizeof(code), &ignored) == 0)
		arch_name_restarted(home, code);
	if (arch_restarts_sleep(home))
		wait_shorten(t, home);
}

size_t borrow_frame_max(void)
{
	return ARCH_RED_ZONE + WAIT_NOTE_SIZE + arch_xframe_max() + ARGS_MAX +
	       2 * ARCH_UCONTEXT_SIZE + LINK_SIZE + ARCH_CHAIN_MAX * sizeof(uint64_t) +
	       ROUNDING_MAX;
}

/* `room` is the size of arguments and results. */
static void lay_out(struct borrow *b, size_t room)
{
	uint64_t top = arch_sp(&b->regs) - ARCH_RED_ZONE - WAIT_NOTE_SIZE;

	b->xframe = ALIGN_DOWN(top - arch_xframe_size(&b->xstate), 64);
	b->scratch = ALIGN_DOWN(b->xframe - room, 64);
	b->home = ALIGN_DOWN(b->scratch - ARCH_UCONTEXT_SIZE, 16);
	b->ucontext = b->home - LINK_SIZE - ARCH_UCONTEXT_SIZE;
	b->chain = b->ucontext - ARCH_CHAIN_MAX * sizeof(uint64_t);
}

/*
 * The frame that follows the call: it restores errno, which the call may have set, and continues
 * with the home frame. The location of errno is not known for every C library.
 */
static void build_errno_frame(const struct tracer *t, const struct borrow *b,
			      const struct arch_regs *home, unsigned char *block)
{
	const struct callsite *cs = &t->inj->cs;
	const uint64_t link[] = { 0, cs->restorer };
	struct arch_regs regs = *home;

	_Static_assert(sizeof(link) == LINK_SIZE, "the last word is the return address");
	if (!cs->has_errno) {
		arch_ucontext_build(home, b->sigmask, b->xframe, block);
		return;
	}
	arch_store(&regs, &cs->gadget, b->home - sizeof(*link), errno_address(t, b),
		   (uint32_t)b->sys);
	arch_ucontext_build(&regs, call_sigmask(t), b->xframe, block);
	memcpy(block + ARCH_UCONTEXT_SIZE, link, sizeof(link));
}

/* Write the frames and the arguments at once; the call's result goes to `result`. */
static int write_frame(const struct tracer *t, struct borrow *b, const void *args, size_t len,
		       uint64_t result, struct err *err)
{
	static unsigned char block[BLOCK_MAX];
	size_t size = b->xframe + arch_xframe_size(&b->xstate) - b->chain;
	uint64_t chain[ARCH_CHAIN_MAX];
	struct arch_regs home;

	way_home(t, b, &home);
	arch_chain(chain, &t->inj->cs.gadget, result, t->inj->cs.restorer, false);
	memcpy(block, chain, sizeof(chain));
	build_errno_frame(t, b, &home, block + (b->ucontext - b->chain));
	arch_ucontext_build(&home, b->sigmask, b->xframe, block + (b->home - b->chain));
	memcpy(block + (b->scratch - b->chain), args, len);
	arch_xframe_build(&b->xstate, block + (b->xframe - b->chain));
	return mem_write(t, b->chain, block, size, err);
}

/* The first step that affects the target if we die: from here on the frame restores the thread. */
static int send_off(struct tracer *t, struct borrow *b, uint64_t fn, const uint64_t args[6],
		    enum progress progress, struct err *err)
{
	struct arch_regs regs = b->regs;
	struct arch_xstate clean;

	arch_call(&regs, fn, b->chain, args);
	atomic_store(&t->shared->progress, progress);
	if (proof_set_regs(t, b->tid, &regs) < 0)
		return lost(err, b->tid);
	if (!arch_fp_is_clean(&b->xstate)) {
		clean = b->xstate;
		arch_fp_clean(&clean);
		if (proof_set_xstate(t, b->tid, &clean) < 0)
			return lost(err, b->tid);
	}
	return proof_set_sigmask(t, b->tid, call_sigmask(t)) < 0 ? lost(err, b->tid) : 0;
}

/* It crashed in our call: return it to its own code. Locks that it holds remain held. */
static int crashed(const struct tracer *t, struct borrow *b, int sig, struct err *err)
{
	struct arch_regs regs = b->regs;
	const uint64_t none[6] = { 0 };

	arch_call(&regs, t->inj->cs.restorer, b->ucontext, none);
	proof_set_regs(t, b->tid, &regs);
	ptrace(PTRACE_DETACH, b->tid, 0, 0);
	err_raise(err, ERROR_CALL_KILLED, .signal = sig);
	return err_advise(err, FIX_REPORT_AND_RESTART);
}

/* Signals that are not blocked: they are meant for the program, and do not matter here. */
static bool is_passed_on(const struct tracer *t, int sig)
{
	return (t->inj->cs.lib->open_signals & SIGNAL_BIT(sig)) || sig == SIGSTOP;
}

/* Run until the thread is about to make its rt_sigreturn. */
static int run_home(struct tracer *t, struct borrow *b, struct err *err)
{
	struct arch_regs regs;
	unsigned long msg;
	int sig, pass = 0;

	for (;;) {
		if (tracee_resume(b->tid, PTRACE_SYSCALL, pass, err) < 0)
			return -1;
		pass = 0;
		switch (tracee_wait(t, b->tid, &sig)) {
		case STOP_GONE:
			return gone(b, err);
		case STOP_CLONE:
			if (ptrace(PTRACE_GETEVENTMSG, b->tid, 0, &msg) == 0)
				b->child = (pid_t)msg;
			break;
		case STOP_SIGNAL:
			if (!is_passed_on(t, sig))
				return crashed(t, b, sig, err);
			pass = sig;
			break;
		case STOP_SYSCALL:
			if (arch_get_regs(b->tid, &regs) < 0)
				return lost(err, b->tid);
			if (arch_syscall_nr(&regs) == SYS_rt_sigreturn &&
			    arch_sp(&regs) == b->ucontext)
				return 0;
			break;
		default:
			break; /* continue from a group stop; the process remains stopped */
		}
	}
}

/*
 * Replace rt_sigreturn by a call that this thread has already made under all its seccomp filters.
 */
static int idle(const struct tracer *t, struct borrow *b, struct err *err)
{
	const uint64_t args[6] = { SIG_BLOCK, 0, 0, KERNEL_SIGSET_SIZE };
	struct arch_regs regs;

	if (arch_get_regs(b->tid, &regs) < 0)
		return lost(err, b->tid);
	arch_replace_syscall(&regs, SYS_rt_sigprocmask, args, t->inj->cs.restorer);
	return proof_set_regs(t, b->tid, &regs) < 0 ? lost(err, b->tid) : 0;
}

static int to_event_stop(struct tracer *t, struct borrow *b, struct err *err)
{
	int sig;

	if (ptrace(PTRACE_INTERRUPT, b->tid, 0, 0) < 0)
		return lost(err, b->tid);
	for (;;) {
		if (tracee_resume(b->tid, PTRACE_CONT, 0, err) < 0)
			return -1;
		switch (tracee_wait(t, b->tid, &sig)) {
		case STOP_EVENT:
		case STOP_GROUP:
			return 0;
		case STOP_GONE:
			return gone(b, err);
		default:
			break;
		}
	}
}

static int restore(struct tracer *t, struct borrow *b, struct err *err)
{
	const struct callsite *cs = &t->inj->cs;
	struct arch_regs own;

	if (to_event_stop(t, b, err) < 0)
		return -1;
	if (cs->has_errno && mem_write(t, errno_address(t, b), &b->sys, sizeof(b->sys), err) < 0)
		return -1;
	if (proof_set_sigmask(t, b->tid, b->sigmask) < 0 ||
	    proof_set_xstate(t, b->tid, &b->xstate) < 0)
		return lost(err, b->tid);
	wait_note(t, b);
	own = b->regs;
	tracee_hide_eintr(t, &own);
	if (proof_set_regs(t, b->tid, &own) < 0)
		return lost(err, b->tid);
	tracee_release(t, b->tid, &b->regs);
	return 0;
}

static int thread_failed(struct tracer *t, int ret, struct err *err)
{
	atomic_store(&t->shared->progress, PROGRESS_NONE);
	err_raise_target(err, ERROR_THREAD_NOT_MADE, ret);
	if (ret == EAGAIN)
		return err_advise(err, FIX_RAISE_THREAD_LIMITS),
		       err_advise_too(err, check_without_thread(t->calls, t->n_calls));
	return -1;
}

static int make_thread(struct tracer *t, struct borrow *b, struct err *err)
{
	const struct libc *lib = t->inj->cs.lib;
	struct make_thread m = { 0 };
	const uint64_t at = b->scratch;
	const uint64_t args[6] = { at + offsetof(struct make_thread, thread),
				   at + offsetof(struct make_thread, attr), t->inj->cs.home, 0 };

	memcpy(m.attr, lib->attr, lib->attr_size);
	b->sigmask &= ~lib->unblocked;
	if (write_frame(t, b, &m, sizeof(m), at, err) < 0 ||
	    send_off(t, b, t->inj->cs.pthread_create, args, PROGRESS_SENT, err) < 0 ||
	    run_home(t, b, err) < 0 || mem_read(t, at, &m, sizeof(m), err) < 0 ||
	    idle(t, b, err) < 0 || restore(t, b, err) < 0)
		return -1;
	return b->child ? 0 : thread_failed(t, (int)m.result, err);
}

/* From the end of one call to the start of the next: the exit stop of the idle call. */
static int next_call(struct tracer *t, struct borrow *b, struct err *err)
{
	int sig, pass = 0;
	enum stop stop;

	if (idle(t, b, err) < 0)
		return -1;
	do {
		if (tracee_resume(b->tid, PTRACE_SYSCALL, pass, err) < 0)
			return -1;
		stop = tracee_wait(t, b->tid, &sig);
		pass = stop == STOP_SIGNAL ? sig : 0;
	} while (stop == STOP_GROUP || (stop == STOP_SIGNAL && is_passed_on(t, sig)));
	if (stop == STOP_SYSCALL)
		return 0;
	return err_raise(err, ERROR_THREAD_STRAYED, .tid = b->tid);
}

static int call_inline(struct tracer *t, struct borrow *b, size_t i, bool *go_on, struct err *err)
{
	static struct call_args a;
	struct shared_call *out = &t->shared->calls[i];
	uint64_t began;

	if (call_args_build(&a, &t->inj->cs, &t->calls[i], NULL, b->scratch, err) < 0 ||
	    write_frame(t, b, a.bytes, a.len, a.result, err) < 0)
		return -1;
	began = now_us();
	if (send_off(t, b, a.fn, a.args, PROGRESS_CALL, err) < 0 || run_home(t, b, err) < 0)
		return -1;
	out->call_us = now_us() - began;
	return call_args_collect(t, &a, &t->calls[i], arch_tls(&b->regs), out, go_on, err);
}

static int make_calls(struct tracer *t, struct borrow *b, struct err *err)
{
	bool go_on = true;

	for (size_t i = 0; i < t->n_calls && go_on; i++) {
		if (i && next_call(t, b, err) < 0)
			return -1;
		if (call_inline(t, b, i, &go_on, err) < 0)
			return -1;
	}
	t->shared->enough = !go_on;
	return idle(t, b, err) < 0 ? -1 : restore(t, b, err);
}

int borrow_run(struct tracer *t, struct borrow *b, struct err *err)
{
	int ret;

	if (save(t, b, err) < 0) {
		tracee_release(t, b->tid, &b->regs);
		return -1;
	}
	lay_out(b, t->mode == INJECTOR_THREAD ? sizeof(struct make_thread) : ARGS_MAX);
	ret = t->mode == INJECTOR_THREAD ? make_thread(t, b, err) : make_calls(t, b, err);
	t->shared->report.pause_us = now_us() - b->stopped_us;
	t->shared->report.tid = b->tid;
	t->shared->report.mode = t->mode;
	return ret;
}
