// SPDX-License-Identifier: Apache-2.0
/*
 * Starts another program with a clean state: no signal is blocked or ignored, and the stack limit
 * is the original one (base/own_limits.h).
 */
#ifndef BASE_SPAWN_H
#define BASE_SPAWN_H

#include <sys/types.h>

#define SPAWN_ALSO 3
struct spawn {
	const char *program; /* a path, or a name to look up in our PATH */
	char *const *argv, *const *env;
	int in, out, err; /* its standard input, output and error; in: -1 is /dev/null */
	int also;	  /* its descriptor SPAWN_ALSO; 0: none */
};

/* 0 or an errno value. The caller waits for the child. */
int spawn(const struct spawn *s, pid_t *pid);

#endif
