// SPDX-License-Identifier: Apache-2.0
#include "injector/glibc.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#ifndef SYS_close_range
#define SYS_close_range 436 /* Linux 5.9 */
#endif

#define HERE 0xffffff9c /* AT_FDCWD, as the C library passes it */
#define NO_FD 0xffffffff
#define THREAD_FLAGS                                                                        \
	(CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM | \
	 CLONE_SETTLS | CLONE_PARENT_SETTID | CLONE_CHILD_CLEARTID)

const struct checked_call glibc_calls[] = {
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
	{ SYS_getppid, "getppid", USE_THREAD, 0, { 0 } },
	{ SYS_exit, "exit", USE_THREAD, USE_THREAD, { 0 } },
	{ SYS_getpid, "getpid", USE_FILE, 0, { 0 } },
	{ SYS_open, "open", USE_FILE, 0, { 0, O_RDONLY | O_CLOEXEC } },
	{ SYS_open, "open", USE_FILE, 0, { 0, O_WRONLY | O_CREAT | O_TRUNC, 0644 } },
	{ SYS_openat, "openat", USE_FILE, 0, { HERE, 0, O_RDONLY | O_CLOEXEC } },
	{ SYS_openat, "openat", USE_FILE, 0, { HERE, 0, O_WRONLY | O_CREAT | O_TRUNC, 0644 } },
	{ SYS_creat, "creat", USE_FILE, 0, { 0, 0644 } },
	{ SYS_read, "read", USE_FILE, 0, { 4 } },
	{ SYS_write, "write", USE_FILE, 0, { 3 } },
	{ SYS_close, "close", USE_FILE, 0, { 3 } },
	{ SYS_close_range, "close_range", USE_MEMFD, 0, { 3, NO_FD, 2 } },
	{ SYS_memfd_create, "memfd_create", USE_MEMFD, 0, { 0, 1 } },
	{ SYS_dup2, "dup2", USE_MEMFD, 0, { 3, 2 } },
	/* clang-format on */
};

const size_t n_glibc_calls = sizeof(glibc_calls) / sizeof(*glibc_calls);
