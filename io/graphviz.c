// SPDX-License-Identifier: Apache-2.0
#include "io/graphviz.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "io/graphviz_child.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define SAID_MAX 200
#ifndef PATIENCE_MS
#define PATIENCE_MS 120000
#endif

/* Memory files: standard input, output and error of dot(1). */
struct files {
	int graph, picture, said;
};

static void close_files(struct files *f)
{
	cleanup_close(&f->graph);
	cleanup_close(&f->picture);
	cleanup_close(&f->said);
}

const char *graphviz_type(const char *path)
{
	static const char *const types[] = { "svg", "png", "pdf" };
	const char *dot = strrchr(path, '.');

	for (size_t i = 0; dot && i < sizeof(types) / sizeof(types[0]); i++)
		if (!strcmp(dot + 1, types[i]))
			return types[i];
	return NULL;
}

/* Search the absolute directories in PATH. */
static bool find_dot(char path[PATH_MAX])
{
	const char *list = getenv("PATH");

	for (list = list ? list : "/usr/bin:/bin"; *list; list += *list == ':') {
		int len = (int)strcspn(list, ":");

		if (*list == '/' && snprintf(path, PATH_MAX, "%.*s/dot", len, list) < PATH_MAX &&
		    !access(path, X_OK))
			return true;
		list += len;
	}
	return false;
}

/* 0 with the exit status; on failure it has been killed. */
static int wait_for(pid_t pid, int *status, struct err *err)
{
	_cleanup_(cleanup_close) int fd = (int)syscall(SYS_pidfd_open, pid, 0);
	uint64_t deadline = now_ms() + PATIENCE_MS;
	struct pollfd p = { .fd = fd, .events = POLLIN };
	bool late = fd < 0;

	for (uint64_t now = now_ms(); !late && poll(&p, 1, (int)(deadline - now)) <= 0;) {
		now = now_ms();
		late = now >= deadline;
	}
	if (late)
		kill(-pid, SIGKILL);
	if (late)
		kill(pid, SIGKILL);
	while (waitpid(pid, status, 0) < 0 && errno == EINTR)
		;
	return late ? err_raise(err, ERROR_GRAPHVIZ_LATE, .number = PATIENCE_MS / 1000) : 0;
}

static int draw(const struct files *f, const char *type, struct err *err)
{
	struct graphviz_start start = { .graph = f->graph,
					.picture = f->picture,
					.said = f->said,
					.changes_user = !geteuid() };
	char path[PATH_MAX], option[16], said[SAID_MAX] = "";
	int status = 0;
	pid_t pid;

	if (!find_dot(path)) {
		err_raise(err, ERROR_GRAPHVIZ_MISSING);
		return err_advise(err, FIX_INSTALL_GRAPHVIZ);
	}
	if (start.changes_user && !graphviz_user(&start.user))
		return err_raise(err, ERROR_GRAPHVIZ_NO_USER);
	snprintf(option, sizeof(option), "-T%s", type);
	start.path = path;
	start.option = option;
	pid = fork();
	if (pid < 0)
		return err_raise_sys(err, ERROR_GRAPHVIZ_UNSTARTED, errno);
	if (!pid)
		graphviz_become(&start);
	if (wait_for(pid, &status, err))
		return -1;
	if (!status)
		return 0;
	if (WIFSIGNALED(status))
		return err_raise(err, ERROR_GRAPHVIZ_KILLED, .number = WTERMSIG(status));
	(void)!pread(f->said, said, sizeof(said) - 1, 0);
	said[strcspn(said, "\n")] = '\0';
	return err_raise(err, ERROR_GRAPHVIZ_FAILED, .text = said);
}

static int copy(int from, FILE *to, struct err *err)
{
	char bytes[BUFSIZ];
	off_t at = 0;
	ssize_t n;

	while ((n = pread(from, bytes, sizeof(bytes), at)) > 0) {
		if (fwrite(bytes, 1, (size_t)n, to) != (size_t)n)
			return err_raise_sys(err, ERROR_PICTURE_UNWRITTEN, errno);
		at += n;
	}
	return 0;
}

int graphviz_draw(const char *type, memory_file_fn *write, const void *ctx, FILE *out,
		  struct err *err)
{
	_cleanup_(close_files) struct files f = { -1, -1, -1 };
	uint64_t bytes;

	if (memory_file_write(write, ctx, &f.graph, &bytes, err) ||
	    memory_file_make(&f.picture, err) || memory_file_make(&f.said, err) ||
	    draw(&f, type, err))
		return -1;
	return copy(f.picture, out, err);
}
