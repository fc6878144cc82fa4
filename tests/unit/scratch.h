// SPDX-License-Identifier: Apache-2.0
/* A temporary folder for files that are made from this test program. Include after <cmocka.h>. */
#ifndef TESTS_UNIT_SCRATCH_H
#define TESTS_UNIT_SCRATCH_H

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static char folder[] = "/tmp/jeprof-ctl-unit.XXXXXX";

/* Run a shell command in the folder, with $SELF as the path of this program. */
static void run(const char *command)
{
	char line[1024];

	snprintf(line, sizeof(line), "cd %s && { %s; } 2>/dev/null", folder, command);
	assert_int_equal(system(line), 0);
}

/* Create the folder, and run `command` in it. */
static int scratch_make(const char *command)
{
	char self[4096];
	ssize_t len = readlink("/proc/self/exe", self, sizeof(self) - 1);

	if (len < 0 || !mkdtemp(folder))
		return -1;
	self[len] = '\0';
	setenv("SELF", self, 1);
	run(command);
	return 0;
}

static int scratch_remove(void **state)
{
	(void)state;
	run("rm -r $PWD");
	return 0;
}

#endif
