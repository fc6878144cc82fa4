// SPDX-License-Identifier: Apache-2.0
#include "ops/ops.h"

#include "base/cleanup.h"
#include "ops/container.h"
#include "ops/pids.h"
#include "target/image.h"
#include "target/maps.h"

#include <errno.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>

/* A file known to hold no jemalloc: most processes are made of such files alone. */
struct plain_file {
	uint32_t dev_major, dev_minor;
	uint64_t inode;
};

struct look {
	const struct ops_list_filter *filter;
	void *plain; /* tsearch(3) tree of struct plain_file */
	struct ops_list list;
	size_t room;
};

static int compare_files(const void *a, const void *b)
{
	const struct plain_file *x = a, *y = b;

	if (x->inode != y->inode)
		return x->inode < y->inode ? -1 : 1;
	if (x->dev_minor != y->dev_minor)
		return x->dev_minor < y->dev_minor ? -1 : 1;
	return (x->dev_major > y->dev_major) - (x->dev_major < y->dev_major);
}

static struct plain_file file_of(const struct map *m)
{
	return (struct plain_file){ m->dev_major, m->dev_minor, m->inode };
}

static bool all_plain(const struct look *look, const struct maps *maps)
{
	for (size_t i = 0; i < maps->n; i++) {
		struct plain_file key = file_of(&maps->v[i]);

		if ((maps->v[i].prot & MAP_X) && key.inode &&
		    !tfind(&key, &look->plain, compare_files))
			return false;
	}
	return true;
}

static void remember_plain(struct look *look, const struct maps *maps)
{
	for (size_t i = 0; i < maps->n; i++) {
		struct plain_file key = file_of(&maps->v[i]), *kept;

		if (!(maps->v[i].prot & MAP_X) || !key.inode ||
		    tfind(&key, &look->plain, compare_files))
			continue;
		kept = malloc(sizeof(*kept));
		if (!kept)
			return;
		*kept = key;
		if (!tsearch(kept, &look->plain, compare_files))
			free(kept);
	}
}

static enum tristate peek_opt_prof(pid_t pid, const struct jemalloc *je)
{
	struct err ignored = ERR_INIT;
	unsigned char value;

	if (!je->opt_prof || proc_read(pid, je->opt_prof, &value, 1, &ignored))
		return TRI_UNKNOWN;
	return value ? TRI_YES : TRI_NO;
}

static int add_row(struct look *look, const struct proc *p, const struct jemalloc *je,
		   struct err *err)
{
	struct ops_list *list = &look->list;
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
				     .opt_prof = peek_opt_prof(p->pid, je),
				     .rss_bytes = p->status.rss_bytes };
	memcpy(row->comm, p->status.comm, sizeof(row->comm));
	memcpy(row->version, je->version, sizeof(row->version));
	memcpy(row->prefix, je->prefix, sizeof(row->prefix));
	container_of_process(p->pid, row->container, sizeof(row->container));
	return 0;
}

static int look_inside(struct look *look, const struct proc *p, const struct maps *maps,
		       struct err *err)
{
	_cleanup_(images_fini) struct images images = { 0 };
	_cleanup_(cleanup_free) struct jemalloc *found = NULL;
	struct err why = ERR_INIT;
	size_t n;

	if (images_read(&images, p->pid, maps, &why)) {
		look->list.unreadable += why.code == ERR_PERM;
		return 0;
	}
	if (jemalloc_find(p, &images, &found, &n, &why)) {
		if (why.code == ERR_NOJEMALLOC)
			remember_plain(look, maps);
		return 0;
	}
	return add_row(look, p, &found[0], err);
}

static bool wanted(const struct ops_list_filter *filter, const struct proc *p)
{
	return (!filter->comm || !strcmp(filter->comm, p->status.comm)) &&
	       (!filter->by_uid || filter->uid == p->status.euid);
}

static int look_at(struct look *look, pid_t pid, struct err *err)
{
	_cleanup_(proc_close) struct proc p = { 0 };
	_cleanup_(maps_fini) struct maps maps = { 0 };
	struct err why = ERR_INIT;

	if (proc_open(&p, pid, &why) || !wanted(look->filter, &p))
		return 0;
	if (maps_read(&maps, pid, &why)) {
		look->list.unreadable += why.code == ERR_PERM;
		return 0;
	}
	if (all_plain(look, &maps))
		return 0;
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
	tdestroy(look.plain, free);
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
