// SPDX-License-Identifier: Apache-2.0
/*
 * The controller's side: examine the target, fork the tracer, and act as its watchdog.
 *
 * The watchdog needs nothing but SIGKILL: when the tracer dies, it releases everything, and what it
 * had started completes on its own (borrow.c, worker.c). It is used when a thread is stopped for
 * longer than max_pause, when the tracer's heartbeats stop, and when a call does not return.
 */
#include "injector/check.h"
#include "injector/confine.h"
#include "injector/filters.h"
#include "injector/search.h"
#include "injector/tracee.h"
#include "injector/walker.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/own_limits.h"
#include "base/signals.h"
#include "injector/site.h"
#include "process/procfs.h"
#include "process/rights.h"
#include "process/room.h"
#include "sandbox/door.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#define DEFAULT_TIMEOUT_MS 60000
#define DEFAULT_PAUSE_MS 250
#define DEFAULT_SEARCH_MS 10000
#define BEAT_LATE_MS 1000
#define CLOCK_LATE_MS 500
#define WATCH_MS 5
#define LONG_PAUSES_MAX 3
#define INLINE_CALLS_MAX 6 /* reads per stop of a thread */
#define LONG_PAUSE_REST_MS 100
#define SEARCH_GRACE_US 1000000
#define DEATH_WAIT_US 10000000 /* limit for a killed tracer in state D */
#define DEATH_LOOK_US 100000   /* the most that one observation of it counts */
#define ENDING_TIMES 10	       /* factor by which the limit is longer for one that is exiting */
#define STAT_FLAGS 9
#define FLAG_EXITING 4

const char *injector_mode_name(enum injector_mode mode)
{
	static const char *const names[] = { [INJECTOR_AUTO] = "auto",
					     [INJECTOR_THREAD] = "thread",
					     [INJECTOR_INLINE] = "inline",
					     [INJECTOR_POKE] = "poke" };

	return names[mode];
}

int injector_may_work(const struct proc *p, const struct images *images, struct err *err)
{
	return check_target(p, images, err) < 0 || proc_may_trace(p, err) < 0 ? -1 : 0;
}

int injector_open(struct injector **out, const struct proc *p, const struct images *images,
		  const struct jemalloc *je, struct callsite *site,
		  const struct injector_options *options, struct err *err)
{
	struct injector *inj = calloc(1, sizeof(*inj));
	struct err why = ERR_INIT;

	if (!inj) {
		injector_site_free(site);
		return err_no_memory(err);
	}
	*inj = (struct injector){ .p = p,
				  .images = images,
				  .je = je,
				  .opt = *options,
				  .start = p->status,
				  .stack_limit = RLIM_INFINITY,
				  .program = proc_program(p->mm_pid),
				  .cs = *site,
				  .walker = CONFINED_INIT };
	free(site); /* its ranges are in inj->cs now */
	room_rlimit(p->pid, RLIMIT_STACK, &inj->stack_limit);
	/* 0 if we may not read it, now and later. But a limit on our side is an error. */
	if (!inj->program)
		err_explain(&why);
	if (why.own) {
		*err = why;
		injector_close(inj);
		return -1;
	}
	inj->opt.timeout_ms = options->timeout_ms ? options->timeout_ms : DEFAULT_TIMEOUT_MS;
	inj->opt.max_pause_ms = options->max_pause_ms ? options->max_pause_ms : DEFAULT_PAUSE_MS;
	inj->opt.search_ms = options->search_ms ? options->search_ms : DEFAULT_SEARCH_MS;
	if (inj->opt.search_ms > inj->opt.timeout_ms)
		inj->opt.search_ms = inj->opt.timeout_ms;
	*out = inj;
	return 0;
}

int injector_may_dump(const struct injector *inj, struct err *err)
{
	const struct call dump = { .name = "prof.dump", .flags = CALL_MEMFD };

	return check_calls(inj, inj->opt.mode, &dump, 1, err) < 0 ||
			       footprint_check(inj, INJECTOR_THREAD, &dump, 1, err) < 0
		       ? -1
		       : 0;
}

static size_t shared_size(size_t n_calls)
{
	return sizeof(struct shared) + n_calls * sizeof(struct shared_call);
}

/* A waiting tracer is attached to nothing. */
static void end_waiting(pid_t tracer)
{
	kill(tracer, SIGKILL);
	waitpid(tracer, NULL, 0);
}

static void end_spare(struct spare *spare)
{
	if (!spare->pid)
		return;
	end_waiting(spare->pid);
	cleanup_close(&spare->pidfd);
	cleanup_close(&spare->socket);
	munmap(spare->shared, shared_size(spare->n_calls));
	*spare = (struct spare){ 0 };
}

void injector_close(struct injector *inj)
{
	if (!inj)
		return;
	end_spare(&inj->spare);
	walker_end(inj, true);
	callsite_fini(&inj->cs);
	free(inj);
}

/* One run: the tracer, the memory shared with it, and its deadlines. */
struct run {
	struct injector *inj;
	struct call *calls; /* the next calls to make */
	size_t n;	    /* number of them made at once */
	pid_t only;	    /* the thread to borrow; 0: any */
	bool only_reads;
	struct shared *shared;
	enum injector_mode asked, mode;
	bool switched;	    /* from the mode chosen first to the other one */
	bool may_grow;	    /* a thread that has not called jemalloc yet may be borrowed */
	struct err no_room; /* the reason if not */
	pid_t tracer;
	int pidfd, socket;
	bool waits; /* the tracer is waiting for the next thread */
	uint64_t deadline_us, search_deadline_us;
	enum error killed_for;
	int status;	  /* exit status of the tracer, from waitpid(2) */
	bool left_behind; /* it was killed, but does not exit */
	bool sent;	  /* in any attempt, a thread started to create the helper thread */
	unsigned int long_pauses;
	/*
	 * The last heartbeat that the watchdog saw, its last check, and the lateness counted since.
	 */
	uint64_t since_us, looked_us, late_us;
};

static struct tracer new_tracer(const struct run *r, int socket)
{
	return (struct tracer){ .inj = r->inj,
				.calls = r->calls,
				.n_calls = r->n,
				.shared = r->shared,
				.mem = -1,
				.maps = -1,
				.status = -1,
				.socket = socket,
				.mode = r->mode,
				.only = r->only,
				.may_grow = r->may_grow,
				.deadline_us = r->search_deadline_us,
				.end_us = r->deadline_us };
}

static int start(struct run *r, struct err *err)
{
	int sockets[2];
	pid_t controller = getpid();

	if (walker_start(r->inj, err) < 0)
		return -1;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets) < 0)
		return err_raise_sys(err, ERROR_NO_SOCKET_PAIR, errno);
	r->tracer = fork();
	if (r->tracer == 0) {
		struct tracer t = new_tracer(r, sockets[1]);

		tracer_main(&t, controller);
		_exit(0);
	}
	close(sockets[1]);
	if (r->tracer < 0) {
		close(sockets[0]);
		return err_raise_sys(err, ERROR_NO_FORK, errno);
	}
	r->socket = sockets[0];
	r->pidfd = (int)syscall(SYS_pidfd_open, r->tracer, 0);
	return 0;
}

static void close_tracer(struct run *r)
{
	cleanup_close(&r->pidfd);
	cleanup_close(&r->socket);
}

/* Send the next thread to a waiting tracer. False if there is none: it may have been killed. */
static bool go_on(struct run *r)
{
	const struct next next = { .tid = r->only,
				   .deadline_us = r->search_deadline_us,
				   .end_us = r->deadline_us };
	bool waited = r->waits;

	r->waits = false;
	if (!waited || send(r->socket, &next, sizeof(next), MSG_NOSIGNAL) == sizeof(next))
		return waited;
	end_waiting(r->tracer);
	close_tracer(r);
	return false;
}

/*
 * Has the tracer sent no heartbeat for that long? If the whole machine was stopped, as virtual
 * machines may be, the tracer is not at fault: a check that is itself late counts for at most half
 * of the limit, so that there is another one.
 */
static bool is_late(struct run *r, uint64_t now, uint64_t limit_ms)
{
	uint64_t since = atomic_load(&r->shared->since_us), limit = limit_ms * 1000;
	uint64_t from = since > r->looked_us ? since : r->looked_us;
	uint64_t passed = now > from ? now - from : 0;

	if (since != r->since_us)
		r->late_us = 0;
	r->late_us += passed < limit / 2 ? passed : limit / 2;
	r->since_us = since;
	r->looked_us = now;
	return r->late_us > limit;
}

/* Why the tracer must be killed now, or ERROR_NONE. */
static enum error too_late(struct run *r)
{
	uint64_t now = now_us();
	enum phase phase = atomic_load(&r->shared->phase);

	/* A search ends on its own, with a better reason. */
	if (phase == PHASE_SEARCH) {
		if (stop_asked(r->inj->opt.stop_fd))
			return ERROR_INTERRUPTED;
		return now > r->deadline_us + SEARCH_GRACE_US ? ERROR_TRACER_STARVED_SEARCHING
							      : ERROR_NONE;
	}
	if (now > r->deadline_us)
		return atomic_load(&r->shared->progress) == PROGRESS_CALL ? ERROR_CALL_LATE
									  : ERROR_CALL_NOT_BEGUN;
	switch (phase) {
	case PHASE_HOLD:
		return is_late(r, now, r->inj->opt.max_pause_ms) ? ERROR_PAUSE_TOO_LONG
								 : ERROR_NONE;
	case PHASE_CALL: {
		/* While it is stopped, a signal to the process may be pending on it. */
		uint64_t limit = r->inj->opt.max_pause_ms;

		if (limit < BEAT_LATE_MS)
			limit = BEAT_LATE_MS;
		return is_late(r, now, limit) ? ERROR_TRACER_STARVED : ERROR_NONE;
	}
	case PHASE_CLOCK:
		return is_late(r, now, CLOCK_LATE_MS) ? ERROR_TRACER_WITHOUT_CPU : ERROR_NONE;
	default:
		return ERROR_NONE;
	}
}

/*
 * Is it in an uninterruptible wait? A tracer that waits for a CPU will exit sooner or later. One
 * that is already exiting (PF_EXITING of linux/sched.h) waits for kernel locks, on a very busy
 * machine for a long time.
 */
enum stuck { STUCK_NOT, STUCK_ENDING, STUCK };
static enum stuck is_stuck(pid_t tracer)
{
	struct err ignored = ERR_INIT;
	struct proc_status st;
	char text[1024];
	const char *flags;

	if (proc_thread_status(tracer, tracer, &st, &ignored) || st.state != 'D')
		return STUCK_NOT;
	flags = procfs_read_into(tracer, 0, "stat", text, sizeof(text), &ignored)
			? NULL
			: procfs_stat_field(text, STAT_FLAGS);
	return flags && strtoul(flags, NULL, 10) & FLAG_EXITING ? STUCK_ENDING : STUCK;
}

/*
 * A killed tracer dies when it next runs. The CPU that it is bound to (wait.c) may not run it for
 * many seconds, while others are idle.
 */
static void unbind(pid_t tracer)
{
	cpu_set_t own;

	if (sched_getaffinity(0, sizeof(own), &own) == 0)
		sched_setaffinity(tracer, sizeof(own), &own);
}

/*
 * Has it reported that it is waiting? Calls in a certain thread send nothing else: they have no
 * files.
 */
static bool is_done(const struct run *r)
{
	char done;

	return recv(r->socket, &done, sizeof(done), MSG_DONTWAIT) == sizeof(done);
}

/*
 * Returns when the tracer waits for another thread, or has exited or been killed; or when it cannot
 * be killed, because it is in the kernel waiting for a page of the target's memory that a file
 * system does not deliver. A disk that is merely slow delivers it in the end: so what counts is
 * that repeated checks always found it stuck, however much time passed between two of them.
 */
static void watch(struct run *r)
{
	struct pollfd fds[] = { { .fd = r->pidfd, .events = POLLIN },
				{ .fd = r->only ? r->socket : -1, .events = POLLIN } };
	uint64_t looked_us = 0, stuck_us = 0;

	r->killed_for = ERROR_NONE;
	r->left_behind = false;
	while (waitpid(r->tracer, &r->status, WNOHANG) == 0) {
		uint64_t now = now_us();

		if (!r->killed_for && r->only && is_done(r)) {
			r->waits = true;
			return;
		}
		if (!r->killed_for) {
			r->killed_for = too_late(r);
			if (r->killed_for)
				kill(r->tracer, SIGKILL);
		} else {
			uint64_t passed = now - looked_us;
			enum stuck stuck = is_stuck(r->tracer);

			passed = passed < DEATH_LOOK_US ? passed : DEATH_LOOK_US;
			stuck_us = stuck == STUCK_NOT ? 0
				   : stuck == STUCK   ? stuck_us + passed
						      : stuck_us + passed / ENDING_TIMES;
			r->left_behind = stuck_us > DEATH_WAIT_US;
		}
		if (r->killed_for) /* each time: it may be about to bind itself */
			unbind(r->tracer);
		if (r->left_behind)
			break;
		looked_us = now;
		poll(fds, sizeof(fds) / sizeof(*fds), WATCH_MS);
	}
}

/* Receive all descriptors that the tracer sent, or they would be lost. */
static void receive_files(struct run *r)
{
	char control[CMSG_SPACE(sizeof(int))];
	unsigned char number;
	int fd;

	for (;;) {
		struct iovec io = { &number, 1 };
		struct msghdr msg = { .msg_iov = &io,
				      .msg_iovlen = 1,
				      .msg_control = control,
				      .msg_controllen = sizeof(control) };
		struct cmsghdr *c;

		if (recvmsg(r->socket, &msg, MSG_DONTWAIT | MSG_CMSG_CLOEXEC) != 1) {
			if (errno != EAGAIN)
				err_remember(errno, ERROR_FILE_UNRECEIVED);
			break;
		}
		c = CMSG_FIRSTHDR(&msg);
		if (!c || c->cmsg_type != SCM_RIGHTS || number >= r->n)
			continue;
		memcpy(&fd, CMSG_DATA(c), sizeof(fd));
		r->calls[number].fd = fd;
	}
}

static void collect(struct run *r)
{
	for (size_t i = 0; i < r->n; i++) {
		const struct shared_call *from = &r->shared->calls[i];
		struct call *to = &r->calls[i];

		to->made = from->made;
		to->ret = from->ret;
		to->sys = from->sys;
		to->call_us = from->call_us;
		if (!from->made || from->ret || !to->old)
			continue;
		memcpy(to->old, from->old,
		       from->old_len < to->old_len ? from->old_len : to->old_len);
		if ((to->flags & CALL_OLD_STRING) && to->old_len)
			((char *)to->old)[to->old_len - 1] = '\0';
	}
}

/*
 * Was the process stopped, perhaps with a thread that holds one of jemalloc's locks, for which our
 * call waits?
 */
static bool was_stopped(const struct run *r)
{
	struct err ignored = ERR_INIT;
	struct proc now = *r->inj->p;

	return proc_refresh(&now, &ignored) == 0 && now.status.state == 'T';
}

/* `err` is the reason. This or an earlier attempt may still have had a thread create a helper. */
static int not_called(const struct run *r, struct err *err)
{
	err->code = r->sent ? ERR_LOST : ERR_UNSAFE;
	return err_within(err, r->sent ? ERROR_HELPER_UNDER_WAY : ERROR_NOTHING_CHANGED);
}

/* The kernel function that the tracer waits in; empty if unknown. */
static void read_wchan(pid_t tracer, char buf[64])
{
	_cleanup_(cleanup_close) int fd = door_proc(tracer, 0, "wchan");
	ssize_t got = fd < 0 ? -1 : read(fd, buf, 63);

	buf[got > 0 ? got : 0] = '\0';
	if (strcmp(buf, "0") == 0) /* hidden, or not waiting */
		buf[0] = '\0';
}

/* It will release its thread when it dies; when that will be is not up to us. */
static int explain_left(const struct run *r, struct err *err)
{
	pid_t pid = r->inj->p->pid, tid = r->shared->report.tid;
	struct err ignored = ERR_INIT;
	struct proc_status st = { 0 };
	char wchan[64];

	read_wchan(r->tracer, wchan);
	if (tid && (proc_thread_status(pid, tid, &st, &ignored) || st.state != 't'))
		tid = 0;
	err_raise(err, ERROR_TRACER_STUCK, .other = r->tracer, .name = wchan, .pid = pid,
		  .tid = tid);
	return err_advise(err, FIX_END_FILE_SERVER);
}

/* It exited or was killed from outside. That implies nothing about the target. */
static int explain_end(const struct run *r, struct err *err)
{
	char limits[96];

	if (WIFSIGNALED(r->status))
		err_raise(err, ERROR_TRACER_KILLED, .signal = WTERMSIG(r->status));
	else
		err_raise(err, ERROR_TRACER_LEFT);
	not_called(r, err);
	if (own_limits_of_memory(limits, sizeof(limits)))
		return err_advise(err, FIX_LIFT_OWN_LIMITS, .text = limits);
	return err_advise(err, FIX_RETRY_SEE_DMESG);
}

static int explain_death(const struct run *r, struct err *err)
{
	enum error why = r->killed_for ? r->killed_for : ERROR_TRACER_KILLED;
	pid_t pid = r->inj->p->pid;

	if (r->left_behind)
		return explain_left(r, err);
	if (atomic_load(&r->shared->progress) != PROGRESS_CALL && !r->killed_for)
		return explain_end(r, err);
	if (atomic_load(&r->shared->progress) != PROGRESS_CALL) {
		err_raise(err, why);
		not_called(r, err);
		if (why != ERROR_INTERRUPTED)
			return err_advise(err, FIX_RETRY_LONGER_BOTH);
		if (err->code == ERR_UNSAFE)
			err->code = ERR_FAILED;
		return -1;
	}
	if (r->killed_for && was_stopped(r)) {
		err_raise(err, ERROR_STOPPED_IN_CALL, .pid = pid);
		return err_advise(err, FIX_CONTINUE_AND_LOOK);
	}
	err_raise(err, why, .code = ERR_LOST);
	err_within(err, ERROR_CALL_GOES_ON);
	return err_advise(err, FIX_LOOK_AT_IT, .pid = pid);
}

static void forward_log(const struct run *r)
{
	char *save = NULL;

	if (!r->inj->opt.log)
		return;
	for (char *line = strtok_r(r->shared->log, "\n", &save); line;
	     line = strtok_r(NULL, "\n", &save))
		r->inj->opt.log(r->inj->opt.ctx, line);
}

/* Did we receive every file that the tracer sent? */
static int check_files(const struct run *r, struct err *err)
{
	for (size_t i = 0; i < r->n; i++) {
		if (!r->shared->calls[i].has_fd || r->calls[i].fd >= 0)
			continue;
		err_raise(err, ERROR_FILE_NOT_RECEIVED);
		return err_explain(err);
	}
	return 0;
}

static int run_once(struct run *r, struct err *err)
{
	struct sleep *sleeps = r->inj->sleeps;

	memset(r->shared, 0, shared_size(r->n));
	memcpy(r->shared->sleeps, sleeps, sizeof(r->shared->sleeps));
	atomic_store(&r->shared->phase, PHASE_SEARCH);
	r->looked_us = now_us();
	atomic_store(&r->shared->since_us, r->looked_us);
	if (!go_on(r) && start(r, err) < 0)
		return -1;
	watch(r);
	memcpy(sleeps, r->shared->sleeps, sizeof(r->shared->sleeps));
	if (!r->waits) {
		receive_files(r);
		close_tracer(r);
	}
	forward_log(r);
	collect(r);
	r->sent |= atomic_load(&r->shared->progress) == PROGRESS_SENT;
	/* The next tracer must not receive a reply meant for a tracer that exited midway. */
	if (atomic_load(&r->shared->phase) != PHASE_DONE || r->shared->failed)
		walker_end(r->inj, false);
	if (atomic_load(&r->shared->phase) != PHASE_DONE)
		return explain_death(r, err);
	if (r->shared->failed) {
		*err = r->shared->err;
		return -1;
	}
	return check_files(r, err);
}

/* Inline adds nothing to the target, but the borrowed thread is held up during the calls. */
static enum injector_mode first_mode(const struct run *r)
{
	if (r->asked != INJECTOR_AUTO)
		return r->asked;
	return r->inj->cs.pthread_create && !footprint_is_short(r->calls, r->n) ? INJECTOR_THREAD
										: INJECTOR_INLINE;
}

static bool may_switch(const struct run *r)
{
	if (r->asked != INJECTOR_AUTO || r->switched)
		return false;
	return r->mode == INJECTOR_INLINE ? r->inj->cs.pthread_create != 0
					  : !calls_want_file(r->calls, r->n);
}

static void switch_mode(struct run *r)
{
	r->mode = r->mode == INJECTOR_INLINE ? INJECTOR_THREAD : INJECTOR_INLINE;
	r->switched = true;
}

/*
 * Do the target's limits allow for what this mode may add? A first inline attempt adds nothing: if
 * only threads remain that have not called jemalloc yet, a helper thread is no worse, and delays no
 * thread of the program.
 */
static int fit_in(struct run *r, struct err *err)
{
	const struct injector *inj = r->inj;

	r->no_room = (struct err)ERR_INIT;
	if (r->mode == INJECTOR_THREAD) {
		r->may_grow = footprint_check(inj, r->mode, r->calls, r->n, err) == 0;
		if (r->may_grow || !may_switch(r))
			return r->may_grow ? 0 : -1;
		switch_mode(r);
	}
	r->may_grow =
		!may_switch(r) && footprint_check(inj, r->mode, r->calls, r->n, &r->no_room) == 0;
	return check_file_limit(inj, r->mode, r->calls, r->n, err);
}

/* May the run be repeated, with another tracer for other threads, or in another mode? */
static bool try_again(struct run *r, const struct err *err)
{
	enum progress progress = atomic_load(&r->shared->progress);

	if (r->left_behind || (progress == PROGRESS_CALL && !r->only_reads) ||
	    now_us() > r->search_deadline_us || r->killed_for == ERROR_INTERRUPTED)
		return false;
	if (r->shared->another == ANOTHER_NOW)
		return true;
	/*
	 * The next one does without the CPUs' clocks. It may have got its CPU when it was killed:
	 * its phase no longer says why.
	 */
	if (r->killed_for == ERROR_TRACER_WITHOUT_CPU) {
		r->inj->no_clock = true;
		return true;
	}
	/*
	 * The machine is overloaded: the thread did not get a CPU, or the walk of its stack did
	 * not. Limited, since the thread was stopped. A thread that was creating the helper
	 * finishes on its own, and the helper exits.
	 */
	if ((atomic_load(&r->shared->phase) == PHASE_HOLD ||
	     r->killed_for == ERROR_PAUSE_TOO_LONG || r->shared->another == ANOTHER_LATER) &&
	    ++r->long_pauses < LONG_PAUSES_MAX) {
		poll(NULL, 0, LONG_PAUSE_REST_MS);
		return true;
	}
	/* Perhaps the other mode works. */
	if (progress == PROGRESS_NONE && may_switch(r) &&
	    (r->shared->unfit || (err->code == ERR_FAILED && !err->own))) {
		switch_mode(r);
		return true;
	}
	return false;
}

/* Only one jeprof-ctl at a time. */
static int lock_process(const struct injector *inj, int *lock, struct err *err)
{
	char text[ERR_TEXT_SIZE];

	if (lock_target(inj->p->pid, lock, err) < 0)
		return -1;
	if (*lock < 0 && inj->opt.log)
		inj->opt.log(inj->opt.ctx, err_text(err, text, sizeof(text)));
	return 0;
}

static bool are_reads(const struct call *calls, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (calls[i].new || !calls[i].old)
			return false;
	return !calls_want_file(calls, n);
}

static void add_report(struct injector_report *all, const struct injector_report *one)
{
	const struct injector_report before = *all;

	*all = *one;
	all->stops = before.stops + !one->fresh;
	all->pause_us += before.pause_us;
	all->attempts += before.attempts;
	all->late_us += before.late_us;
	all->prolonged += before.prolonged;
}

/* Compares what the calls do; where the results go does not matter. */
static bool is_same_call(const struct call *a, const struct call *b)
{
	return a->name == b->name && a->flags == b->flags && !a->old == !b->old &&
	       a->old_len == b->old_len && a->new == b->new && a->new_len == b->new_len &&
	       a->expect == b->expect;
}

/* Take over the previous run's tracer if it is waiting to make the same calls. */
static bool take_spare(struct run *r)
{
	struct spare *spare = &r->inj->spare;
	bool same = spare->pid && r->only && spare->n_calls == r->n;

	for (size_t i = 0; same && i < r->n; i++)
		same = is_same_call(&spare->calls[i], &r->calls[i]);
	if (!same) {
		end_spare(spare);
		return false;
	}
	r->tracer = spare->pid;
	r->pidfd = spare->pidfd;
	r->socket = spare->socket;
	r->shared = spare->shared;
	r->may_grow = spare->may_grow;
	r->waits = true;
	spare->pid = 0;
	return true;
}

static void keep_spare(const struct run *r)
{
	struct spare *spare = &r->inj->spare;

	*spare = (struct spare){ .pid = r->tracer,
				 .pidfd = r->pidfd,
				 .socket = r->socket,
				 .shared = r->shared,
				 .may_grow = r->may_grow,
				 .n_calls = r->n };
	memcpy(spare->calls, r->calls, r->n * sizeof(*r->calls));
}

/* Check the target, lock it, and set up the memory shared with the tracer. */
static int prepare(struct run *r, int *lock, struct err *err)
{
	const struct injector *inj = r->inj;

	if (check_calls(inj, r->asked, r->calls, r->n, err) < 0 ||
	    check_target(inj->p, inj->images, err) < 0 || lock_process(inj, lock, err) < 0)
		return -1;
	if (!take_spare(r))
		r->shared = mmap(NULL, shared_size(r->n), PROT_READ | PROT_WRITE,
				 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (r->shared == MAP_FAILED)
		return err_raise_sys(err, ERROR_TRACER_MEMORY_UNSHARED, errno);
	return 0;
}

/* The error of a run that finally failed. */
static void explain(const struct run *r, struct err *err)
{
	if (r->shared->unfit && r->no_room.code)
		*err = r->no_room;
	if (err->code == ERR_UNSAFE && r->sent) {
		not_called(r, err);
		err_advise(err, FIX_RETRY_LONGER_PAUSE);
	}
}

/* How many of the remaining calls to make at once. */
static size_t at_once(const struct run *r, size_t left)
{
	bool is_part = r->mode == INJECTOR_INLINE && r->only_reads && !r->only;

	return is_part && left > INLINE_CALLS_MAX ? INLINE_CALLS_MAX : left;
}

int injector_run(struct injector *inj, const struct injector_run *run,
		 struct injector_report *report, struct err *err)
{
	struct run r = { .inj = inj,
			 .calls = run->calls,
			 .n = run->n,
			 .only = run->tid,
			 .only_reads = are_reads(run->calls, run->n),
			 .asked = run->tid ? INJECTOR_INLINE : inj->opt.mode };
	unsigned int search_ms = run->search_ms ? run->search_ms : inj->opt.search_ms;
	_cleanup_(cleanup_close) int lock = -1;
	uint64_t now = now_us();
	size_t left = run->n;
	bool fits;
	int ret;

	for (size_t i = 0; i < run->n; i++) {
		run->calls[i].fd = -1;
		run->calls[i].made = false;
	}
	if (prepare(&r, &lock, err) < 0)
		return -1;
	r.mode = first_mode(&r);
	r.deadline_us = now + (uint64_t)inj->opt.timeout_ms * 1000;
	r.search_deadline_us = now + (uint64_t)search_ms * 1000;
	*report = (struct injector_report){ 0 };
	for (;;) {
		r.n = at_once(&r, left);
		do { /* a waiting tracer has passed fit_in() before */
			fits = r.waits || fit_in(&r, err) == 0;
			ret = fits ? run_once(&r, err) : -1;
		} while (fits && ret < 0 && try_again(&r, err));
		if (!fits)
			break;
		add_report(report, &r.shared->report);
		left -= r.n;
		if (ret < 0 || !left || r.shared->enough)
			break;
		r.calls += r.n;
	}
	if (ret < 0)
		explain(&r, err);
	if (r.waits)
		keep_spare(&r);
	else
		munmap(r.shared, shared_size(run->n));
	return ret;
}
