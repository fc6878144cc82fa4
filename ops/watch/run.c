// SPDX-License-Identifier: Apache-2.0
#include "ops/watch/run.h"

#include "base/cleanup.h"
#include "base/spawn.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define OWN_VARS 16
#define SHELL "/bin/sh"

extern char **environ;

static void free_env(char **env)
{
	for (char **e = env; env && *e; e++)
		free(*e);
	free(env);
}

static bool add(char **env, size_t *n, const char *name, const char *value)
{
	if (asprintf(&env[*n], "JEPROF_CTL_%s=%s", name, value ? value : "") < 0) {
		env[*n] = NULL;
		return false;
	}
	++*n;
	return true;
}

static bool add_number(char **env, size_t *n, const char *name, uint64_t value)
{
	char text[24];

	snprintf(text, sizeof(text), "%" PRIu64, value);
	return add(env, n, name, text);
}

static bool add_time(char **env, size_t *n, const struct timespec *time)
{
	char date[32], text[64];
	struct tm tm;

	strftime(date, sizeof(date), "%Y-%m-%dT%H:%M:%S", gmtime_r(&time->tv_sec, &tm));
	snprintf(text, sizeof(text), "%s.%06ldZ", date, time->tv_nsec / 1000);
	return add(env, n, "TIME", text);
}

static bool add_event(char **env, size_t *n, const struct ops_watch_event *e)
{
	return add_time(env, n, &e->time) && add_number(env, n, "PID", (uint64_t)e->pid) &&
	       add_number(env, n, "TID", (uint64_t)e->tid) && add(env, n, "COMM", e->comm) &&
	       add(env, n, "KIND", watch_kind_name(e->kind)) && add(env, n, "FILE", e->file) &&
	       add(env, n, "HOST_FILE", e->host_file ? e->host_file : e->file) &&
	       add(env, n, "OK", e->ok ? "true" : "false") && add(env, n, "ERROR", e->error) &&
	       (e->has_bytes ? add_number(env, n, "BYTES", e->bytes)
			     : add(env, n, "BYTES", NULL)) &&
	       add_number(env, n, "DURATION_US", e->duration_us) &&
	       add(env, n, "SOURCE", e->probed ? "uprobe" : "tracepoint") &&
	       add(env, n, "BY", e->by_us ? "jeprof-ctl" : NULL) &&
	       add(env, n, "CGROUP", e->cgroup) && add(env, n, "CONTAINER", e->container);
}

/* Ours, and the event's; NULL without memory. */
static char **make_env(const struct ops_watch_event *event)
{
	size_t n = 0, ours = 0;
	char **env;

	while (environ[ours])
		ours++;
	env = calloc(ours + OWN_VARS + 1, sizeof(*env));
	if (!env)
		return NULL;
	for (size_t i = 0; i < ours; i++) {
		if (!strncmp(environ[i], "JEPROF_CTL_", 11))
			continue;
		env[n] = strdup(environ[i]);
		if (!env[n++])
			break;
	}
	if ((n && !env[n - 1]) || !add_event(env, &n, event)) {
		free_env(env);
		return NULL;
	}
	return env;
}

/* No input, and its output is not among ours. */
static int start(struct watch_runs *r, char **env)
{
	char *const shell[] = { (char *)"sh", (char *)"-c", (char *)r->command, NULL };
	char *const program[] = { (char *)r->program, NULL };
	const struct spawn s = { .program = r->command ? SHELL : r->program,
				 .argv = r->command ? shell : program,
				 .env = env,
				 .in = -1,
				 .out = 2,
				 .err = 2 };
	pid_t pid;

	if (spawn(&s, &pid))
		return -1;
	r->running[r->n_running++] = pid;
	return 0;
}

void watch_run(struct watch_runs *r, const struct ops_watch_event *event)
{
	char **env;

	if (r->n_waiting == RUNS_WAITING) {
		r->skipped++;
		return;
	}
	env = make_env(event);
	if (!env) {
		r->failed++;
		return;
	}
	r->waiting[(r->first + r->n_waiting++) % RUNS_WAITING] = env;
	watch_runs_go_on(r);
}

static void reap(struct watch_runs *r)
{
	for (size_t i = 0; i < r->n_running;) {
		int status = 0;
		pid_t got = waitpid(r->running[i], &status, WNOHANG);

		if (!got) {
			i++;
			continue;
		}
		r->failed += got < 0 || status != 0;
		r->running[i] = r->running[--r->n_running];
	}
}

bool watch_runs_go_on(struct watch_runs *r)
{
	reap(r);
	while (r->n_waiting && r->n_running < RUNS_MAX) {
		char **env = r->waiting[r->first];

		r->first = (r->first + 1) % RUNS_WAITING;
		r->n_waiting--;
		r->failed += start(r, env) != 0;
		free_env(env);
	}
	return r->n_running || r->n_waiting;
}

void watch_runs_fini(struct watch_runs *r)
{
	for (; r->n_waiting; r->n_waiting--) {
		free_env(r->waiting[r->first]);
		r->first = (r->first + 1) % RUNS_WAITING;
	}
}
