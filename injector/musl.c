// SPDX-License-Identifier: Apache-2.0
#include "injector/libc.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <linux/membarrier.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#define NO_FD UINT64_MAX
#define NO_FD32 0xffffffff
#define CLONE_DETACHED_FLAG 0x00400000
#define THREAD_FLAGS                                                                        \
	(CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM | \
	 CLONE_SETTLS | CLONE_PARENT_SETTID | CLONE_CHILD_CLEARTID | CLONE_DETACHED_FLAG)

/* If futex(2) fails, musl busy-loops; if mprotect(2) of a stack fails, no thread is created. */
static const struct checked_call calls[] = {
	/* clang-format off */
	{ SYS_rt_sigreturn, "rt_sigreturn", USE_BOTH, USE_BOTH, { 0 } },
	{ SYS_rt_sigprocmask, "rt_sigprocmask", USE_BOTH, USE_THREAD, { SIG_BLOCK } },
	{ SYS_rt_sigprocmask, "rt_sigprocmask", USE_THREAD, USE_THREAD, { SIG_SETMASK } },
	{ SYS_rt_sigprocmask, "rt_sigprocmask", USE_THREAD, 0, { SIG_UNBLOCK } },
	{ SYS_membarrier, "membarrier", USE_THREAD, 0,
	  { MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED } },
	{ SYS_mmap, "mmap", USE_BOTH, USE_THREAD,
	  { 0, 1u << 21, PROT_READ | PROT_WRITE,
	    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, NO_FD } },
	{ SYS_mmap, "mmap", USE_THREAD, USE_THREAD,
	  { 0, 1u << 20, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, NO_FD } },
	{ SYS_mprotect, "mprotect", USE_THREAD, USE_THREAD, { 0, 0, PROT_READ | PROT_WRITE } },
	{ SYS_munmap, "munmap", USE_BOTH, USE_THREAD, { 0 } },
	{ SYS_madvise, "madvise", USE_BOTH, 0, { 0, 0, MADV_DONTNEED } },
	{ SYS_futex, "futex", USE_BOTH, USE_BOTH, { 0, FUTEX_WAIT } },
	{ SYS_futex, "futex", USE_BOTH, USE_BOTH, { 0, FUTEX_WAIT_PRIVATE } },
	{ SYS_futex, "futex", USE_BOTH, USE_BOTH, { 0, FUTEX_WAKE, 1 } },
	{ SYS_futex, "futex", USE_BOTH, USE_BOTH, { 0, FUTEX_WAKE_PRIVATE, 1 } },
	{ SYS_clone, "clone", USE_THREAD, 0, { THREAD_FLAGS } },
	{ SYS_set_robust_list, "set_robust_list", USE_THREAD, 0, { 0, 24 } },
	{ SYS_exit, "exit", USE_THREAD, USE_THREAD, { 0 } },
	{ SYS_getpid, "getpid", USE_FILE, 0, { 0 } },
#ifdef SYS_open
	{ SYS_open, "open", USE_FILE, 0, { 0, O_RDONLY | O_CLOEXEC } },
	{ SYS_open, "open", USE_FILE, 0, { 0, O_WRONLY | O_CREAT | O_TRUNC, 0644 } },
#else
	{ SYS_openat, "openat", USE_FILE, 0, { HERE, 0, O_RDONLY | O_CLOEXEC } },
	{ SYS_openat, "openat", USE_FILE, 0, { HERE, 0, O_WRONLY | O_CREAT | O_TRUNC, 0644 } },
#endif
	{ SYS_fcntl, "fcntl", USE_FILE, 0, { 3, F_SETFD, FD_CLOEXEC } },
	{ SYS_read, "read", USE_FILE, 0, { 4 } },
	{ SYS_write, "write", USE_FILE, 0, { 3 } },
	{ SYS_close, "close", USE_FILE, 0, { 3 } },
	{ SYS_close_range, "close_range", USE_MEMFD, 0, { 3, NO_FD32, 2 } },
	{ SYS_memfd_create, "memfd_create", USE_MEMFD, 0, { 0, 1 } },
	{ SYS_DUP_TO, "dup2", USE_MEMFD, 0, { 3, 2 } },
	/* clang-format on */
};

/*
 * Functions that call back into the program: fork(3) its handlers, after those of jemalloc have
 * taken all its locks; the others constructors and destructors. In the versions examined, they
 * themselves hold no lock that our calls take.
 */
const char *const musl_holders[] = { "dlclose", "dlopen", "exit", "fork" };
const size_t n_musl_holders = sizeof(musl_holders) / sizeof(*musl_holders);

static int name_cmp(const void *key, const void *name)
{
	return strcmp(key, *(const char *const *)name);
}

static bool holds_locks(const char *function)
{
	return bsearch(function, musl_holders, n_musl_holders, sizeof(*musl_holders), name_cmp);
}

/*
 * Thread-local data lies above the stack, in the same mapping. The words are accepted if they are
 * consistent: the stack begins where the guard ends.
 */
static bool find_stack(const uint64_t *words, size_t n, uint64_t tls, uint64_t sp,
		       const struct range *map, struct range *stack)
{
	const uint64_t *w = words + MUSL_MAP_BASE / sizeof(*words);
	uint64_t base, size, top, stack_size, guard;

	if (n < MUSL_MAP_BASE / sizeof(*words) + 5 || words[0] != tls)
		return false;
	base = w[0];
	size = w[1];
	top = w[2];
	stack_size = w[3];
	guard = w[4];
	if (base + size < base || guard >= size || base + guard < map->start ||
	    base + size > map->end || tls >= base + size || top > tls || sp >= top ||
	    base + guard > sp || top - stack_size != base + guard)
		return false;
	*stack = (struct range){ base + guard, top };
	return true;
}

static const struct musl_attr attr = { .stack_size = STACK_SIZE,
				       .guard_size = GUARD_SIZE,
				       .detach = MUSL_DETACHED };
_Static_assert(sizeof(attr) == 56 && sizeof(attr) <= ATTR_SIZE, "pthread_attr_t of musl");

const struct libc libc_musl = {
	.name = "musl",
	.calls = calls,
	.n_calls = sizeof(calls) / sizeof(*calls),
	.attr = &attr,
	.attr_size = sizeof(attr),
	.open_signals = SIGNAL_BIT(MUSL_SIGSYNCCALL),
	.unblocked = SIGNAL_BIT(MUSL_SIGCANCEL) | SIGNAL_BIT(MUSL_SIGSYNCCALL),
	.cancel_pending = ~0u,
	.no_unwind = true,
	.holds_locks = holds_locks,
	.stack = find_stack,
};
