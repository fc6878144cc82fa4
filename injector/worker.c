// SPDX-License-Identifier: Apache-2.0
/*
 * Makes the calls in the helper thread.
 *
 * The thread starts in getppid(2) or a similar function (libc_homes), its home, and returns there
 * after everything it does: each detour returns to the entry of that function, and the word at the
 * stack pointer there is always the return address into the C library's thread code. So if the
 * thread is released at any instant, it finishes its detour, makes the home's system call, and
 * exits like any other thread.
 *
 * There are two kinds of detours. A system call: in the entry stop of the home's own call, its
 * number is replaced. A function call: in the exit stop the registers are set to call it, and a
 * chain of return addresses stores its result and returns to the home.
 *
 * Files: the first detour gives the thread its own descriptor table, with only the three standard
 * descriptors (close_range(2), Linux 5.9). The program never sees what the thread opens, its
 * children do not inherit it, and it is closed when the thread exits.
 */
#include "injector/memfd.h"
#include "injector/proof.h"
#include "injector/tracee.h"

#include "base/cleanup.h"
#include "base/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>

#define SCRATCH_BELOW (512u << 10) /* of its 1 MiB stack; the calls use the rest above */
#define FIRST_OWN_FD 3
#define CLOSE_RANGE_UNSHARE_FLAG 2
#define MEMFD_NOEXEC_SEAL 8u /* Linux 6.3; wanted by vm.memfd_noexec=2 */
#define GONE_US 5000000	     /* a released thread exits as soon as it gets a CPU */
#define GONE_SLEEP_NS 500000

struct worker {
	struct tracer *t;
	pid_t tid;
	struct arch_regs home; /* on entry of its home, where it starts and exits */
	uint64_t scratch;
	bool private_files;
};

static int ended(const struct worker *w, struct err *err)
{
	return err_raise(err, ERROR_WORKER_LOST, .tid = w->tid);
}

/* It crashed in jemalloc. Have only the thread exit instead of killing the program. */
static int crashed(struct worker *w, int sig, struct err *err)
{
	struct arch_regs regs = w->home;
	const uint64_t none[6] = { 0 };

	arch_call(&regs, w->t->inj->cs.home, arch_sp(&w->home), none);
	proof_set_regs(w->t, w->tid, &regs);
	ptrace(PTRACE_DETACH, w->tid, 0, 0);
	err_raise(err, ERROR_CALL_KILLED, .signal = sig);
	return err_advise(err, FIX_REPORT_AND_RESTART);
}

/* Run to the next system call stop, entry or exit. */
static int next_stop(struct worker *w, struct arch_regs *regs, struct err *err)
{
	int sig, pass = 0;

	for (;;) {
		if (tracee_resume(w->tid, PTRACE_SYSCALL, pass, err) < 0)
			return -1;
		pass = 0;
		switch (tracee_wait_beating(w->t, w->tid, &sig)) {
		case STOP_SYSCALL:
			return arch_get_regs(w->tid, regs) < 0 ? ended(w, err) : 0;
		case STOP_GONE:
			return ended(w, err);
		case STOP_SIGNAL:
			if (sig == SIGSEGV || sig == SIGBUS || sig == SIGILL || sig == SIGFPE ||
			    sig == SIGSYS)
				return crashed(w, sig, err);
			pass = sig; /* internal to the C library; see call_sigmask() in borrow.c */
			break;
		default:
			break;
		}
	}
}

/* The stack pointer distinguishes this from a call of the same function by jemalloc: getpid(2). */
static bool at_home(const struct worker *w, const struct arch_regs *regs)
{
	const struct callsite *cs = &w->t->inj->cs;
	uint64_t sp = arch_sp(&w->home); /* 0: its first arrival */

	return arch_syscall_nr(regs) == libc_homes[cs->home_call].nr &&
	       arch_pc(regs) - cs->home < ARCH_CALL_CODE && (!sp || arch_sp(regs) == sp);
}

/* Run until it enters its home. */
static int run_home(struct worker *w, struct arch_regs *regs, struct err *err)
{
	do {
		if (next_stop(w, regs, err) < 0)
			return -1;
	} while (!at_home(w, regs));
	return 0;
}

/*
 * clone(2) may have created a process instead of a thread: see proof.h. It is in its first stop, so
 * this cannot change meanwhile.
 */
static int is_thread(struct worker *w, struct err *err)
{
	_cleanup_(cleanup_close) int status = proc_thread_status_open(w->t->inj->p->pid, w->tid);
	struct err why = ERR_INIT;

	if (proof_take(w->t, w->tid, status, &why) == 0)
		return 0;
	ptrace(PTRACE_DETACH, w->tid, 0, 0);
	err_raise(err, ERROR_PROCESS_NOT_THREAD, .tid = w->tid);
	return err_advise(err, FIX_DISTRUST_LIBC);
}

static int first_stop(struct worker *w, struct err *err)
{
	const long options = PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACEEXEC;
	struct arch_regs home;
	enum stop stop;
	int sig;

	/* Its first stop is a group stop if the process was stopped meanwhile. */
	stop = tracee_wait_beating(w->t, w->tid, &sig);
	if (stop != STOP_EVENT && stop != STOP_GROUP)
		return ended(w, err);
	if (is_thread(w, err) < 0)
		return -1;
	if (ptrace(PTRACE_SETOPTIONS, w->tid, 0, options) < 0 || run_home(w, &home, err) < 0)
		return ended(w, err);
	w->home = home;
	w->scratch = (arch_sp(&w->home) - SCRATCH_BELOW) & ~63ull;
	return 0;
}

/* Make another system call, from home to home. */
static int remote_syscall(struct worker *w, long nr, const uint64_t args[6], long *result,
			  struct err *err)
{
	struct arch_regs regs = w->home;

	arch_replace_syscall(&regs, nr, args, w->t->inj->cs.home);
	if (proof_set_regs(w->t, w->tid, &regs) < 0 || next_stop(w, &regs, err) < 0)
		return ended(w, err);
	*result = arch_syscall_result(&regs);
	return run_home(w, &regs, err);
}

/* Call a function, from home to home. */
static int remote_call(struct worker *w, const struct call_args *a, struct err *err)
{
	uint64_t home = w->t->inj->cs.home, chain[ARCH_CHAIN_MAX], sp;
	struct arch_regs regs;
	size_t n = arch_chain(chain, &w->t->inj->cs.gadget, a->result, home, true);

	sp = arch_sp(&w->home) - n * sizeof(*chain);
	if (mem_write(w->t, a->addr, a->bytes, a->len, err) < 0 ||
	    mem_write(w->t, sp, chain, n * sizeof(*chain), err) < 0 || next_stop(w, &regs, err) < 0)
		return -1;
	arch_call(&regs, a->fn, sp, a->args);
	atomic_store(&w->t->shared->progress, PROGRESS_CALL);
	if (proof_set_regs(w->t, w->tid, &regs) < 0)
		return ended(w, err);
	return run_home(w, &regs, err);
}

static int own_files(struct worker *w, struct err *err)
{
	const uint64_t args[6] = { FIRST_OWN_FD, ~0u, CLOSE_RANGE_UNSHARE_FLAG };
	long result;

	if (w->private_files)
		return 0;
	if (remote_syscall(w, SYS_close_range, args, &result, err) < 0)
		return -1;
	if (result < 0) {
		err_raise_target(err, ERROR_FILES_NOT_UNSHARED, (int)-result);
		return err_advise(err, FIX_NEEDS_CLOSE_RANGE);
	}
	w->private_files = true;
	return 0;
}

/* From now on it does not matter what the target does with the number: see memfd.h. */
static int hold_memfd(const struct worker *w, int remote_fd, int *handle, struct err *err)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/task/%d/fd/%d", w->t->inj->p->pid, w->tid,
		 remote_fd);
	return memfd_hold(path, w->t->memfd_dev, handle, err);
}

/* `flags` are those of memfd_create(2). *handle is our own O_PATH descriptor. */
static int make_memfd(struct worker *w, const char *text, unsigned int flags, int *remote_fd,
		      int *handle, struct err *err)
{
	char name[sizeof(INJECTOR_MEMFD) + INJECTOR_MEMFD_TEXT_MAX + 1] = INJECTOR_MEMFD;
	uint64_t args[6] = { w->scratch, flags | MEMFD_NOEXEC_SEAL };
	long result;

	if (text && strlen(text) <= INJECTOR_MEMFD_TEXT_MAX)
		snprintf(name, sizeof(name), INJECTOR_MEMFD ":%s", text);
	if (own_files(w, err) < 0 || mem_write(w->t, w->scratch, name, sizeof(name), err) < 0 ||
	    remote_syscall(w, SYS_memfd_create, args, &result, err) < 0)
		return -1;
	args[1] = flags;
	if (result == -EINVAL && remote_syscall(w, SYS_memfd_create, args, &result, err) < 0)
		return -1;
	if (result < 0)
		return err_raise_target(err, ERROR_FILE_NOT_MADE, (int)-result);
	*remote_fd = (int)result;
	return hold_memfd(w, *remote_fd, handle, err);
}

/* Without a callback, malloc_stats_print() writes to descriptor 2, redirected here to our file. */
static int redirect_stderr(struct worker *w, int remote_fd, struct err *err)
{
	const struct callsite *cs = &w->t->inj->cs;
	const uint64_t args[6] = { (uint64_t)remote_fd, 2 };
	uint64_t printer = 0;
	long result;

	if (cs->malloc_message &&
	    mem_read(w->t, cs->malloc_message, &printer, sizeof(printer), err) < 0)
		return -1;
	if (printer)
		return err_raise(err, ERROR_PRINTS_BY_ITSELF);
	if (remote_syscall(w, SYS_DUP_TO, args, &result, err) < 0)
		return -1;
	return result < 0 ? err_raise_target(err, ERROR_OUTPUT_NOT_REDIRECTED, (int)-result) : 0;
}

/* --- what stays mapped --- */

/* Make a system call that must return `wanted`, or any address if that is -1. */
static int map_step(struct worker *w, long nr, const uint64_t args[6], long wanted, long *result,
		    struct err *err)
{
	if (remote_syscall(w, nr, args, result, err) < 0)
		return -1;
	if (*result < 0 && *result > -4096)
		return err_raise_target(err, ERROR_IMAGE_NOT_MAPPED, (int)-*result);
	if (wanted >= 0 && *result != wanted)
		return err_raise_target(err, ERROR_IMAGE_NOT_MAPPED, EIO);
	return 0;
}

static int fill_and_seal(struct worker *w, int fd, const struct call_mapping *m, struct err *err)
{
	const uint64_t text[6] = { (uint64_t)fd, w->scratch, m->len };
	const uint64_t seals[6] = { (uint64_t)fd, F_ADD_SEALS, MEMFD_SEALS };
	long result;

	return mem_write(w->t, w->scratch, m->image, m->len, err) ||
			       map_step(w, SYS_write, text, (long)m->len, &result, err) ||
			       map_step(w, SYS_fcntl, seals, 0, &result, err)
		       ? -1
		       : 0;
}

/* Map over an address range that is already reserved. */
static int map_parts(struct worker *w, int fd, const struct call_mapping *m, uint64_t at,
		     struct err *err)
{
	const uint64_t how = MAP_PRIVATE | MAP_FIXED;
	const uint64_t code[6] = { at, m->n_code, PROT_READ | PROT_EXEC, how, (uint64_t)fd, 0 };
	const uint64_t data[6] = { at + m->n_code,	   m->n_file - m->n_code,
				   PROT_READ | PROT_WRITE, how,
				   (uint64_t)fd,	   m->n_code };
	const uint64_t wipe[6] = { at + m->n_file, m->n_all - m->n_file, MADV_WIPEONFORK };
	long result;

	return map_step(w, SYS_madvise, wipe, 0, &result, err) ||
			       map_step(w, SYS_mmap, data, (long)data[0], &result, err) ||
			       map_step(w, SYS_mmap, code, (long)at, &result, err)
		       ? -1
		       : 0;
}

/* Map all of it or nothing: it is not used until it is complete. */
static int map_image(struct worker *w, const struct call *call, struct shared_call *out,
		     struct err *err)
{
	_cleanup_(cleanup_close) int handle = -1;
	const struct call_mapping *m = call->new;
	const uint64_t room[6] = {
		0, m->n_all, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, UINT64_MAX, 0
	};
	struct err ignored = ERR_INIT;
	long at, result;
	int fd;

	if (make_memfd(w, m->name, MFD_CLOEXEC | MFD_ALLOW_SEALING, &fd, &handle, err) < 0 ||
	    fill_and_seal(w, fd, m, err) < 0 || map_step(w, SYS_mmap, room, -1, &at, err) < 0)
		return -1;
	if (map_parts(w, fd, m, (uint64_t)at, err) < 0) {
		const uint64_t all[6] = { (uint64_t)at, m->n_all };

		(void)!remote_syscall(w, SYS_munmap, all, &result, &ignored);
		return -1;
	}
	out->old_len = sizeof(at);
	memcpy(out->old, &at, sizeof(at));
	out->made = true;
	return 0;
}

static int empty_range(struct worker *w, const struct call *call, struct shared_call *out,
		       struct err *err)
{
	const struct call_range *range = call->new;
	const uint64_t args[6] = { range->addr, range->len, MADV_DONTNEED };
	long result;

	if (remote_syscall(w, SYS_madvise, args, &result, err) < 0)
		return -1;
	out->ret = result < 0 ? (int)-result : 0;
	out->made = true;
	return 0;
}

/* Send the controller its own read-only descriptor of the file, with the call's number. */
static int hand_over(struct worker *w, int handle, size_t i, struct err *err)
{
	_cleanup_(cleanup_close) int fd = -1;
	char control[CMSG_SPACE(sizeof(int))] = { 0 };
	unsigned char number = (unsigned char)i;
	struct iovec io = { &number, 1 };
	struct msghdr msg = { .msg_iov = &io,
			      .msg_iovlen = 1,
			      .msg_control = control,
			      .msg_controllen = sizeof(control) };
	struct cmsghdr *c = CMSG_FIRSTHDR(&msg);

	if (memfd_open(handle, &fd, err) < 0)
		return -1;
	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(c), &fd, sizeof(fd));
	if (sendmsg(w->t->socket, &msg, MSG_NOSIGNAL) != 1)
		return err_raise_sys(err, ERROR_FILE_NOT_HANDED, errno);
	w->t->shared->calls[i].has_fd = true;
	return 0;
}

static int make_call(struct worker *w, size_t i, bool *go_on, struct err *err)
{
	_cleanup_(cleanup_close) int handle = -1;
	static struct call_args a;
	const struct call *call = &w->t->calls[i];
	struct shared_call *out = &w->t->shared->calls[i];
	bool wants_file = call->flags & (CALL_MEMFD | CALL_STATS);
	char path[64] = "";
	uint64_t began;
	int remote_fd = -1;

	if (call->flags & CALL_MAP)
		return map_image(w, call, out, err);
	if (call->flags & CALL_EMPTY)
		return empty_range(w, call, out, err);
	if (wants_file && make_memfd(w, call->flags & CALL_MEMFD ? call->new : NULL, MFD_CLOEXEC,
				     &remote_fd, &handle, err) < 0)
		return -1;
	if ((call->flags & CALL_STATS) && redirect_stderr(w, remote_fd, err) < 0)
		return -1;
	/* Not /proc/self: that is the table of the program's first thread. */
	snprintf(path, sizeof(path), "/proc/thread-self/fd/%d", remote_fd);
	if (call_args_build(&a, &w->t->inj->cs, call, call->flags & CALL_MEMFD ? path : NULL,
			    w->scratch, err) < 0)
		return -1;
	began = now_us();
	if (remote_call(w, &a, err) < 0)
		return -1;
	out->call_us = now_us() - began;
	if (call_args_collect(w->t, &a, call, arch_tls(&w->home), out, go_on, err) < 0)
		return -1;
	return wants_file ? hand_over(w, handle, i, err) : 0;
}

/* Wait until it has exited, so that it is gone when we report success. */
static void see_off(const struct worker *w)
{
	const struct timespec pause = { .tv_nsec = GONE_SLEEP_NS };
	uint64_t end_us = now_us() + GONE_US;
	struct err ignored = ERR_INIT;
	struct proc_status st;

	if (end_us > w->t->end_us)
		end_us = w->t->end_us;
	/* If the process was stopped, the thread exits when that is continued. */
	while (now_us() < end_us && !proc_thread_status(w->t->inj->p->pid, w->tid, &st, &ignored) &&
	       st.state != 'T') {
		tracer_beat(w->t);
		nanosleep(&pause, NULL);
	}
}

int worker_run(struct tracer *t, pid_t tid, struct err *err)
{
	struct worker w = { .t = t, .tid = tid };
	bool go_on = true;

	if (first_stop(&w, err) < 0)
		return -1;
	for (size_t i = 0; i < t->n_calls && go_on; i++) {
		if (make_call(&w, i, &go_on, err) < 0) {
			ptrace(PTRACE_DETACH, tid, 0, 0);
			return -1;
		}
	}
	ptrace(PTRACE_DETACH, tid, 0, 0);
	see_off(&w);
	return 0;
}
