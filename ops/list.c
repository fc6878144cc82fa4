// SPDX-License-Identifier: Apache-2.0
#include "ops/ops.h"

#include "base/cleanup.h"
#include "ops/container.h"
#include "ops/filecache.h"
#include "ops/pids.h"
#include "target/image.h"
#include "target/maps.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct look {
	const struct ops_list_filter *filter;
	struct filecache files;
	struct ops_list list;
	size_t room;
};

static int add_row(struct look *look, const struct proc *p, const struct jemalloc *je,
		   const char *image, struct err *err)
{
	struct ops_list *list = &look->list;
	char cgroup[PROC_CGROUP_SIZE];
	struct ops_process *row;

	if (list->n == look->room) {
		size_t room = look->room ? look->room * 2 : 64;

		row = reallocarray(list->v, room, sizeof(*row));
		if (!row)
			return err_sys(err, ERR_FAILED, ENOMEM, "cannot list the processes");
		list->v = row;
		look->room = room;
	}
	row = &list->v[list->n++];
	*row = (struct ops_process){ .pid = p->pid,
				     .uid = p->status.euid,
				     .linkage = je->linkage,
				     .config_prof = je->config_prof,
				     .opt_prof = jemalloc_peek(p, je->opt[OPT_PROF]),
				     .prof_active = jemalloc_peek(p, je->prof_active),
				     .rss_bytes = p->status.rss_bytes };
	for (unsigned int i = 0; i < JEMALLOC_OPTS; i++)
		row->opts[i].known = jemalloc_peek_opt(p, je, i, &row->opts[i].value);
	snprintf(row->image, sizeof(row->image), "%s", image);
	memcpy(row->comm, p->status.comm, sizeof(row->comm));
	memcpy(row->version, je->version, sizeof(row->version));
	memcpy(row->prefix, je->prefix, sizeof(row->prefix));
	proc_cgroup(p->pid, cgroup, sizeof(cgroup));
	container_parse(cgroup, row->container, sizeof(row->container));
	return 0;
}

static int look_inside(struct look *look, const struct proc *p, const struct maps *maps,
		       struct err *err)
{
	_cleanup_(images_fini) struct images images = { 0 };
	_cleanup_(cleanup_free) struct jemalloc *found = NULL;
	struct err why = ERR_INIT;
	size_t n;

	if (images_read(&images, p->mm_pid, maps, &why)) {
		look->list.unreadable += why.code == ERR_PERM;
		return 0;
	}
	images.ask_debuginfod = look->filter->debuginfod;
	filecache_mark_plain(&look->files, p, &images, maps);
	if (jemalloc_find(p, &images, &found, &n, &why)) {
		if (why.code == ERR_NOJEMALLOC)
			filecache_add_plain(&look->files, p, &images, maps);
		return 0;
	}
	for (size_t i = 0; i < n; i++)
		jemalloc_find_opts(&found[i], p->mm_pid);
	if (n == 1)
		filecache_add(&look->files, p, &images, maps, &found[0]);
	for (size_t i = 0; i < n; i++) {
		if (add_row(look, p, &found[i], found[i].image->path, err))
			return -1;
	}
	return 0;
}

static bool wanted(const struct ops_list_filter *filter, const struct proc *p)
{
	char cgroup[PROC_CGROUP_SIZE];

	if ((filter->comm && strcmp(filter->comm, p->status.comm) != 0) ||
	    (filter->by_uid && filter->uid != p->status.euid))
		return false;
	if (!filter->cgroup)
		return true;
	proc_cgroup(p->pid, cgroup, sizeof(cgroup));
	return cgroup_holds(cgroup, filter->cgroup);
}

static int look_at(struct look *look, pid_t pid, struct err *err)
{
	_cleanup_(proc_close) struct proc p = { 0 };
	_cleanup_(maps_fini) struct maps maps = { 0 };
	struct err why = ERR_INIT;
	struct jemalloc je;
	const char *image;

	if (proc_open(&p, pid, &why) || !wanted(look->filter, &p))
		return 0;
	if (maps_read(&maps, p.mm_pid, &why)) {
		look->list.unreadable += why.code == ERR_PERM;
		return 0;
	}
	switch (filecache_ask(&look->files, &p, &maps, &je, &image)) {
	case FILES_PLAIN:
		return 0;
	case FILES_JEMALLOC:
		return add_row(look, &p, &je, image, err);
	case FILES_UNKNOWN:
		break;
	}
	return look_inside(look, &p, &maps, err);
}

int ops_list(const struct ops_list_filter *filter, struct ops_list *out, struct err *err)
{
	_cleanup_(cleanup_free) pid_t *pids = NULL;
	struct look look = { .filter = filter };
	int ret = 0;
	size_t n;

	if (pids_read(&pids, &n, err))
		return -1;
	for (size_t i = 0; i < n && !ret; i++)
		ret = look_at(&look, pids[i], err);
	filecache_fini(&look.files);
	if (ret) {
		ops_list_fini(&look.list);
		return -1;
	}
	*out = look.list;
	return 0;
}

void ops_list_fini(struct ops_list *list)
{
	free(list->v);
	*list = (struct ops_list){ 0 };
}
