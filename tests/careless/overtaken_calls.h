// SPDX-License-Identifier: Apache-2.0
/*
 * System calls of a confined child that was taken over: each acts on another process, on a file, or
 * on the whole machine, using what the child holds. They only harm the process and the program that
 * the test created for this.
 */
#ifndef TESTS_CARELESS_OVERTAKEN_CALLS_H
#define TESTS_CARELESS_OVERTAKEN_CALLS_H

#include <stdbool.h>
#include <sys/types.h>

/*
 * Make all these calls, and pass the name of each that worked to `gained`. If the child has an
 * opener, the process `victim` is sent SIGUSR1, only through fcntl(2), for which the opener opens
 * `program`.
 */
void overtaken_calls(pid_t victim, const char *program, void (*gained)(const char *name));

/*
 * The same for requests to an opener: `folder` contains "program", and `secret`. The target is
 * process 1, which is not changed.
 */
void overtaken_requests(const char *folder, const char *secret, void (*gained)(const char *name));

#endif
