// SPDX-License-Identifier: Apache-2.0
#include "base/spawn.h"

#include "base/own_limits.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>

int spawn(const struct spawn *s, pid_t *pid)
{
	posix_spawn_file_actions_t files;
	posix_spawnattr_t attr;
	sigset_t none, all;
	int failed;

	sigemptyset(&none);
	sigfillset(&all);
	posix_spawnattr_init(&attr);
	posix_spawn_file_actions_init(&files);
	own_limits_lend();
	if (posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF) ||
	    posix_spawnattr_setsigmask(&attr, &none) ||
	    posix_spawnattr_setsigdefault(&attr, &all) ||
	    (s->in < 0 ? posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0)
		       : posix_spawn_file_actions_adddup2(&files, s->in, 0)) ||
	    posix_spawn_file_actions_adddup2(&files, s->out, 1) ||
	    posix_spawn_file_actions_adddup2(&files, s->err, 2) ||
	    (s->also && posix_spawn_file_actions_adddup2(&files, s->also, SPAWN_ALSO)))
		failed = ENOMEM;
	else
		failed = posix_spawnp(pid, s->program, &files, &attr, s->argv, s->env);
	own_limits_take_back();
	posix_spawn_file_actions_destroy(&files);
	posix_spawnattr_destroy(&attr);
	return failed;
}
