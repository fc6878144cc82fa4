// SPDX-License-Identifier: Apache-2.0
/* What must hold before a tracer is started, and can be seen from outside. */
#include "injector/check.h"

#include "process/rights.h"
#include "process/room.h"

#include <elf.h>
#include <string.h>

int check_shadow_stack(pid_t tid, const struct proc_status *st, struct err *err)
{
	if (!st->shadow_stack)
		return 0;
	err_set(err, ERR_FAILED,
		"thread %d has a shadow stack (x86_Thread_features: shstk), which calls from "
		"outside are not made for yet",
		tid);
	return err_fix(err, "start the program without: GLIBC_TUNABLES=glibc.cpu.hwcaps=-SHSTK");
}

static int check_state(const struct proc *now, struct err *err)
{
	const struct proc_status *st = &now->status;

	if (st->tracer_pid) {
		err_set(err, ERR_BUSY, "process %d is traced by process %d", now->pid,
			st->tracer_pid);
		return err_fix(err,
			       "wait until that tracer (a debugger, strace) is done, or end it");
	}
	if (strchr("Tt", st->state)) {
		err_set(err, ERR_UNSAFE, "process %d is stopped (state %c)", now->pid, st->state);
		return err_fix(err, "let it go on first: kill -CONT %d", now->pid);
	}
	if (st->seccomp == 1) {
		err_set(err, ERR_UNSAFE,
			"process %d is in seccomp's strict mode: any call would kill it", now->pid);
		return err_fix(err, "there is no way to profile it");
	}
	return check_shadow_stack(now->pid, st, err);
}

static int check_image(const struct images *images, struct err *err)
{
	for (size_t i = 0; i < images->n; i++) {
		const struct image *img = &images->v[i];

		if (img->is_main &&
		    (img->elf_class != ELFCLASS64 || img->machine != ARCH_ELF_MACHINE)) {
			err_set(err, ERR_FAILED,
				"the target is not a 64-bit " ARCH_NAME " program");
			return err_fix(err, "jeprof-ctl can call into 64-bit programs of its own "
					    "architecture only");
		}
	}
	return 0;
}

static int check_frozen(pid_t pid, struct err *err)
{
	if (!proc_frozen(pid))
		return 0;
	err_set(err, ERR_UNSAFE, "the control group of process %d is frozen", pid);
	return err_fix(err,
		       "thaw it first: 0 into its cgroup.freeze, or THAWED into its freezer.state");
}

int check_target(const struct proc *p, const struct images *images, struct err *err)
{
	struct proc now = *p;

	if (proc_refresh(&now, err) < 0 || check_image(images, err) < 0 ||
	    check_state(&now, err) < 0)
		return -1;
	return check_frozen(p->pid, err);
}

static bool wants(const struct call *calls, size_t n, unsigned int flags)
{
	for (size_t i = 0; i < n; i++)
		if (calls[i].flags & flags)
			return true;
	return false;
}

const char *check_without_thread(const struct call *calls, size_t n)
{
	if (wants(calls, n, CALL_MEMFD))
		return "let the target write to a folder of its own: --in-target PATH";
	if (wants(calls, n, CALL_STATS))
		return CHECK_GET_INSTEAD;
	return "drop --mode thread: short calls can be made in a borrowed thread";
}

bool calls_want_file(const struct call *calls, size_t n)
{
	return wants(calls, n, CALL_MEMFD | CALL_STATS);
}

bool calls_want_dump(const struct call *calls, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(calls[i].name, "prof.dump") == 0)
			return true;
	return false;
}

static const char *no_thread(const struct callsite *cs)
{
	return cs->home ? ", and it has no pthread_create that is known"
			: ", and its C library has no code that a new thread could wait in";
}

int check_calls(const struct injector *inj, enum injector_mode mode, const struct call *calls,
		size_t n, struct err *err)
{
	if (!n || n > CALLS_MAX)
		return err_set(err, ERR_FAILED, "%zu calls cannot be made in one run", n);
	if (wants(calls, n, CALL_STATS) && !inj->cs.stats_print) {
		err_set(err, ERR_FAILED, "malloc_stats_print was not found in the target");
		return err_fix(err, CHECK_GET_INSTEAD);
	}
	if (calls_want_file(calls, n) && (mode == INJECTOR_INLINE || !inj->cs.pthread_create)) {
		err_set(err, ERR_FAILED, "this cannot be done in a borrowed thread%s",
			inj->cs.pthread_create ? "" : no_thread(&inj->cs));
		return err_fix(err, "%s",
			       inj->cs.pthread_create ? "drop --mode inline"
			       : wants(calls, n, CALL_STATS)
				       ? CHECK_GET_INSTEAD
				       : "dump --in-target PATH does without");
	}
	if (mode == INJECTOR_THREAD && !inj->cs.pthread_create)
		return err_set(err, ERR_FAILED, "the target has no pthread_create");
	return 0;
}

/*
 * A write beyond the limit answers with SIGXFSZ, which waits for a borrowed thread until it has
 * its own signals back, and ends the program. A thread of our own takes it to its grave.
 */
int check_file_limit(const struct injector *inj, enum injector_mode mode, const struct call *calls,
		     size_t n, struct err *err)
{
	uint64_t limit;

	if (mode != INJECTOR_INLINE || !calls_want_dump(calls, n) ||
	    (room_rlimit(inj->p->pid, RLIMIT_FSIZE, &limit) && limit == RLIM_INFINITY))
		return 0;
	err_set(err, ERR_FAILED,
		"a dump in a borrowed thread could end the target: the size of its files is "
		"limited (RLIMIT_FSIZE)");
	return err_fix(err, "lift it: prlimit --pid %d --fsize=unlimited", inj->p->pid);
}
