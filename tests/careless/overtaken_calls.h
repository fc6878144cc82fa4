// SPDX-License-Identifier: Apache-2.0
/*
 * System calls of a confined child that was taken over: each acts on another process, on a file
 * of somebody's, or on the whole machine, by what the child holds. They do no lasting harm but to
 * the process and the program that the test made for this.
 */
#ifndef TESTS_CARELESS_OVERTAKEN_CALLS_H
#define TESTS_CARELESS_OVERTAKEN_CALLS_H

#include <stdbool.h>
#include <sys/types.h>

/*
 * Make them all: `gained` is told the name of each that worked. The process `victim` is sent
 * SIGUSR1, where the child has an opener, by fcntl(2) alone. `program` is opened by that.
 */
void overtaken_calls(pid_t victim, const char *program, void (*gained)(const char *name));

/*
 * The same for what an opener may be asked for: in `folder` lie "program", and `secret`. The
 * process is the first one, which is not changed.
 */
void overtaken_requests(const char *folder, const char *secret, void (*gained)(const char *name));

#endif
