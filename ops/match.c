// SPDX-License-Identifier: Apache-2.0
#include "ops/match.h"

#include "base/cleanup.h"
#include "base/vec.h"
#include "ops/target/container.h"
#include "ops/target/pids.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define COMM_LEN 15 /* what the kernel keeps of a longer name */

int match_pids(pid_t children, pid_t **pids, size_t *n, struct err *err)
{
	_cleanup_(pid_tree_fini) struct pid_tree tree = { 0 };

	if (children ? pid_tree_read(&tree, err) || pid_tree_family(&tree, children, pids, n, err)
		     : pids_read(pids, n, err))
		return -1;
	for (size_t i = 0; i < *n; i++) {
		if ((*pids)[i] == getpid()) {
			vec_remove(*pids, *n, i);
			break;
		}
	}
	return 0;
}

bool match_wants(const struct ops_filter *filter, const struct proc *p, const char *cgroup)
{
	if (filter->comm && strncmp(filter->comm, p->status.comm, COMM_LEN) != 0)
		return false;
	if (filter->by_uid && filter->uid != p->status.euid)
		return false;
	return !filter->cgroup || cgroup_holds(cgroup, filter->cgroup);
}

/* Remembers the container that matches the given digits of an id: two would be a mistake. */
static int same_container(const struct ops_filter *filter, const char *cgroup,
			  char first[CONTAINER_ID_LEN + 1], struct err *err)
{
	char id[CONTAINER_ID_LEN + 1], both[2 * sizeof(id)];

	if (!filter->cgroup || !container_matches(cgroup, filter->cgroup, id))
		return 0;
	if (!*first)
		memcpy(first, id, sizeof(id));
	if (!strcmp(first, id))
		return 0;
	snprintf(both, sizeof(both), "%s %s", first, id);
	err_raise(err, ERROR_CONTAINER_AMBIGUOUS, .name = filter->cgroup, .text = both);
	return err_advise(err, FIX_GIVE_MORE_DIGITS);
}

int ops_match(const struct ops_filter *filter, struct ops_matches *out, struct err *err)
{
	_cleanup_(ops_match_fini) struct ops_matches found = { 0 };
	_cleanup_(cleanup_free) pid_t *pids = NULL;
	char cgroup[PROC_CGROUP_SIZE], container[CONTAINER_ID_LEN + 1] = "";
	size_t n, room = 0;

	if (match_pids(filter->children, &pids, &n, err))
		return -1;
	for (size_t i = 0; i < n; i++) {
		_cleanup_(proc_close) struct proc p = { 0 };
		struct err ended;
		struct ops_match *m;

		if (proc_open(&p, pids[i], &ended))
			continue;
		proc_cgroup(p.pid, cgroup, sizeof(cgroup));
		if (!match_wants(filter, &p, cgroup))
			continue;
		if (same_container(filter, cgroup, container, err))
			return -1;
		if (!vec_grow(found.v, room, found.n))
			return err_no_memory(err);
		m = &found.v[found.n++];
		*m = (struct ops_match){ .pid = p.pid, .start_time = p.start_time };
		memcpy(m->comm, p.status.comm, sizeof(m->comm));
	}
	found.all = found.n;
	*out = found;
	found = (struct ops_matches){ 0 };
	return 0;
}

int ops_match_jemalloc(struct ops_matches *matches, bool debuginfod, int stop_fd, struct err *err)
{
	_cleanup_(ops_list_fini) struct ops_list list = { 0 };
	_cleanup_(cleanup_free) pid_t *pids = calloc(matches->n + 1, sizeof(*pids));
	const struct ops_list_request request = {
		.debuginfod = debuginfod, .stop_fd = stop_fd, .only = pids, .n_only = matches->n
	};
	size_t n = 0, at = 0;

	if (!pids)
		return err_no_memory(err);
	for (size_t i = 0; i < matches->n; i++)
		pids[i] = matches->v[i].pid;
	if (ops_list(&request, &list, err))
		return -1;
	/* Both are by pid. */
	for (size_t i = 0; i < matches->n; i++) {
		while (at < list.n && list.v[at].pid < matches->v[i].pid)
			at++;
		if (at < list.n && list.v[at].pid == matches->v[i].pid)
			matches->v[n++] = matches->v[i];
	}
	matches->n = n;
	matches->unseen = list.unreadable + list.unanswered + list.missed;
	return 0;
}

void ops_match_fini(struct ops_matches *matches)
{
	free(matches->v);
	*matches = (struct ops_matches){ 0 };
}
