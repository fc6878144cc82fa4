// SPDX-License-Identifier: Apache-2.0
#include "injector/proof.h"

#include <errno.h>
#include <sys/ptrace.h>

#define READ_TRIES 3

#ifndef PTRACE_SETSIGMASK
#define PTRACE_SETSIGMASK 0x420b
#endif

int proof_program(const struct tracer *t, pid_t tid, struct err *err)
{
	const struct injector *inj = t->inj;
	struct err why = ERR_INIT;
	struct proc_status st = { 0 };

	/*
	 * Another process may have reused the pid and run the same program at the same addresses.
	 */
	if (proc_alive(inj->p) && proc_program(tid) == inj->program)
		return 0;
	if (proc_alive(inj->p) && proc_thread_status(inj->p->pid, tid, &st, &why) < 0 &&
	    why.code != ERR_LOST) {
		*err = why; /* a limit on our side */
		return -1;
	}
	/*
	 * An exiting thread loses its memory before its state shows that (do_exit(), kernel/exit.c:
	 * exit_mm() comes first). The process still has its program.
	 */
	if (proc_alive(inj->p) &&
	    (why.code == ERR_LOST || st.state == 'Z' || st.state == 'X' || callsite_holds(t)))
		return err_raise(err, ERROR_THREAD_ENDED, .tid = tid);
	return err_raise(err, ERROR_PROGRAM_ENDED, .pid = inj->p->pid);
}

/*
 * Real, effective and saved ID; the file system ID is one of these, or was set with a capability.
 */
static bool are_among(const uint32_t ids[3], const uint32_t known[3])
{
	for (int i = 0; i < 3; i++)
		if (ids[i] != known[0] && ids[i] != known[1] && ids[i] != known[2])
			return false;
	return true;
}

bool proof_no_more_rights(const struct proc_status *start, const struct proc_status *now)
{
	return are_among(now->uids, start->uids) && are_among(now->gids, start->gids) &&
	       !(now->cap_permitted & ~start->cap_permitted);
}

int proof_status(int status, struct proc_status *now, struct err *err)
{
	int failed, tries = 0;

	do {
		failed = proc_thread_status_read(status, now, err);
	} while (failed && err->own && ++tries < READ_TRIES);
	return failed;
}

int proof_take(struct tracer *t, pid_t tid, int status, struct err *err)
{
	struct proc_status *now = &t->now;

	t->proven = 0;
	if (proof_status(status, now, err) < 0)
		return err->own ? -1 : err_raise(err, ERROR_THREAD_ENDED, .tid = tid);
	if (now->tgid != t->inj->p->pid)
		return err_raise(err, ERROR_THREAD_OF_ANOTHER, .tid = tid, .other = now->tgid);
	if (!proof_no_more_rights(&t->inj->start, now))
		return err_raise(err, ERROR_THREAD_HAS_OTHER_RIGHTS, .tid = tid);
	t->proven = tid;
	return 0;
}

static bool is_proven(const struct tracer *t, pid_t tid)
{
	if (tid && t->proven == tid)
		return true;
	errno = EPERM;
	return false;
}

int proof_set_regs(const struct tracer *t, pid_t tid, const struct arch_regs *regs)
{
	return is_proven(t, tid) ? arch_set_regs(tid, regs) : -1;
}

int proof_set_xstate(const struct tracer *t, pid_t tid, const struct arch_xstate *x)
{
	return is_proven(t, tid) ? arch_set_xstate(tid, x) : -1;
}

int proof_set_sigmask(const struct tracer *t, pid_t tid, uint64_t mask)
{
	if (!is_proven(t, tid))
		return -1;
	return ptrace(PTRACE_SETSIGMASK, tid, sizeof(mask), &mask) < 0 ? -1 : 0;
}
