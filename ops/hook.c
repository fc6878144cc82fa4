// SPDX-License-Identifier: Apache-2.0
#include "ops/hook.h"

#include "base/cleanup.h"
#include "base/spawn.h"
#include "base/text.h"
#include "base/vec.h"

#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define PREFIX "JEPROF_CTL_"
#define SHELL "/bin/sh"

extern char **environ;

static void free_env(char **env)
{
	for (char **e = env; env && *e; e++)
		free(*e);
	free(env);
}

/* --- the environment --- */

static void forget(struct hook_env *env)
{
	free_env(env->v);
	*env = (struct hook_env){ 0 };
}

/* Takes ownership of `text`; NULL: out of memory. There is room for the final NULL. */
static void add(struct hook_env *env, char *text)
{
	if (!env->v || !text || !vec_room(env->v, env->room, env->n, 2)) {
		free(text);
		forget(env);
		return;
	}
	env->v[env->n++] = text;
	env->v[env->n] = NULL;
}

void hook_env_begin(struct hook_env *env)
{
	*env = (struct hook_env){ .v = calloc(1, sizeof(*env->v)), .room = 1 };
	for (char **e = environ; *e; e++) {
		if (!text_begins(*e, PREFIX))
			add(env, strdup(*e));
	}
}

void hook_set(struct hook_env *env, const char *name, const char *value)
{
	char *text;

	add(env, asprintf(&text, PREFIX "%s=%s", name, value ? value : "") < 0 ? NULL : text);
}

void hook_set_number(struct hook_env *env, const char *name, uint64_t value)
{
	char text[24];

	snprintf(text, sizeof(text), "%" PRIu64, value);
	hook_set(env, name, text);
}

void hook_set_time(struct hook_env *env, const char *name, const struct timespec *time)
{
	char date[32], text[64];
	struct tm tm;

	strftime(date, sizeof(date), "%Y-%m-%dT%H:%M:%S", gmtime_r(&time->tv_sec, &tm));
	snprintf(text, sizeof(text), "%s.%06ldZ", date, time->tv_nsec / 1000);
	hook_set(env, name, text);
}

/* --- the commands --- */

void hook_run(struct hooks *h, struct hook_env *env)
{
	if (h->n_waiting == HOOKS_WAITING) {
		h->skipped++;
		forget(env);
		return;
	}
	if (!env->v) {
		h->failed++;
		return;
	}
	h->waiting[(h->first + h->n_waiting++) % HOOKS_WAITING] = env->v;
	*env = (struct hook_env){ 0 };
	hooks_go_on(h);
}

bool hooks_go_on(struct hooks *h)
{
	char *const shell[] = { (char *)"sh", (char *)"-c", (char *)h->command, NULL };
	char *const program[] = { (char *)h->program, NULL };

	for (size_t i = 0; i < h->n_running;) {
		int status = 0;
		pid_t got = waitpid(h->running[i], &status, WNOHANG);

		if (!got) {
			i++;
			continue;
		}
		h->failed += got < 0 || status != 0;
		h->running[i] = h->running[--h->n_running];
	}
	while (h->n_waiting && h->n_running < HOOKS_MAX) {
		char **env = h->waiting[h->first];
		/* No input, and its output goes to stderr. */
		const struct spawn s = { .program = h->command ? SHELL : h->program,
					 .argv = h->command ? shell : program,
					 .env = env,
					 .in = -1,
					 .out = 2,
					 .err = 2 };
		pid_t pid;

		h->first = (h->first + 1) % HOOKS_WAITING;
		h->n_waiting--;
		if (spawn(&s, &pid))
			h->failed++;
		else
			h->running[h->n_running++] = pid;
		free_env(env);
	}
	return h->n_running || h->n_waiting;
}

void hooks_finish(struct hooks *h, int stop_fd)
{
	struct pollfd fd = { .fd = stop_fd, .events = POLLIN };
	char signals[4096];

	if (!hooks_wanted(h))
		return;
	if (poll(&fd, 1, 0) > 0)
		(void)!read(stop_fd, signals, sizeof(signals));
	while (hooks_go_on(h) && poll(&fd, 1, HOOKS_POLL_MS) <= 0)
		;
}

void hooks_fini(struct hooks *h)
{
	for (; h->n_waiting; h->n_waiting--) {
		free_env(h->waiting[h->first]);
		h->first = (h->first + 1) % HOOKS_WAITING;
	}
}
