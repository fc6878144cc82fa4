// SPDX-License-Identifier: Apache-2.0
/* tracer PID: trace PID until killed; prints "ready" on standard output. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	pid_t pid = argc > 1 ? (pid_t)strtol(argv[1], NULL, 10) : 0;

	if (ptrace(PTRACE_SEIZE, pid, NULL, NULL) != 0) {
		perror("tracer");
		return 2;
	}
	puts("ready");
	fflush(stdout);
	for (;;)
		pause();
}
