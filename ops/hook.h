// SPDX-License-Identifier: Apache-2.0
/*
 * Private to ops/: runs a command of the user for each event. The event is passed in the command's
 * environment and nowhere else, so that no name can become a part of the command.
 */
#ifndef OPS_HOOK_H
#define OPS_HOOK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

/* --- an environment: ours, and JEPROF_CTL_NAME=value for each value that is set --- */

struct hook_env {
	char **v; /* NULL when out of memory: hook_set() then does nothing */
	size_t n, room;
};

void hook_env_begin(struct hook_env *env);
/* NULL means "". */
void hook_set(struct hook_env *env, const char *name, const char *value);
void hook_set_number(struct hook_env *env, const char *name, uint64_t value);
/* In UTC, to the microsecond. */
void hook_set_time(struct hook_env *env, const char *name, const struct timespec *time);

/* --- the commands --- */

#define HOOKS_MAX 8 /* at a time */
#define HOOKS_WAITING 256

struct hooks {
	const char *command; /* for /bin/sh -c; or NULL */
	const char *program; /* a path, or found in PATH, without arguments; both NULL: none */
	pid_t running[HOOKS_MAX];
	size_t n_running;
	char **waiting[HOOKS_WAITING]; /* environments, the oldest at `first` */
	size_t first, n_waiting;
	uint64_t skipped; /* for lack of a place to wait */
	uint64_t failed;  /* could not be started, or did not exit with status 0 */
};

/* Is there a command at all? */
static inline bool hooks_wanted(const struct hooks *h)
{
	return h->command || h->program;
}

/* Run it with this environment, of which it takes ownership, or make it wait. */
void hook_run(struct hooks *h, struct hook_env *env);

/* Reap commands that have ended, and start waiting ones. True while any runs or waits. */
bool hooks_go_on(struct hooks *h);

/*
 * Wait for running and waiting commands, until `stop_fd` is readable (base/signals.h): once more,
 * if it already is.
 */
void hooks_finish(struct hooks *h, int stop_fd);
#define HOOKS_POLL_MS 50 /* interval for checking whether they have ended */

/* Drop waiting commands; running ones continue without us. */
void hooks_fini(struct hooks *h);

#endif
