// SPDX-License-Identifier: Apache-2.0
/* Preconditions for starting a tracer that can be checked from outside. */
#include "injector/check.h"

#include "arch/machine.h"
#include "process/rights.h"
#include "process/room.h"

#include <elf.h>
#include <string.h>

int check_shadow_stack(pid_t tid, const struct proc_status *st, struct err *err)
{
	if (!st->shadow_stack)
		return 0;
	err_raise(err, ERROR_SHADOW_STACK, .tid = tid,
		  .text = ARCH_FEATURES ": " ARCH_SHADOW_STACK);
	return err_advise(err, FIX_WITHOUT_SHADOW_STACK);
}

static int check_state(const struct proc *now, struct err *err)
{
	const struct proc_status *st = &now->status;

	if (st->tracer_pid) {
		err_raise(err, ERROR_TARGET_TRACED, .pid = now->pid, .other = st->tracer_pid);
		return err_advise(err, FIX_END_TRACER);
	}
	if (strchr("Tt", st->state)) {
		err_raise(err, ERROR_TARGET_STOPPED, .pid = now->pid,
			  .text = (char[]){ st->state, '\0' });
		return err_advise(err, FIX_CONTINUE_FIRST);
	}
	if (st->seccomp == 1) {
		err_raise(err, ERROR_TARGET_STRICT, .pid = now->pid);
		return err_advise(err, FIX_NO_WAY);
	}
	return check_shadow_stack(now->pid, st, err);
}

static int check_image(const struct images *images, struct err *err)
{
	for (size_t i = 0; i < images->n; i++) {
		const struct image *img = &images->v[i];

		if (img->is_main &&
		    (img->elf_class != ELFCLASS64 || img->machine != ARCH_ELF_MACHINE)) {
			err_raise(err, ERROR_NOT_NATIVE, .name = ARCH_NAME);
			return err_advise(err, FIX_NATIVE_ONLY);
		}
	}
	return 0;
}

static int check_frozen(pid_t pid, struct err *err)
{
	if (!proc_frozen(pid))
		return 0;
	err_raise(err, ERROR_CGROUP_FROZEN, .pid = pid);
	return err_advise(err, FIX_THAW);
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

enum fix check_without_thread(const struct call *calls, size_t n)
{
	if (wants(calls, n, CALL_MEMFD))
		return FIX_IN_TARGET;
	if (wants(calls, n, CALL_STATS))
		return FIX_GET_SINGLE_VALUES;
	if (calls_want_map(calls, n))
		return FIX_NO_WAY;
	return FIX_DROP_MODE_THREAD;
}

bool calls_want_file(const struct call *calls, size_t n)
{
	return wants(calls, n, CALL_MEMFD | CALL_STATS | CALL_MAP | CALL_EMPTY);
}

bool calls_want_map(const struct call *calls, size_t n)
{
	return wants(calls, n, CALL_MAP | CALL_EMPTY);
}

bool calls_want_dump(const struct call *calls, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(calls[i].name, "prof.dump") == 0)
			return true;
	return false;
}

int check_calls(const struct injector *inj, enum injector_mode mode, const struct call *calls,
		size_t n, struct err *err)
{
	if (!n || n > CALLS_MAX)
		return err_raise(err, ERROR_CALLS_OUT_OF_RANGE, .number = (int64_t)n);
	if (wants(calls, n, CALL_STATS) && !inj->cs.stats_print) {
		err_raise(err, ERROR_STATS_PRINT_NOT_FOUND);
		return err_advise(err, FIX_GET_SINGLE_VALUES);
	}
	if (calls_want_file(calls, n) && (mode == INJECTOR_INLINE || !inj->cs.pthread_create)) {
		err_raise(err, inj->cs.pthread_create ? ERROR_NEEDS_OWN_THREAD
			       : inj->cs.home	      ? ERROR_NEEDS_PTHREAD_CREATE
						      : ERROR_NEEDS_THREAD_HOME);
		return err_advise(err, inj->cs.pthread_create	     ? FIX_DROP_MODE_INLINE
				       : wants(calls, n, CALL_STATS) ? FIX_GET_SINGLE_VALUES
				       : calls_want_map(calls, n)    ? FIX_NO_WAY
								     : FIX_DUMP_IN_TARGET);
	}
	if (mode == INJECTOR_THREAD && !inj->cs.pthread_create)
		return err_raise(err, ERROR_NO_PTHREAD_CREATE);
	return 0;
}

/*
 * A write beyond the limit raises SIGXFSZ. In a borrowed thread it stays pending until the thread's
 * signal mask is restored, and then kills the program. In the helper thread it stays blocked until
 * that thread exits.
 */
int check_file_limit(const struct injector *inj, enum injector_mode mode, const struct call *calls,
		     size_t n, struct err *err)
{
	uint64_t limit;

	if (mode != INJECTOR_INLINE || !calls_want_dump(calls, n) ||
	    (room_rlimit(inj->p->pid, RLIMIT_FSIZE, &limit) && limit == RLIM_INFINITY))
		return 0;
	err_raise(err, ERROR_DUMP_COULD_END_TARGET);
	return err_advise(err, FIX_LIFT_FSIZE, .pid = inj->p->pid);
}
