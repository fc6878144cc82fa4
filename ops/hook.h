// SPDX-License-Identifier: Apache-2.0
/*
 * Private to ops/: a command of the user's for each thing that happened. What is known of it stands
 * in the command's environment and nowhere else, so that no name can become a part of the command.
 */
#ifndef OPS_HOOK_H
#define OPS_HOOK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

/* --- an environment: ours, and JEPROF_CTL_NAME=value for each that is set --- */

struct hook_env {
	char **v; /* NULL without memory: hook_set() does nothing then */
	size_t n, room;
};

void hook_env_begin(struct hook_env *env);
/* NULL is "". */
void hook_set(struct hook_env *env, const char *name, const char *value);
void hook_set_number(struct hook_env *env, const char *name, uint64_t value);
/* In UTC, to the microsecond. */
void hook_set_time(struct hook_env *env, const char *name, const struct timespec *time);

/* --- the commands --- */

#define HOOKS_MAX 8 /* at once */
#define HOOKS_WAITING 256

struct hooks {
	const char *command; /* for /bin/sh -c; or NULL, and */
	const char *program; /* by its path, or found in PATH, without arguments; both NULL: none */
	pid_t running[HOOKS_MAX];
	size_t n_running;
	char **waiting[HOOKS_WAITING]; /* environments, the oldest first from `first` on */
	size_t first, n_waiting;
	uint64_t skipped; /* that found no place to wait */
	uint64_t failed;  /* could not be started, or did not end with status 0 */
};

/* Is there a command at all? */
static inline bool hooks_wanted(const struct hooks *h)
{
	return h->command || h->program;
}

/* Run it with this environment, which is taken over, or let that wait. */
void hook_run(struct hooks *h, struct hook_env *env);

/* Note which have ended, and start those that wait. True while any runs or waits. */
bool hooks_go_on(struct hooks *h);

/*
 * Wait for those that run or wait, until `stop_fd` is readable (base/signals.h): once more, if it
 * is already.
 */
void hooks_finish(struct hooks *h, int stop_fd);
#define HOOKS_POLL_MS 50 /* how often to ask whether they have ended */

/* Forget those that wait; those that run go on without us. */
void hooks_fini(struct hooks *h);

#endif
