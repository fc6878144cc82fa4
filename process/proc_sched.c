// SPDX-License-Identifier: Apache-2.0
/* What the scheduler says of a thread. */
#include "process/proc.h"

#include "process/procfs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SCHED_SIZE 8192
#define STAT_SIZE 4096
#define STAT_CPU 39 /* proc_pid_stat(5): "processor" */

/* "se.exec_start : 12932165.780685", in milliseconds. */
static bool parse_ran(const char *text, uint64_t *ns)
{
	static const char key[] = "se.exec_start";
	const char *line = strstr(text, key), *value = line ? strchr(line, ':') : NULL;
	unsigned long long ms, rest;

	if (!value || sscanf(value + 1, "%llu.%6llu", &ms, &rest) != 2 || !(ms | rest))
		return false;
	*ns = ms * 1000000 + rest;
	return true;
}

/* The name, in parentheses, may hold anything; field 3 follows it. */
static bool parse_cpu(const char *text, int *cpu)
{
	const char *at = strrchr(text, ')');

	for (int field = 2; at && field < STAT_CPU; field++)
		at = strchr(at + 1, ' ');
	return at && sscanf(at, "%d", cpu) == 1;
}

bool proc_thread_ran(pid_t pid, pid_t tid, struct proc_ran *ran)
{
	struct err ignored = ERR_INIT;
	char text[SCHED_SIZE];

	return procfs_read_into(pid, tid, "sched", text, sizeof(text), &ignored) == 0 &&
	       parse_ran(text, &ran->ns) &&
	       procfs_read_into(pid, tid, "stat", text, STAT_SIZE, &ignored) == 0 &&
	       parse_cpu(text, &ran->cpu);
}
