// SPDX-License-Identifier: Apache-2.0
/*
 * Chooses the thread to borrow from /proc, before any is stopped.
 *
 * A stop interrupts a blocking system call. Its effect on the program depends on the call
 * (signal(7), "Interruption of system calls"; measured on Linux 6.1 and 6.18):
 *  - most are restarted by the kernel, without visible effect;
 *  - those with a relative timeout continue with the remaining time;
 *  - some fail with EINTR after any stop. We restart them, which is exact when they have no
 *    timeout; for those that have one, see wait.h;
 *  - a transfer that has already moved some bytes returns a short count. No stop can avoid that,
 *    so threads in one are never stopped.
 */
#include "injector/search.h"

#include "base/cleanup.h"
#include "base/vec.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>

enum how {
	HOW_OTHER,     /* unknown to this table */
	HOW_ANEW,      /* restarted by the kernel */
	HOW_TIMED,     /* continues with its remaining time */
	HOW_EINTR,     /* EINTR; no timeout among its arguments */
	HOW_EINTR_MS,  /* EINTR; `arg` is a timeout in ms, negative for none */
	HOW_EINTR_PTR, /* EINTR; `arg` points at a timeout, NULL for none */
	HOW_FUTEX,
	HOW_RECV,     /* as HOW_ANEW, but MSG_WAITALL in `arg` may have moved bytes */
	HOW_RECVMMSG, /* as HOW_RECV, but the first of several messages may be there */
	HOW_NEVER,
};

static const struct {
	short nr;
	unsigned char how, arg;
} table[] = {
#ifdef SYS_poll /* calls that newer architectures lack */
	{ SYS_poll, HOW_TIMED, 0 },
	{ SYS_epoll_wait, HOW_EINTR_MS, 3 },
	{ SYS_pause, HOW_ANEW, 0 },
	{ SYS_select, HOW_ANEW, 0 },
	{ SYS_vfork, HOW_NEVER, 0 },
#endif
	{ SYS_read, HOW_ANEW, 0 },
	{ SYS_readv, HOW_ANEW, 0 },
	{ SYS_accept, HOW_ANEW, 0 },
	{ SYS_accept4, HOW_ANEW, 0 },
	{ SYS_wait4, HOW_ANEW, 0 },
	{ SYS_waitid, HOW_ANEW, 0 },
	{ SYS_flock, HOW_ANEW, 0 },
	{ SYS_fcntl, HOW_ANEW, 0 },
	{ SYS_rt_sigsuspend, HOW_ANEW, 0 },
	{ SYS_pselect6, HOW_ANEW, 0 },
	{ SYS_ppoll, HOW_ANEW, 0 },
	{ SYS_msgrcv, HOW_ANEW, 0 },
	{ SYS_msgsnd, HOW_ANEW, 0 },
	{ SYS_mq_timedreceive, HOW_ANEW, 0 },
	{ SYS_mq_timedsend, HOW_ANEW, 0 },
	{ SYS_openat, HOW_ANEW, 0 },
	{ SYS_recvfrom, HOW_RECV, 3 },
	{ SYS_recvmsg, HOW_RECV, 2 },
	{ SYS_recvmmsg, HOW_RECVMMSG, 3 },
	{ SYS_futex, HOW_FUTEX, 1 },
	{ SYS_nanosleep, HOW_TIMED, 0 },
	{ SYS_clock_nanosleep, HOW_TIMED, 0 },
	{ SYS_restart_syscall, HOW_TIMED, 0 },
	{ SYS_epoll_pwait, HOW_EINTR_MS, 3 },
#ifdef SYS_epoll_pwait2
	{ SYS_epoll_pwait2, HOW_EINTR_PTR, 3 },
#endif
	{ SYS_rt_sigtimedwait, HOW_EINTR_PTR, 2 },
	{ SYS_semop, HOW_EINTR, 0 },
	{ SYS_semtimedop, HOW_EINTR_PTR, 3 },
	{ SYS_io_getevents, HOW_EINTR_PTR, 4 },
	{ SYS_io_pgetevents, HOW_EINTR_PTR, 4 }, /* restarted by the kernel, with its full
						  * timeout */
#ifdef SYS_futex_waitv
	{ SYS_futex_waitv, HOW_EINTR, 0 }, /* its timeout is absolute */
#endif
	{ SYS_write, HOW_NEVER, 0 },
	{ SYS_writev, HOW_NEVER, 0 },
	{ SYS_pwrite64, HOW_NEVER, 0 },
	{ SYS_pwritev, HOW_NEVER, 0 },
	{ SYS_pwritev2, HOW_NEVER, 0 },
	{ SYS_pread64, HOW_NEVER, 0 },
	{ SYS_preadv, HOW_NEVER, 0 },
	{ SYS_sendto, HOW_NEVER, 0 },
	{ SYS_sendmsg, HOW_NEVER, 0 },
	{ SYS_sendmmsg, HOW_NEVER, 0 },
	{ SYS_sendfile, HOW_NEVER, 0 },
	{ SYS_splice, HOW_NEVER, 0 },
	{ SYS_tee, HOW_NEVER, 0 },
	{ SYS_vmsplice, HOW_NEVER, 0 },
	{ SYS_copy_file_range, HOW_NEVER, 0 },
	{ SYS_connect, HOW_NEVER, 0 },
	{ SYS_close, HOW_NEVER, 0 },
	{ SYS_clone, HOW_NEVER, 0 },
	{ SYS_clone3, HOW_NEVER, 0 },
	{ SYS_execve, HOW_NEVER, 0 },
	{ SYS_execveat, HOW_NEVER, 0 },
	{ SYS_exit, HOW_NEVER, 0 },
	{ SYS_exit_group, HOW_NEVER, 0 },
	{ SYS_mmap, HOW_NEVER, 0 },
	{ SYS_munmap, HOW_NEVER, 0 },
	{ SYS_mremap, HOW_NEVER, 0 },
	{ SYS_mprotect, HOW_NEVER, 0 },
	{ SYS_madvise, HOW_NEVER, 0 },
	{ SYS_brk, HOW_NEVER, 0 },
	{ SYS_io_uring_enter, HOW_NEVER, 0 }, /* a restart would submit its entries twice */
};

static size_t lookup(long nr)
{
	size_t i = 0;

	while (i < sizeof(table) / sizeof(*table) && table[i].nr != nr)
		i++;
	return i;
}

static enum how how_of(long nr, unsigned int *arg)
{
	size_t i = lookup(nr);

	if (i == sizeof(table) / sizeof(*table))
		return HOW_OTHER;
	*arg = table[i].arg;
	return table[i].how;
}

bool rank_is_poll(long nr)
{
#ifdef SYS_poll
	return nr == SYS_poll;
#else
	return (void)nr, false;
#endif
}

bool rank_eintr_restartable(long nr)
{
	unsigned int arg = 0;
	enum how how = how_of(nr, &arg);

	/* A receive or an accept with SO_RCVTIMEO also fails with EINTR. */
	return how == HOW_EINTR || how == HOW_EINTR_MS || how == HOW_EINTR_PTR || how == HOW_RECV ||
	       how == HOW_RECVMMSG || nr == SYS_accept || nr == SYS_accept4 || nr == SYS_read ||
	       nr == SYS_readv;
}

enum rank_limit rank_limit(long nr, unsigned int *arg)
{
	switch (how_of(nr, arg)) {
	case HOW_EINTR_MS:
		return LIMIT_MS;
	case HOW_EINTR_PTR:
		return LIMIT_POINTER;
	case HOW_TIMED:
		*arg = 2;
		return rank_is_poll(nr) ? LIMIT_MS : LIMIT_NONE;
	default:
		return rank_eintr_restartable(nr) && nr != SYS_semop ? LIMIT_SOCKET : LIMIT_NONE;
	}
}

/*
 * recvmmsg(2) that was stopped between two messages returns those it has received, and leaves the
 * stop's error, a kernel-internal number, for the next call on that socket. How many it has
 * received cannot be seen.
 */
static bool recvmmsg_has_begun(const uint64_t args[6])
{
	return (args[2] > 1 && !(args[3] & MSG_WAITFORONE)) || (args[3] & MSG_WAITALL);
}

bool rank_never(long nr, const uint64_t args[6])
{
	unsigned int arg = 0;
	enum how how = how_of(nr, &arg);

	return how == HOW_NEVER || (how == HOW_RECV && (args[arg] & MSG_WAITALL)) ||
	       (how == HOW_RECVMMSG && recvmmsg_has_begun(args));
}

#define FUTEX_CMD_MASK 0x7f
#define FUTEX_WAIT 0
#define FUTEX_WAIT_BITSET 9

/* Mutexes use FUTEX_WAIT; condition variables, joins and semaphores use FUTEX_WAIT_BITSET. */
bool rank_waits(long nr, const uint64_t args[6])
{
	unsigned int arg = 0;

	switch (nr) {
	case SYS_futex:
		return (args[1] & FUTEX_CMD_MASK) == FUTEX_WAIT_BITSET;
	case SYS_read: /* jemalloc reads files during a dump and at its start */
	case SYS_readv:
	case SYS_openat:
	case SYS_flock:
	case SYS_fcntl:
		return false;
	default:
		return how_of(nr, &arg) != HOW_OTHER && !rank_never(nr, args);
	}
}

static enum rank rank_futex(const uint64_t args[6])
{
	unsigned int cmd = args[1] & FUTEX_CMD_MASK;

	if (cmd != FUTEX_WAIT && cmd != FUTEX_WAIT_BITSET)
		return RANK_UNKNOWN; /* priority inheritance: the thread would lose its place in the
				      * queue */
	return args[3] ? RANK_TIMED : RANK_BEST;
}

static enum rank rank_blocked(const struct proc_syscall *sc)
{
	unsigned int arg = 0;

	switch (how_of(sc->nr, &arg)) {
	case HOW_ANEW:
		return RANK_BEST;
	case HOW_TIMED:
		return RANK_TIMED;
	case HOW_FUTEX:
		return rank_futex(sc->args);
	case HOW_RECV:
		return sc->args[arg] & MSG_WAITALL ? RANK_NEVER : RANK_BEST;
	case HOW_RECVMMSG:
		return recvmmsg_has_begun(sc->args) ? RANK_NEVER : RANK_BEST;
	case HOW_EINTR:
		return RANK_BEST;
	case HOW_EINTR_MS:
		return (int)sc->args[arg] < 0 ? RANK_BEST : RANK_RESTARTED;
	case HOW_EINTR_PTR:
		return sc->args[arg] ? RANK_RESTARTED : RANK_BEST;
	case HOW_NEVER:
		return RANK_NEVER;
	case HOW_OTHER:
		break;
	}
	return sc->nr < 0 ? RANK_RUNNING : RANK_UNKNOWN;
}

static enum rank rank_thread(pid_t pid, pid_t tid, enum caution caution)
{
	struct err ignored = ERR_INIT;
	struct proc_status st;
	struct proc_syscall sc;

	if (proc_thread_status(pid, tid, &st, &ignored) < 0)
		return RANK_NEVER;
	/* D: the stop would not happen; it may be in vfork(2). */
	if (!strchr("RS", st.state) || jemalloc_is_background(st.comm))
		return RANK_NEVER;
	if (proc_thread_syscall(pid, tid, &sc, &ignored) < 0)
		return caution == CAUTION_WAITING ? RANK_NEVER : RANK_UNKNOWN;
	if (sc.running)
		return caution == CAUTION_WAITING ? RANK_NEVER : RANK_RUNNING;
	if (caution && !rank_waits(sc.nr, sc.args))
		return RANK_NEVER;
	return rank_blocked(&sc);
}

static int candidate_cmp(const void *a, const void *b)
{
	const struct candidate *x = a, *y = b;

	return x->rank != y->rank ? (int)x->rank - (int)y->rank : x->tid - y->tid;
}

#define RANKED_MAX 64 /* enough to find a good one; examining thousands would take long */

int rank_threads(const struct proc *p, enum caution caution, struct candidate **out, size_t *n,
		 struct err *err)
{
	_cleanup_(cleanup_free) pid_t *tids = NULL;
	struct candidate *v;
	size_t n_tids, from;

	if (proc_threads(p->pid, &tids, &n_tids, err) < 0)
		return -1;
	v = calloc(n_tids < RANKED_MAX ? n_tids : RANKED_MAX, sizeof(*v));
	if (!v)
		return err_no_memory(err);
	/* With more threads than that, begin at a random one each time. */
	from = n_tids > RANKED_MAX ? (size_t)random() % n_tids : 0;
	*n = 0;
	for (size_t i = 0; i < n_tids && *n < RANKED_MAX; i++) {
		pid_t tid = tids[(from + i) % n_tids];

		v[(*n)++] = (struct candidate){ tid, rank_thread(p->pid, tid, caution) };
	}
	vec_sort(v, *n, candidate_cmp);
	while (*n && v[*n - 1].rank == RANK_NEVER)
		(*n)--;
	*out = v;
	return 0;
}

int rank_one(const struct proc *p, pid_t tid, enum caution caution, struct candidate **out,
	     size_t *n, struct err *err)
{
	struct err ignored = ERR_INIT;
	struct proc_status st;
	struct candidate *c;

	if (proc_thread_status(p->pid, tid, &st, &ignored) < 0 || strchr("ZX", st.state))
		return err_raise(err, ERROR_NO_THREAD, .tid = tid);
	c = malloc(sizeof(*c));
	if (!c)
		return err_no_memory(err);
	*c = (struct candidate){ tid, rank_thread(p->pid, tid, caution) };
	*n = c->rank != RANK_NEVER;
	*out = c;
	return 0;
}
