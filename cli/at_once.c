// SPDX-License-Identifier: Apache-2.0
/*
 * Runs a command on several processes at once, each in its own child, so that a failure or delay
 * affects only that process. A child takes a turn (base/turn.h) to have its target open: at most
 * one target is stopped at a time.
 *
 * Each child has its own process group, and is signaled by us, or by the kernel if we are killed.
 * It has these signals blocked from the start, so that it can shut down cleanly. Once it has
 * released its target and reads profiles, SIGTERM (a second Ctrl-C) ends it immediately.
 * Its output is collected in memory, and printed here when it has exited.
 */
#include "base/cleanup.h"
#include "base/signals.h"
#include "base/turn.h"
#include "cli/out.h"
#include "cli/several.h"
#include "io/memory_file.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define FDS_EACH 3
#define FDS_OWN 64
#define PROGRESS_MS 1000
#define LINE_WIDTH 60

struct child {
	const struct target *target;
	pid_t pid;
	int pidfd;    /* -1: exited, or never started */
	int out, err; /* memory files with its output */
};

struct crew {
	const struct several *several;
	struct signals stop;
	int turn;
	struct child *v;
	size_t n, running;
	struct pollfd *fds; /* one per child, then stop.fd */
	struct tally tally;
	bool shown;
	bool stopped; /* all were signaled */
};

static void child_close(struct child *c)
{
	cleanup_close(&c->pidfd);
	cleanup_close(&c->out);
	cleanup_close(&c->err);
	c->pidfd = c->out = c->err = -1;
}

static void crew_fini(struct crew *crew)
{
	for (size_t i = 0; i < crew->n; i++)
		child_close(&crew->v[i]);
	cleanup_close(&crew->turn);
	signals_close(&crew->stop);
	free(crew->v);
	free(crew->fds);
}

/* --- in the child --- */

static void work(const struct crew *crew, const struct child *c, pid_t parent)
{
	const struct args *args = crew->several->args;
	bool colored =
		*out_ink(args, STDOUT_FILENO, INK_BOLD) && *out_ink(args, STDERR_FILENO, INK_BOLD);
	struct args one;
	int status;

	setpgid(0, 0);
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (getppid() != parent)
		raise(SIGTERM); /* the parent died earlier; blocked, so it stays pending */
	if (dup2(c->out, STDOUT_FILENO) < 0 || dup2(c->err, STDERR_FILENO) < 0)
		_exit(err_exit_status(ERR_FAILED));
	several_args(crew->several, c->target, &one);
	one.of_several.turn_fd = crew->turn;
	if (colored)
		one.color = COLOR_ALWAYS; /* the parent prints it to its own stdout */
	status = several_one(crew->several, c->target, &one);
	_exit(fflush(NULL) ? err_exit_status(ERR_OUTPUT) : status);
}

void several_report_turn(const struct args *args)
{
	sigset_t term;

	if (!args->of_several.turn_fd)
		return;
	sigemptyset(&term);
	sigaddset(&term, SIGTERM);
	sigprocmask(SIG_UNBLOCK, &term, NULL);
	turn_take(args->of_several.turn_fd, TURN_REPORT);
}

/* --- the parent --- */

static int start(const struct crew *crew, struct child *c, struct err *err)
{
	pid_t parent = getpid();

	if (memory_file_make(&c->out, err) || memory_file_make(&c->err, err))
		return -1;
	c->pid = fork();
	if (c->pid < 0)
		return err_raise_sys(err, ERROR_NO_FORK, errno);
	if (!c->pid)
		work(crew, c, parent);
	c->pidfd = (int)syscall(SYS_pidfd_open, c->pid, 0);
	if (c->pidfd >= 0)
		return 0;
	err_raise_sys(err, ERROR_NO_FORK, errno);
	kill(c->pid, SIGTERM);
	waitpid(c->pid, NULL, 0);
	return -1;
}

/* Raise the limit on descriptors as needed, up to the hard limit. */
static void raise_limit(size_t n)
{
	struct rlimit limit;
	rlim_t need = n * FDS_EACH + FDS_OWN;

	if (getrlimit(RLIMIT_NOFILE, &limit) || limit.rlim_cur >= need)
		return;
	limit.rlim_cur = need < limit.rlim_max ? need : limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
}

static int print_file(int fd, FILE *to, struct err *err)
{
	_cleanup_(cleanup_free) char *text = NULL;
	uint64_t bytes;

	if (memory_file_size(fd, &bytes, err) || memory_file_read(fd, bytes, &text, err))
		return -1;
	if (fwrite(text, 1, bytes, to) != bytes || fflush(to))
		return err_raise_sys(err, ERROR_STDOUT_UNWRITTEN, errno);
	return 0;
}

/* The child could not be started, or was killed. */
static void say_why(struct crew *crew, struct child *c, const struct err *why)
{
	several_count(&crew->tally, c->target, several_failed(crew->several, c->target, why));
	child_close(c);
}

static int take_end(struct crew *crew, struct child *c, struct err *err)
{
	struct err why = ERR_INIT;
	int status = 0;

	if (crew->shown)
		fprintf(stderr, "\r%*s\r", LINE_WIDTH, "");
	crew->shown = false;
	while (waitpid(c->pid, &status, 0) < 0 && errno == EINTR)
		;
	crew->running--;
	if (several_next(crew->several, c->target, &crew->tally, err) || out_flush(err))
		return -1;
	/* A failure to write stderr does not stop the other children. */
	(void)!print_file(c->err, stderr, &why);
	why = (struct err)ERR_INIT;
	if (WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM) {
		err_raise(&why, ERROR_INTERRUPTED);
	} else if (WIFSIGNALED(status)) {
		err_raise(&why, ERROR_RECORDER_DIED, .pid = c->target->match.pid,
			  .signal = WTERMSIG(status));
		err_advise(&why, FIX_UNDO, .pid = c->target->match.pid);
	}
	/* Also print the output of an interrupted child, except part of a JSON document. */
	if ((!why.ids[0] || !crew->several->args->json) && print_file(c->out, stdout, err))
		return -1;
	if (why.ids[0]) {
		say_why(crew, c, &why);
		return 0;
	}
	several_count(&crew->tally, c->target, WEXITSTATUS(status));
	child_close(c);
	return 0;
}

static void stop_all(const struct crew *crew, int signal)
{
	for (size_t i = 0; i < crew->n; i++) {
		if (crew->v[i].pidfd >= 0)
			syscall(SYS_pidfd_send_signal, crew->v[i].pidfd, signal, NULL, 0);
	}
}

static void show(struct crew *crew)
{
	const struct args *args = crew->several->args;

	if (args->quiet || args->json || !isatty(STDERR_FILENO))
		return;
	fprintf(stderr, "\r%s: %zu of %zu processes", crew->several->command->name, crew->running,
		crew->n);
	fflush(stderr);
	crew->shown = true;
}

/* Wait for an event, or until it is time to show progress. */
static int wait_once(struct crew *crew, struct err *err)
{
	struct signalfd_siginfo info;

	for (size_t i = 0; i < crew->n; i++)
		crew->fds[i] = (struct pollfd){ .fd = crew->v[i].pidfd, .events = POLLIN };
	crew->fds[crew->n] = (struct pollfd){ .fd = crew->stop.fd, .events = POLLIN };
	show(crew);
	if (poll(crew->fds, crew->n + 1, PROGRESS_MS) <= 0)
		return 0;
	if (crew->fds[crew->n].revents) {
		while (read(crew->stop.fd, &info, sizeof(info)) > 0)
			;
		stop_all(crew, crew->stopped ? SIGTERM : SIGINT);
		crew->stopped = true;
	}
	for (size_t i = 0; i < crew->n; i++) {
		if (crew->fds[i].revents && take_end(crew, &crew->v[i], err))
			return -1;
	}
	return 0;
}

static int start_all(struct crew *crew, struct err *err)
{
	for (size_t i = 0; i < crew->several->n; i++) {
		struct child *c = &crew->v[crew->n++];
		struct err why = ERR_INIT;

		*c = (struct child){ &crew->several->v[i], 0, -1, -1, -1 };
		if (!start(crew, c, &why)) {
			crew->running++;
			continue;
		}
		if (several_next(crew->several, c->target, &crew->tally, err) || out_flush(err))
			return -1;
		say_why(crew, c, &why);
	}
	return 0;
}

/* No child outlives us, even if output fails. */
static void end_all(struct crew *crew)
{
	stop_all(crew, SIGTERM);
	for (size_t i = 0; i < crew->n; i++) {
		if (crew->v[i].pidfd >= 0)
			waitpid(crew->v[i].pid, NULL, 0);
	}
}

int several_at_once(const struct several *s, struct err *err)
{
	_cleanup_(crew_fini) struct crew crew = {
		.several = s,
		.stop = SIGNALS_INIT,
		.turn = turn_make(),
		.v = calloc(s->n, sizeof(*crew.v)),
		.fds = calloc(s->n + 1, sizeof(*crew.fds)),
	};

	if (!crew.v || !crew.fds)
		return err_no_memory(err);
	if (crew.turn < 0)
		return err_raise_sys(err, ERROR_NO_SHARED_MEMORY, errno);
	raise_limit(s->n);
	if (signals_open(&crew.stop, err) || several_begin(s, err) || out_flush(err))
		return -1;
	if (start_all(&crew, err)) {
		end_all(&crew);
		return -1;
	}
	while (crew.running) {
		if (wait_once(&crew, err)) {
			end_all(&crew);
			return -1;
		}
	}
	return several_end(s, err) ? -1 : several_sum(s, &crew.tally);
}
