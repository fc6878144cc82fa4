// SPDX-License-Identifier: Apache-2.0
#include "ops/graphviz.h"

#include "base/cleanup.h"
#include "base/text.h"

#include <errno.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define NOT_FOUND 127 /* as setpriv(1) says it */
#define SAID_MAX 200

extern char **environ;

/* Memory files: what dot(1) reads, draws and says. */
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

/* Root's is started by setpriv(1), as "nobody". */
static int start_dot(const struct files *f, const char *type, pid_t *pid)
{
	char option[16];
	const char *const as_nobody[] = { "setpriv",	    "--reuid=65534",
					  "--regid=65534",  "--clear-groups",
					  "--no-new-privs", "dot",
					  option,	    NULL };
	const char *const *argv = as_nobody + (geteuid() ? 5 : 0);
	posix_spawn_file_actions_t files;
	int ret;

	snprintf(option, sizeof(option), "-T%s", type);
	if (posix_spawn_file_actions_init(&files))
		return ENOMEM;
	ret = posix_spawn_file_actions_adddup2(&files, f->graph, 0) ||
			      posix_spawn_file_actions_adddup2(&files, f->picture, 1) ||
			      posix_spawn_file_actions_adddup2(&files, f->said, 2)
		      ? ENOMEM
		      : posix_spawnp(pid, argv[0], &files, NULL, (char *const *)argv, environ);
	posix_spawn_file_actions_destroy(&files);
	return ret;
}

static int not_there(struct err *err)
{
	err_set(err, ERR_FAILED, "dot(1) of Graphviz, which draws graphs, is not installed");
	return err_fix(err, "apt-get install graphviz; or write the graph itself, to a file that "
			    "ends in .dot");
}

static int explain(int said, int status, struct err *err)
{
	char line[SAID_MAX] = "", safe[SAID_MAX];

	if (WIFEXITED(status) && WEXITSTATUS(status) == NOT_FOUND)
		return not_there(err);
	(void)!pread(said, line, sizeof(line) - 1, 0);
	line[strcspn(line, "\n")] = '\0';
	return err_set(err, ERR_FAILED, "dot(1) of Graphviz cannot draw the graph: %s",
		       output_safe(line, safe, sizeof(safe)));
}

static int draw(const struct files *f, const char *type, struct err *err)
{
	int status = 0, ret;
	pid_t pid;

	ret = start_dot(f, type, &pid);
	if (ret == ENOENT)
		return not_there(err);
	if (ret)
		return err_sys(err, ERR_FAILED, ret, "cannot start dot(1)");
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return status ? explain(f->said, status, err) : 0;
}

static int copy(int from, FILE *to, struct err *err)
{
	char bytes[BUFSIZ];
	off_t at = 0;
	ssize_t n;

	while ((n = pread(from, bytes, sizeof(bytes), at)) > 0) {
		if (fwrite(bytes, 1, (size_t)n, to) != (size_t)n)
			return err_sys(err, ERR_OUTPUT, errno, "cannot write the picture");
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
