// SPDX-License-Identifier: Apache-2.0
/*
 * launch BOARD PROGRAM [ARGUMENTS...]: a parent that watches its child's job control, like shells
 * do: how often it was stopped, continued, trapped. The words after struct board's own are the
 * counts and the child's pid.
 */
#include "tests/target/victim.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { STOPPED, CONTINUED, OTHER, CHILD };

/* SIGCHLD reports on the child as well; it must not report what only a tracer may know. */
static void on_child(int sig, siginfo_t *info, void *context)
{
	(void)sig;
	(void)context;
	if (info->si_code == CLD_TRAPPED)
		victim_beat(OTHER);
}

int main(int argc, char **argv)
{
	struct sigaction act = { .sa_sigaction = on_child, .sa_flags = SA_SIGINFO | SA_RESTART };
	pid_t child;
	int status;

	if (argc < 3) {
		fprintf(stderr, "usage: launch BOARD PROGRAM [ARGUMENTS...]\n");
		return 2;
	}
	victim_open(argv[1]);
	sigaction(SIGCHLD, &act, NULL);
	child = fork();
	if (child == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		/*
		 * SIGTSTP does not stop processes of an orphaned process group, which ours may be.
		 */
		setpgid(0, 0);
		execv(argv[2], argv + 2);
		_exit(127);
	}
	board->beats[CHILD] = (uint64_t)child;
	victim_ready(0);
	while (waitpid(child, &status, WUNTRACED | WCONTINUED) == child) {
		if (WIFSTOPPED(status))
			victim_beat(STOPPED);
		else if (WIFCONTINUED(status))
			victim_beat(CONTINUED);
		else
			victim_beat(OTHER);
	}
	return 0;
}
