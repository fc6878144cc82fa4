// SPDX-License-Identifier: Apache-2.0
#include "injector/libc.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#define GUARD_INSTALL 102 /* MADV_GUARD_INSTALL, Linux 6.13 */
#define NO_FD 0xffffffff
#define PAGE 4096u
#define THREAD_FLAGS                                                                        \
	(CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM | \
	 CLONE_SETTLS | CLONE_PARENT_SETTID | CLONE_CHILD_CLEARTID)

static const struct checked_call calls[] = {
	/* clang-format off */
	{ SYS_rt_sigreturn, "rt_sigreturn", USE_BOTH, USE_BOTH, { 0 } },
	{ SYS_rt_sigprocmask, "rt_sigprocmask", USE_BOTH, USE_THREAD, { SIG_BLOCK } },
	{ SYS_rt_sigprocmask, "rt_sigprocmask", USE_THREAD, USE_THREAD, { SIG_SETMASK } },
	{ SYS_rt_sigprocmask, "rt_sigprocmask", USE_THREAD, 0, { SIG_UNBLOCK } },
	{ SYS_mmap, "mmap", USE_BOTH, USE_THREAD,
	  { 0, 1u << 21, PROT_READ | PROT_WRITE,
	    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, NO_FD } },
	{ SYS_mmap, "mmap", USE_THREAD, USE_THREAD,
	  { 0, 1u << 20, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, NO_FD } },
	/* From glibc 2.42 on; if that fails, mprotect(2) creates the guard. */
	{ SYS_mmap, "mmap", USE_THREAD, USE_THREAD,
	  { 0, 1u << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK,
	    NO_FD } },
	{ SYS_madvise, "madvise", USE_THREAD, 0, { 0, 0, GUARD_INSTALL } },
	{ SYS_mprotect, "mprotect", USE_THREAD, 0, { 0, 0, PROT_NONE } },
	{ SYS_munmap, "munmap", USE_BOTH, USE_THREAD, { 0 } },
	{ SYS_madvise, "madvise", USE_BOTH, 0, { 0, 0, MADV_DONTNEED } },
	{ SYS_futex, "futex", USE_BOTH, USE_BOTH,
	  { 0, FUTEX_WAIT_PRIVATE } },
	{ SYS_futex, "futex", USE_BOTH, USE_BOTH,
	  { 0, FUTEX_WAKE_PRIVATE, 1 } },
	{ SYS_rt_sigaction, "rt_sigaction", USE_THREAD, 0, { SIG_SETXID } },
	{ SYS_mprotect, "mprotect", USE_THREAD, USE_THREAD, { 0, 0, PROT_READ | PROT_WRITE } },
	{ SYS_clone3, "clone3", USE_THREAD, 0, { 0 } },
	{ SYS_clone, "clone", USE_THREAD, 0, { THREAD_FLAGS } },
	{ SYS_set_robust_list, "set_robust_list", USE_THREAD, 0, { 0, 24 } },
	{ SYS_rseq, "rseq", USE_THREAD, USE_THREAD, { 0, 32, 0, 0x53053053 } },
	{ SYS_exit, "exit", USE_THREAD, USE_THREAD, { 0 } },
	{ SYS_getpid, "getpid", USE_FILE, 0, { 0 } },
#ifdef SYS_open
	{ SYS_open, "open", USE_FILE, 0, { 0, O_RDONLY | O_CLOEXEC } },
	{ SYS_open, "open", USE_FILE, 0, { 0, O_WRONLY | O_CREAT | O_TRUNC, 0644 } },
#endif
	{ SYS_openat, "openat", USE_FILE, 0, { HERE, 0, O_RDONLY | O_CLOEXEC } },
	{ SYS_openat, "openat", USE_FILE, 0, { HERE, 0, O_WRONLY | O_CREAT | O_TRUNC, 0644 } },
#ifdef SYS_creat
	{ SYS_creat, "creat", USE_FILE, 0, { 0, 0644 } },
#endif
	{ SYS_read, "read", USE_FILE, 0, { 4 } },
	{ SYS_write, "write", USE_FILE, 0, { 3 } },
	{ SYS_close, "close", USE_FILE, 0, { 3 } },
	{ SYS_close_range, "close_range", USE_MEMFD, 0, { 3, NO_FD, 2 } },
	{ SYS_memfd_create, "memfd_create", USE_MEMFD, 0, { 0, 1 } },
	{ SYS_DUP_TO, "dup2", USE_MEMFD, 0, { 3, 2 } },
	/* clang-format on */
};

bool glibc_cancel_offset(const uint32_t field[3], uint32_t *offset)
{
	if (field[0] != 32 || field[1] != 1 || field[2] >= TCB_MAX)
		return false;
	*offset = field[2];
	return true;
}

/* In strcmp()'s order. */
const char *const glibc_holders[] = {
	"_Fork",
	"__clone",
	"__cxa_atexit",
	"__cxa_finalize",
	"__cxa_thread_atexit_impl",
	"__deallocate_stack",
	"__default_morecore",
	"__libc_calloc2",
	"__libc_dlopen_mode",
	"__libc_dlsym",
	"__libc_fork",
	"__libc_malloc2",
	"__malloc_info",
	"__nptl_deallocate_stack",
	"__nptl_deallocate_tsd",
	"__register_atfork",
	"__tls_get_addr",
	"_dl_find_object",
	"_mid_memalign",
	"abort",
	"aligned_alloc",
	"at_quick_exit",
	"atexit",
	"backtrace",
	"brk",
	"calloc",
	"cfree",
	"clone",
	"daemon",
	"dl_iterate_phdr",
	"dladdr",
	"dladdr1",
	"dlclose",
	"dlerror",
	"dlinfo",
	"dlmopen",
	"dlopen",
	"dlsym",
	"dlvsym",
	"execve",
	"execveat",
	"exit",
	"fexecve",
	"fork",
	"forkpty",
	"free",
	"initgroups",
	"madvise",
	"mallinfo",
	"mallinfo2",
	"malloc",
	"malloc_info",
	"malloc_stats",
	"malloc_trim",
	"malloc_usable_size",
	"mallopt",
	"memalign",
	"mmap",
	"mmap64",
	"mprotect",
	"mremap",
	"munmap",
	"on_exit",
	"popen",
	"posix_memalign",
	"posix_spawn",
	"posix_spawnp",
	"pthread_cancel",
	"pthread_clockjoin_np",
	"pthread_create",
	"pthread_detach",
	"pthread_exit",
	"pthread_getattr_default_np",
	"pthread_getattr_np",
	"pthread_join",
	"pthread_setattr_default_np",
	"pthread_timedjoin_np",
	"pthread_tryjoin_np",
	"pvalloc",
	"quick_exit",
	"realloc",
	"sbrk",
	"setegid",
	"seteuid",
	"setgid",
	"setgroups",
	"setregid",
	"setresgid",
	"setresuid",
	"setreuid",
	"setuid",
	"system",
	"thrd_create",
	"thrd_exit",
	"thrd_join",
	"valloc",
	"vfork",
};
const size_t n_glibc_holders = sizeof(glibc_holders) / sizeof(*glibc_holders);

/* Compares only up to a suffix of the compiler, as in "_mid_memalign.isra.0". */
static int name_cmp(const void *key, const void *name)
{
	const char *wanted = key, *listed = *(const char *const *)name;

	while (*wanted && *wanted != '.' && *wanted == *listed) {
		wanted++;
		listed++;
	}
	return (*wanted == '.' ? 0 : (unsigned char)*wanted) - (unsigned char)*listed;
}

static bool glibc_holds_locks(const char *function)
{
	return bsearch(function, glibc_holders, n_glibc_holders, sizeof(*glibc_holders), name_cmp);
}

/*
 * Since 2.4, struct pthread (nptl/descr.h) has in sequence the address of the stack's block, its
 * size, and the size of the guard at its lower end, in whole pages. Their offset differs between
 * releases; but no other words there describe a range that contains both the stack pointer and the
 * structure itself.
 */
static bool find_stack(const uint64_t *words, size_t n, uint64_t tls, uint64_t sp,
		       const struct range *map, struct range *stack)
{
	if (!n || words[0] != tls)
		return false;
	for (size_t i = 1; i + 2 < n; i++) {
		uint64_t block = words[i], size = words[i + 1], guard = words[i + 2];

		if (guard >= size || guard % PAGE || block + guard < map->start ||
		    block + guard > sp || block + size <= tls || block + size > map->end ||
		    block + size < block)
			continue;
		*stack = (struct range){ block + guard, block + size };
		return true;
	}
	return false;
}

static const struct glibc_attr attr = { .flags = ATTR_FLAG_DETACHSTATE,
					.guard_size = GUARD_SIZE,
					.stack_size = STACK_SIZE };
_Static_assert(sizeof(attr) <= ATTR_SIZE, "pthread_attr_t of glibc");

const struct libc libc_glibc = {
	.name = "glibc",
	.calls = calls,
	.n_calls = sizeof(calls) / sizeof(*calls),
	.attr = &attr,
	.attr_size = sizeof(attr),
	.open_signals = SIGNAL_BIT(SIG_SETXID),
	.cancel_pending = GLIBC_CANCEL_PENDING,
	.holds_locks = glibc_holds_locks,
	.stack = find_stack,
};
