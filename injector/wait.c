// SPDX-License-Identifier: Apache-2.0
#include "injector/wait.h"
#include "injector/filters.h"
#include "injector/search.h"
#include "injector/tracer.h"

#include "base/clock.h"
#include "injector/tracee.h"

#include <errno.h>
#include <sched.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define NOTE_MAGIC UINT64_C(0x74696177666f7270) /* "profwait" */
#define CLOCK_TRIES 8
#define CLOCK_CLEAN_US 200  /* a reading that took longer was interrupted */
#define CLOCK_POOR_US 20000 /* and is useless if it took this long */
#define YOUNG_US 100000	    /* a wait that began this recently may be restarted */
#define SOON_US 200000	    /* before the end of the search */
#define ROUNDED_US 1500	    /* rounding to a millisecond, and the duration of a stop */
#define WAKING_US 2000	    /* from the end of a wait until the thread has handled it */
#define LIMIT_MAX_S 1000000 /* eleven days: longer timeouts count as unknown */

struct note {
	uint64_t magic, switches, deadline_us, pc;
};
_Static_assert(sizeof(struct note) == WAIT_NOTE_SIZE, "the room that is left for it");

static uint64_t note_address(uint64_t sp)
{
	return sp - ARCH_RED_ZONE - WAIT_NOTE_SIZE;
}

/* --- when it began ------------------------------------------------------------------------ */

/*
 * The current time by CLOCK_MONOTONIC and by the clock of the CPU that we run on. The second one is
 * the time when we were scheduled, which after a sleep is now.
 */
static bool read_clocks(int cpu, uint64_t *mono_us, uint64_t *cpu_ns)
{
	const struct timespec moment = { .tv_nsec = 1 };
	uint64_t best_us = CLOCK_POOR_US;
	struct proc_ran own;

	for (int i = 0; i < CLOCK_TRIES && best_us > CLOCK_CLEAN_US; i++) {
		uint64_t before, after;

		nanosleep(&moment, NULL);
		before = now_us();
		if (!proc_thread_ran(getpid(), getpid(), &own) || own.cpu != cpu)
			return false;
		after = now_us();
		if (after - before >= best_us)
			continue;
		best_us = after - before;
		*mono_us = after;
		*cpu_ns = own.ns;
	}
	return best_us < CLOCK_POOR_US;
}

/*
 * Runs on that CPU for a moment. If we do not get to run there, the watchdog ends this
 * (injector.c).
 */
static bool clocks_of(struct tracer *t, int cpu, uint64_t *mono_us, uint64_t *cpu_ns)
{
	cpu_set_t usual, one;
	bool have;

	CPU_ZERO(&one);
	if (cpu < 0 || cpu >= CPU_SETSIZE || sched_getaffinity(0, sizeof(usual), &usual) < 0)
		return false;
	CPU_SET(cpu, &one);
	tracer_phase(t, PHASE_CLOCK);
	have = sched_setaffinity(0, sizeof(one), &one) == 0 && read_clocks(cpu, mono_us, cpu_ns);
	sched_setaffinity(0, sizeof(usual), &usual);
	tracer_phase(t, PHASE_SEARCH);
	return have;
}

static uint64_t began_us(struct tracer *t, pid_t tid)
{
	struct proc_ran ran;
	uint64_t mono_us, cpu_ns, ago_us;

	if (t->inj->no_clock || !proc_thread_ran(t->inj->p->pid, tid, &ran) ||
	    !clocks_of(t, ran.cpu, &mono_us, &cpu_ns) || cpu_ns < ran.ns)
		return 0;
	ago_us = (cpu_ns - ran.ns) / 1000;
	return ago_us < mono_us ? mono_us - ago_us : 0;
}

/* --- what it waits for -------------------------------------------------------------------- */

static bool is_in(struct range r, uint64_t addr)
{
	return addr - r.start < r.end - r.start;
}

/*
 * May the register that holds the timeout be changed? A compiler knows that a system call preserves
 * it, and may reuse the value for the next call. The C library's wrappers make their call and
 * return, and callers do not rely on argument registers.
 */
static bool may_change(const struct tracer *t, uint64_t pc)
{
	const struct callsite *cs = &t->inj->cs;

	/* In a static program the C library's code cannot be distinguished. */
	return is_in(cs->libc, pc) && !is_in(cs->libc, cs->mallctl);
}

static uint64_t timespec_us(const struct tracer *t, uint64_t addr)
{
	struct timespec ts;
	struct err ignored = ERR_INIT;

	if (mem_read(t, addr, &ts, sizeof(ts), &ignored) < 0 || ts.tv_sec < 0 ||
	    ts.tv_sec > LIMIT_MAX_S || ts.tv_nsec < 0 || ts.tv_nsec >= 1000000000)
		return 0;
	return (uint64_t)ts.tv_sec * 1000000 + (uint64_t)ts.tv_nsec / 1000;
}

static void classify(const struct tracer *t, const struct proc_syscall *sc, struct wait *w)
{
	unsigned int arg = 0;

	w->kind = WAIT_OTHER;
	if (sc->running)
		return;
	switch (rank_limit(sc->nr, &arg)) {
	case LIMIT_MS:
		if ((int)sc->args[arg] < 0)
			return;
		w->kind = may_change(t, sc->pc) ? WAIT_REGISTER : WAIT_MEMORY;
		if (rank_is_poll(sc->nr) && w->kind == WAIT_MEMORY)
			w->kind = WAIT_OTHER; /* the kernel continues it with the remaining time */
		w->limit_us = (uint64_t)(int)sc->args[arg] * 1000;
		w->certain = true;
		return;
	case LIMIT_POINTER:
		if (!sc->args[arg])
			return;
		w->kind = WAIT_MEMORY;
		w->limit_us = timespec_us(t, sc->args[arg]);
		w->certain = true;
		return;
	case LIMIT_SOCKET:
		w->kind = WAIT_SOCKET;
		return;
	case LIMIT_NONE:
		return;
	}
}

static bool read_note(const struct tracer *t, const struct proc_syscall *sc, struct wait *w)
{
	struct err ignored = ERR_INIT;
	struct note n;

	if (mem_read(t, note_address(sc->sp), &n, sizeof(n), &ignored) < 0 ||
	    n.magic != NOTE_MAGIC || n.pc != sc->pc || n.switches + 1 != w->switches)
		return false;
	w->deadline_us = n.deadline_us;
	w->certain = true;
	return true;
}

/*
 * The register has held its value since the thread went to sleep. The note has the same time
 * without the rounding; or it belongs to the previous wait, if that ended before the thread slept
 * again.
 */
static uint64_t end_by_register(const struct wait *w)
{
	uint64_t end_us = w->began_us + w->limit_us;

	if (!w->began_us || !w->limit_us)
		return 0;
	return w->noted && w->deadline_us < end_us && end_us - w->deadline_us < ROUNDED_US
		       ? w->deadline_us
		       : end_us;
}

void wait_look(struct tracer *t, pid_t tid)
{
	const struct wait before = t->wait;
	struct wait *w = &t->wait;
	struct err ignored = ERR_INIT;
	struct proc_status st;
	struct proc_syscall sc;

	*w = (struct wait){ .tid = tid };
	/*
	 * In this order: if the thread goes to sleep again in between, wait_settle() detects that.
	 */
	if (proc_thread_status(t->inj->p->pid, tid, &st, &ignored) < 0 ||
	    proc_thread_syscall(t->inj->p->pid, tid, &sc, &ignored) < 0)
		return;
	w->switches = st.switches;
	classify(t, &sc, w);
	/* Woken by its timer, it waits for a CPU: it is the same wait, about to end. */
	if (sc.running && before.tid == tid && before.switches == st.switches &&
	    before.kind == WAIT_MEMORY) {
		*w = before;
		return;
	}
	/* poll(2), interrupted before: its number is lost, but there may be a note. */
	if (sc.nr == SYS_restart_syscall && may_change(t, sc.pc) && read_note(t, &sc, w)) {
		w->kind = WAIT_REGISTER;
		return;
	}
	if (w->kind == WAIT_OTHER)
		return;
	w->noted = read_note(t, &sc, w);
	if (w->kind == WAIT_SOCKET)
		return;
	w->began_us = began_us(t, tid);
	/* The remaining time is unknown: the timeout will restart, like one in memory. */
	if (w->kind == WAIT_REGISTER && !w->began_us)
		w->kind = sc.nr == SYS_poll ? WAIT_OTHER : WAIT_MEMORY;
	if (w->kind == WAIT_REGISTER)
		w->deadline_us = end_by_register(w);
	else if (!w->noted && w->began_us && w->limit_us)
		w->deadline_us = w->began_us + w->limit_us;
}

/* Stopped and asleep again: two switches. */
void wait_look_again(struct tracer *t, pid_t tid)
{
	struct wait *w = &t->wait;
	struct err ignored = ERR_INIT;
	struct proc_status st;

	if (proc_thread_status(t->inj->p->pid, tid, &st, &ignored) < 0 ||
	    (st.switches != w->switches && st.switches != w->switches + 2))
		*w = (struct wait){ .tid = tid };
	else
		w->switches = st.switches;
}

bool wait_is_spared(const struct tracer *t, uint64_t *until_us)
{
	const struct wait *w = &t->wait;
	uint64_t now = now_us();

	*until_us = 0;
	if (w->kind == WAIT_SOCKET)
		return w->noted;
	if (w->kind != WAIT_MEMORY)
		return false;
	if (w->noted && w->deadline_us <= now)
		return true;
	if (!w->deadline_us || (w->began_us && !w->noted && now - w->began_us < YOUNG_US) ||
	    w->deadline_us + SOON_US > t->deadline_us)
		return false;
	*until_us = w->deadline_us + WAKING_US;
	return true;
}

/* --- when it is stopped ------------------------------------------------------------------- */

void wait_settle(struct tracer *t, const struct arch_regs *regs)
{
	struct wait *w = &t->wait;
	bool slept = t->now.switches != w->switches + 1;
	struct proc_syscall sc;

	if (w->kind != WAIT_OTHER && !slept) {
		if (arch_syscall_result(regs) == -EINTR)
			w->certain = true;
		return;
	}
	/* It began after wait_look(); or it was about to end, if the thread did not sleep. */
	*w = (struct wait){ .tid = w->tid, .switches = t->now.switches, .began_us = now_us() };
	arch_get_syscall(regs, &sc);
	classify(t, &sc, w);
	if (w->limit_us && (slept || w->kind == WAIT_REGISTER))
		w->deadline_us = w->began_us + w->limit_us;
	w->certain |= arch_syscall_result(regs) == -EINTR;
}

void wait_shorten(const struct tracer *t, struct arch_regs *regs)
{
	const struct wait *w = &t->wait;
	uint64_t now = now_us(), left_us = w->deadline_us > now ? w->deadline_us - now : 0;

	if (w->kind == WAIT_REGISTER && w->deadline_us)
		arch_lower_timeout(regs, (left_us + 999) / 1000);
}

void wait_note(const struct tracer *t, const struct borrow *b)
{
	const struct wait *w = &t->wait;
	struct injector_report *report = &t->shared->report;
	struct err ignored = ERR_INIT;
	struct proc_status now;
	struct note n = { .magic = NOTE_MAGIC,
			  .deadline_us = w->deadline_us,
			  .pc = arch_pc(&b->regs) };

	if (w->kind == WAIT_OTHER || !w->certain ||
	    proc_thread_status_read(t->status, &now, &ignored) < 0)
		return;
	n.switches = now.switches;
	if (mem_write(t, note_address(arch_sp(&b->regs)), &n, sizeof(n), &ignored) < 0)
		return;
	report->prolonged = w->kind != WAIT_REGISTER;
	if (report->prolonged && w->began_us)
		report->late_us = now_us() - w->began_us;
}
