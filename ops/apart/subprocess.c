// SPDX-License-Identifier: Apache-2.0
#include "ops/apart/subprocess.h"

#include "base/cleanup.h"
#include "base/signals.h"
#include "base/write.h"
#include "io/memory_file.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* In the subprocess: writes the error, or none, followed by what was packed. */
static int work(const struct subprocess *w, subprocess_fn *fn, void *ctx)
{
	_cleanup_(signals_close) struct signals stop = SIGNALS_INIT;
	_cleanup_(pack_fini) struct pack answer = { 0 }, message = { 0 };
	struct err err = ERR_INIT;
	bool failed;

	err_forget();
	failed = signals_open(&stop, &err) || fn(ctx, stop.fd, &answer, &err);
	if (failed && err.code != ERR_LOST)
		err_explain(&err);
	pack_err(&message, failed ? &err : NULL);
	if (!failed && answer.failed)
		return 1;
	pack_bytes(&message, answer.v, answer.len);
	return write_all(w->answer, message.v, message.len) && !message.failed ? 0 : 1;
}

int subprocess_start(struct subprocess *w, subprocess_fn *fn, void *ctx, struct err *err)
{
	pid_t parent = getpid();

	if (memory_file_make(&w->answer, err))
		return -1;
	w->pid = fork();
	if (!w->pid) {
		setpgid(0, 0);
		prctl(PR_SET_PDEATHSIG, SIGTERM);
		if (getppid() != parent)
			raise(SIGTERM); /* it died earlier; blocked, so it stays pending */
		_exit(work(w, fn, ctx));
	}
	if (w->pid > 0)
		w->pidfd = (int)syscall(SYS_pidfd_open, w->pid, 0);
	if (w->pidfd >= 0)
		return 0;
	err_raise_sys(err, ERROR_NO_FORK, errno);
	if (w->pid > 0) {
		kill(w->pid, SIGTERM);
		waitpid(w->pid, NULL, 0);
	}
	cleanup_close(&w->answer);
	return -1;
}

void subprocess_stop(const struct subprocess *w)
{
	if (w->pidfd >= 0)
		syscall(SYS_pidfd_send_signal, w->pidfd, SIGINT, NULL, 0);
}

int subprocess_take(struct subprocess *w, char **bytes, struct unpack *answer, struct err *err)
{
	_cleanup_(cleanup_free) char *got = NULL;
	int status = 0, ret = -1;
	uint64_t size;

	while (waitpid(w->pid, &status, 0) < 0 && errno == EINTR)
		;
	if (status)
		err_raise(err, ERROR_SUBPROCESS_DIED,
			  .signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0);
	else if (!memory_file_size(w->answer, &size, err) &&
		 !memory_file_read(w->answer, size, &got, err)) {
		*answer = (struct unpack){ .at = (unsigned char *)got,
					   .end = (unsigned char *)got + size };
		ret = unpack_err(answer, err) ? -1 : 0;
	}
	cleanup_close(&w->pidfd);
	cleanup_close(&w->answer);
	*w = (struct subprocess)SUBPROCESS_INIT;
	if (!ret)
		*bytes = take_ptr(got);
	return ret;
}
