// SPDX-License-Identifier: Apache-2.0
#include "ops/unit/systemd.h"

#include "base/cleanup.h"
#include "base/spawn.h"
#include "io/memory_file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define ARGS_MAX 16
#define SAID_MAX 300
#define PRINTED_MAX ((uint64_t)4 << 20)

int systemd_booted(struct err *err)
{
	struct stat st;

	if (!lstat("/run/systemd/system", &st) && S_ISDIR(st.st_mode))
		return 0;
	err_raise(err, ERROR_SYSTEMD_ABSENT);
	return err_advise(err, FIX_SET_VARIABLE_AT_START, .conf = "MALLOC_CONF");
}

/* Found in a fixed PATH, with its own environment: nothing in ours changes its answers. */
int systemctl(const char *const *args, char **said, struct err *err)
{
	char path[] = "PATH=/usr/sbin:/usr/bin:/sbin:/bin", locale[] = "LC_ALL=C",
	     colors[] = "SYSTEMD_COLORS=0", *const env[] = { path, locale, colors, NULL };
	char *argv[ARGS_MAX + 2] = { (char *)"systemctl" };
	_cleanup_(cleanup_close) int out = -1, complaint = -1;
	char line[SAID_MAX] = "";
	uint64_t bytes;
	int status = 0, sys;
	pid_t pid;

	for (size_t i = 0; i < ARGS_MAX && args[i]; i++)
		argv[i + 1] = (char *)args[i];
	if (memory_file_make(&out, err) || memory_file_make(&complaint, err))
		return -1;
	sys = spawn(&(struct spawn){ argv[0], argv, env, -1, out, complaint, 0 }, &pid);
	if (sys)
		return err_raise_sys(err, ERROR_SYSTEMCTL_UNSTARTED, sys);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (status) {
		/* The first line of its error message. */
		(void)!pread(complaint, line, sizeof(line) - 1, 0);
		line[strcspn(line, "\n")] = '\0';
		if (!*line && WIFSIGNALED(status))
			snprintf(line, sizeof(line), "killed by signal %d", WTERMSIG(status));
		else if (!*line)
			snprintf(line, sizeof(line), "exit status %d", WEXITSTATUS(status));
		return err_raise(err, ERROR_SYSTEMCTL_FAILED, .command = args[0], .text = line);
	}
	if (memory_file_size(out, &bytes, err))
		return -1;
	return memory_file_read(out, bytes < PRINTED_MAX ? bytes : PRINTED_MAX, said, err);
}
