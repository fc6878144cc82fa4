// SPDX-License-Identifier: Apache-2.0
#include "ops/guard/group.h"

#include "base/cleanup.h"
#include "base/vec.h"
#include "process/cgroup.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define WINDOW_US UINT64_C(2000000)
#define MACHINE_PRESSURE "/proc/pressure/memory"

static void group_free(struct group *g, size_t n_rules)
{
	for (size_t i = 0; g->fds && i < n_rules; i++)
		cleanup_close(&g->fds[i]);
	free(g->fds);
	free(g->counts);
	free(g->memory);
	free(g->folder);
	free(g->shown);
	free(g);
}

void groups_give(struct groups *g, struct group *group)
{
	if (!group || --group->users)
		return;
	for (size_t i = 0; i < g->n; i++) {
		if (g->v[i] == group) {
			g->v[i] = g->v[--g->n];
			break;
		}
	}
	group_free(group, g->n_rules);
}

void groups_fini(struct groups *g)
{
	for (size_t i = 0; i < g->n; i++)
		group_free(g->v[i], g->n_rules);
	free(g->v);
	*g = (struct groups){ 0 };
}

/* --- its events --- */

/* With its '\0' (Documentation/accounting/psi.rst). */
static bool set_trigger(int fd, uint64_t stall_us, uint64_t window_us)
{
	char text[64];
	int len = snprintf(text, sizeof(text), "some %" PRIu64 " %" PRIu64, stall_us, window_us);

	return write(fd, text, (size_t)len + 1) == len + 1;
}

/*
 * Closing it ends the trigger. -1: the kernel does not support it. Without CAP_SYS_RESOURCE a
 * window must be 2 seconds, or a multiple (Linux 6.5): then it is made longer, and the stall in
 * proportion.
 */
static int open_pressure(const struct group *g, const struct guard_rule *rule)
{
	_cleanup_(cleanup_close) int fd = -1;
	uint64_t window_us = (rule->window_us + WINDOW_US - 1) / WINDOW_US * WINDOW_US;
	char path[PATH_MAX + 32];

	snprintf(path, sizeof(path), "%s/memory.pressure", g->folder ? g->folder : "");
	fd = open(g->folder ? path : MACHINE_PRESSURE, O_RDWR | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0 || (!set_trigger(fd, rule->stall_us, rule->window_us) &&
		       !set_trigger(fd, rule->stall_us * window_us / rule->window_us, window_us)))
		return -1;
	return take_fd(fd);
}

static int open_events(struct group *g, size_t which, const struct guard_rule *rule)
{
	_cleanup_(cleanup_close) int fd = -1;
	char path[PATH_MAX + 32], text[512];

	if (!g->folder)
		return -1;
	snprintf(path, sizeof(path), "%s/memory.events", g->folder);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	/* Events after this read wake poll(2). */
	if (fd < 0 || read(fd, text, sizeof(text)) <= 0)
		return -1;
	cgroup_keyed(g->folder, "memory.events", guard_event_key(rule->event), &g->counts[which]);
	return take_fd(fd);
}

/* Opens what is not open yet, or no longer: another group may have that name by now. */
static void listen(struct group *g, const struct guard_rule *rules, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (g->fds[i] >= 0)
			continue;
		if (rules[i].kind == GUARD_PSI)
			g->fds[i] = open_pressure(g, &rules[i]);
		else if (rules[i].kind == GUARD_EVENT)
			g->fds[i] = open_events(g, i, &rules[i]);
	}
}

bool group_sees(const struct group *group, size_t rule)
{
	return group->fds[rule] >= 0;
}

bool group_told(struct group *group, const struct guard_rule *rule, size_t which, short revents)
{
	uint64_t before = group->counts[which];
	char text[512];

	if (rule->kind == GUARD_PSI && !(revents & POLLERR))
		return true;
	/* A file of events has POLLERR after each event (kernfs_generic_poll()). */
	if (rule->kind == GUARD_EVENT && pread(group->fds[which], text, sizeof(text), 0) > 0) {
		cgroup_keyed(group->folder, "memory.events", guard_event_key(rule->event),
			     &group->counts[which]);
		return group->counts[which] > before;
	}
	cleanup_close(&group->fds[which]);
	group->fds[which] = -1;
	return false;
}

/* --- finding it --- */

bool group_read(struct group *group)
{
	return group->folder ? limit_of_folder(group->folder, &group->limit)
			     : limit_of_machine(&group->limit);
}

static struct group *make(const struct groups *g, const char *folder)
{
	struct group *new = calloc(1, sizeof(*new));
	char shown[PATH_MAX];

	if (!new)
		return NULL;
	*new = (struct group){
		.folder = folder ? strdup(folder) : NULL,
		.shown = folder ? strdup(cgroup_shown(folder, shown, sizeof(shown))) : NULL,
		.memory = calloc(g->n_rules, sizeof(*new->memory)),
		.fds = malloc(g->n_rules * sizeof(*new->fds)),
		.counts = calloc(g->n_rules, sizeof(*new->counts)),
	};
	for (size_t i = 0; new->fds &&i < g->n_rules; i++)
		new->fds[i] = -1;
	if ((!folder || (new->folder &&new->shown)) && new->memory &&new->fds &&new->counts)
		return new;
	group_free(new, g->n_rules);
	return NULL;
}

static int take(struct groups *g, const char *folder, struct group **out, struct err *err)
{
	struct group *new;

	for (size_t i = 0; i < g->n; i++) {
		const char *its = g->v[i]->folder;

		if (its && folder ? !strcmp(its, folder) : its == folder) {
			*out = g->v[i];
			(*out)->users++;
			listen(*out, g->rules, g->n_rules);
			return 0;
		}
	}
	if (!vec_grow(g->v, g->room, g->n))
		return err_no_memory(err);
	new = make(g, folder);
	if (!new)
		return err_no_memory(err);
	listen(new, g->rules, g->n_rules);
	new->users = 1;
	*out = g->v[g->n++] = new;
	return 0;
}

struct own {
	char folder[PATH_MAX];
	bool found;
};

static void take_first(void *ctx, const char *folder)
{
	struct own *o = ctx;
	char path[PATH_MAX + 32];

	snprintf(path, sizeof(path), "%s/memory.pressure", folder);
	if (o->found || access(path, F_OK))
		return;
	snprintf(o->folder, sizeof(o->folder), "%s", folder);
	o->found = true;
}

int groups_take(struct groups *g, pid_t pid, struct group **limit, struct group **own,
		struct err *err)
{
	struct own mine = { .found = false };
	char folder[PATH_MAX];
	struct limit l;
	bool limited = limit_of_cgroup_high(pid, &l, folder);

	if (take(g, limited ? folder : NULL, limit, err))
		return -1;
	cgroup_each(pid, "memory", take_first, &mine);
	return take(g, mine.found ? mine.folder : NULL, own, err);
}
