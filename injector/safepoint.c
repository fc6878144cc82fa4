// SPDX-License-Identifier: Apache-2.0
/*
 * Decides whether a stopped thread may be borrowed.
 *
 * It must not hold a lock that our call takes: jemalloc's, the loader's, those of thread creation.
 * A thread that holds one has, somewhere on its stack, a return address into the code that took it.
 * So every aligned word of the used stack is checked, whether live or not: a word that points into
 * such code makes the thread suspect, and then an exact walk of its frames decides (walker.h).
 * Stale words are common on a main thread's stack; the frames are exact.
 */
#include "injector/tracee.h"

#include "base/cleanup.h"
#include "injector/check.h"
#include "injector/search.h"
#include "injector/walker.h"
#include "process/room.h"

#include <errno.h>
#include <string.h>
#include <sys/ptrace.h>

#define CALL_ROOM (40u << 10) /* for the call itself; measured: 12 KiB for prof.dump */
#define PAGE 4096u
#define PROTECTED_MAX 4 /* mappings; a program that protects pages creates one or two */

/* In a restartable sequence (rseq(2)): a stop would not abort it, but our signal frame would. */
static bool in_rseq(const struct tracer *t, pid_t tid, uint64_t pc)
{
	struct {
		uint32_t version, flags;
		uint64_t start, length, abort;
	} cs;
	uint64_t area = tracee_rseq(tid), cs_addr;
	struct err ignored = ERR_INIT;

	if (!area)
		return false;
	if (mem_read(t, area + 8, &cs_addr, sizeof(cs_addr), &ignored) < 0)
		return true;
	if (!cs_addr)
		return false;
	if (mem_read(t, cs_addr, &cs, sizeof(cs), &ignored) < 0)
		return true;
	return pc - cs.start < cs.length;
}

/*
 * A program may remove all access to the lowest pages of a thread's stack, as HotSpot does for its
 * guard zones (JDK 17, stackOverflow.cpp), which makes them separate mappings. Returns the start of
 * the lowest of those adjoining `start`.
 */
static uint64_t protected_from(const struct tracer *t, uint64_t start)
{
	char name[MAP_NAME_SIZE];
	struct map below;

	for (unsigned int i = 0; i < PROTECTED_MAX; i++) {
		if (!map_query(t->maps, t->inj->p->mm_pid, start - 1, &below, name) || below.prot)
			break;
		start = below.start;
	}
	return start;
}

/*
 * The limits of a thread's stack according to the C library. They are accepted only if the part
 * below the mapping of the stack pointer is protected.
 */
static bool thread_limits(const struct tracer *t, const struct arch_regs *regs, struct map *m)
{
	uint64_t tls = arch_tls(regs), w[TCB_MAX / sizeof(uint64_t)];
	size_t len = m->end - tls < sizeof(w) ? m->end - tls : sizeof(w);
	const struct libc *lib = t->inj->cs.lib;
	struct range map = { m->start, m->end }, stack;
	struct err ignored = ERR_INIT;

	/* From glibc 2.42 on the same mapping has the next stack's guard, which is unreadable. */
	if (mem_read(t, tls, w, len, &ignored) < 0) {
		len = PAGE - tls % PAGE;
		if (len > sizeof(w) || mem_read(t, tls, w, len, &ignored) < 0)
			return false;
	}
	if (!lib->stack(w, len / sizeof(*w), tls, arch_sp(regs), &map, &stack)) {
		map.start = protected_from(t, m->start);
		if (!lib->stack(w, len / sizeof(*w), tls, arch_sp(regs), &map, &stack))
			return false;
	}
	if (stack.start > m->start)
		m->start = stack.start;
	m->end = stack.end;
	return true;
}

/*
 * The regular stack of this thread: for the main thread the one named [stack], for others the one
 * in their control block. Coroutines and goroutines run on other stacks, whose limits are unknown.
 */
static bool find_stack(const struct tracer *t, const struct arch_regs *regs, struct map *m,
		       char name[MAP_NAME_SIZE])
{
	/* The mappings may have changed since injector_open(). */
	if (!map_query(t->maps, t->inj->p->mm_pid, arch_sp(regs), m, name) || !(m->prot & MAP_W))
		return false;
	if (strcmp(m->path, "[stack]") == 0)
		return true;
	return arch_tls(regs) >= arch_sp(regs) && arch_tls(regs) < m->end &&
	       thread_limits(t, regs, m);
}

#define ALTSTACK_MIN 2048 /* MINSIGSTKSZ: sigaltstack(2) rejects smaller ones */

/*
 * An alternate signal stack (sigaltstack(2)) may be part of the regular one, such as an array of
 * some function, with used memory below it. The kernel stores its limits in each signal frame,
 * which is within them, like everything on the handler's stack.
 */
static bool is_on_altstack(const struct arch_altstack *alt, uint64_t at, uint64_t sp,
			   const struct map *stack)
{
	uint64_t end = alt->start + alt->size;

	return alt->size >= ALTSTACK_MIN && alt->start < end && end <= stack->end &&
	       alt->start <= at && at + ARCH_SIGNAL_FRAME_SIZE <= end && alt->start <= sp &&
	       sp < end;
}

/*
 * A thread that waits in a signal handler may have been interrupted anywhere, which matters if not
 * all dangerous code is known.
 */
static int check_handlers(const struct tracer *t, const struct arch_regs *regs,
			  const struct map *stack, const unsigned char *bytes, size_t len,
			  struct err *err)
{
	uint64_t from = stack->end - len;
	struct arch_altstack alt;

	for (size_t i = 0; arch_find_signal_frame(bytes, len, from, t->inj->cs.restorer, &i, &alt);
	     i += sizeof(uint64_t)) {
		if (is_on_altstack(&alt, from + i, arch_sp(regs), stack))
			return err_raise(err, ERROR_ON_SIGNAL_STACK);
		if (t->inj->cs.caution)
			return err_raise(err, ERROR_IN_SIGNAL_HANDLER);
	}
	return 0;
}

/*
 * The main thread's stack grows automatically, but not into other mappings or beyond the limit on
 * address space: then the kernel kills the process (acct_stack_growth()).
 */
static uint64_t grows_to(const struct tracer *t, const struct map *stack)
{
	uint64_t limit = t->inj->stack_limit;
	char name[MAP_NAME_SIZE];
	struct room room;
	struct map below;

	if (strcmp(stack->path, "[stack]") != 0 || limit >= stack->end ||
	    limit <= stack->end - stack->start ||
	    map_query(t->maps, t->inj->p->mm_pid, stack->start - 1, &below, name))
		return stack->start;
	if (room_left(ROOM_ADDRESSES, t->inj->p, &room) &&
	    room.left < limit - (stack->end - stack->start))
		return stack->start - room.left / PAGE * PAGE;
	return stack->end - limit;
}

static int check_room(const struct tracer *t, const struct arch_regs *regs, const struct map *stack,
		      struct err *err)
{
	uint64_t sp = arch_sp(regs), frame = borrow_frame_max(), need = frame + CALL_ROOM;

	if (sp - stack->start >= need)
		return 0;
	if (sp - stack->start < frame || sp - grows_to(t, stack) < need)
		return err_raise(err, ERROR_STACK_FULL);
	return 0;
}

/* In code of a file other than the C library: not in generated code or the vDSO. */
static bool is_outside(const struct tracer *t, const struct arch_regs *regs)
{
	const struct image *img = images_find(t->inj->images, arch_pc(regs));
	uint64_t pc = arch_pc(regs);

	return arch_syscall_nr(regs) < 0 && img && img->path[0] == '/' &&
	       (pc < t->inj->cs.libc.start || pc >= t->inj->cs.libc.end);
}

static int check_pc(const struct tracer *t, pid_t tid, const struct arch_regs *regs,
		    struct err *err)
{
	const struct callsite *cs = &t->inj->cs;
	struct proc_syscall sc;
	bool waits;
	uint64_t pc = arch_pc(regs);

	arch_get_syscall(regs, &sc);
	waits = !sc.running && rank_waits(sc.nr, sc.args);
	if (!arch_is_native(regs))
		return err_raise(err, ERROR_NOT_IN_64_BIT);
	if (callsite_is_dangerous(cs, pc))
		return err_raise(err, ERROR_IN_ALLOCATOR);
	if (sc.running && callsite_is_unknown(cs, pc))
		return err_raise(err, ERROR_IN_NAMELESS_CODE);
	if (!sc.running && rank_never(sc.nr, sc.args))
		return err_raise(err, ERROR_IN_SYSTEM_CALL);
	if (cs->caution && !(waits || (cs->caution == CAUTION_OUTSIDE && is_outside(t, regs))))
		return callsite_too_bold(cs, ERROR_IT_DOES_NOT_WAIT_KNOWN, err);
	if (in_rseq(t, tid, pc))
		return err_raise(err, ERROR_IN_RSEQ);
	return 0;
}

/*
 * A dump opens and writes a file, which are cancellation points: a thread with a pending
 * pthread_cancel(3) would exit there while holding jemalloc's locks. That cancellation may be
 * disabled is ignored: some releases keep that elsewhere.
 */
static bool would_be_cancelled(const struct tracer *t, const struct arch_regs *regs)
{
	uint32_t word;
	struct err ignored = ERR_INIT;

	if (t->mode != INJECTOR_INLINE || !calls_want_dump(t->calls, t->n_calls) ||
	    !t->inj->cs.cancel_offset)
		return false;
	return mem_read(t, arch_tls(regs) + t->inj->cs.cancel_offset, &word, sizeof(word),
			&ignored) < 0 ||
	       (word & t->inj->cs.lib->cancel_pending);
}

int safepoint_check(struct tracer *t, pid_t tid, const struct arch_regs *regs, struct err *err)
{
	static unsigned char bytes[WALKED_MAX];
	uint64_t from = arch_sp(regs) - ARCH_RED_ZONE;
	char name[MAP_NAME_SIZE];
	struct map stack;
	size_t len;

	if (check_pc(t, tid, regs, err) < 0)
		return -1;
	if (would_be_cancelled(t, regs))
		return err_raise(err, ERROR_CANCELLATION_PENDING);
	if (!find_stack(t, regs, &stack, name)) {
		err_raise(err, ERROR_ON_CUSTOM_STACK);
		return err_advise(err, FIX_ANOTHER_TRY_WILL_NOT_HELP);
	}
	if (check_room(t, regs, &stack, err) < 0)
		return -1;
	len = stack.end - from;
	if (len > sizeof(bytes))
		return err_raise(err, ERROR_STACK_TOO_DEEP, .number = WALKED_MAX >> 20);
	if (mem_read(t, from, bytes, len, err) < 0)
		return -1;
	if (check_handlers(t, regs, &stack, bytes, len, err) < 0)
		return -1;
	/*
	 * Suspect if its stack points into the allocator or the loader. The red zone has no frame.
	 */
	return callsite_any_dangerous(&t->inj->cs, bytes + ARCH_RED_ZONE, len - ARCH_RED_ZONE)
		       ? walker_check(t, regs, from, len, err)
		       : 0;
}
