// SPDX-License-Identifier: Apache-2.0
#include "ops/filecache.h"

#include "base/cleanup.h"
#include "ops/filekey.h"
#include "target/door.h"

#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/*
 * Whether jemalloc was linked in or preloaded follows from the program and its
 * libraries: the pair of both files is what the answer holds for.
 */
struct known_jemalloc {
	struct file_key file;
	uid_t by;
	dev_t exe_dev;
	ino_t exe_inode;
	struct jemalloc je; /* addresses of variables count from the file's lowest mapping */
};

struct plain_file {
	struct file_key file;
	uid_t by;
};

/* For whom an answer is wanted. */
struct asker {
	const struct filecache *c;
	uid_t uid;
};

/*
 * Whoever runs a process may change what it shows of a file. What was seen there
 * holds for processes of the same user, and what root's showed for everybody's.
 */
static bool may_speak(uid_t by, uid_t uid)
{
	return !by || by == uid;
}

static bool stat_exe(pid_t pid, struct stat *st)
{
	_cleanup_(cleanup_close) int exe = door_proc_handle(pid, "exe");

	return exe >= 0 && !fstat(exe, st);
}

static uint64_t lowest_mapping(const struct maps *maps, const struct file_key *key)
{
	for (size_t i = 0; i < maps->n; i++) {
		struct file_key k = file_key_of(&maps->v[i]);

		if (!file_key_compare(&k, key))
			return maps->v[i].start;
	}
	return 0;
}

static const struct known_jemalloc *find_known(const struct filecache *c,
					       const struct file_key *key, const struct stat *exe,
					       uid_t uid)
{
	for (size_t i = 0; i < c->n_known; i++) {
		const struct known_jemalloc *k = &c->known[i];

		if (!file_key_compare(&k->file, key) && k->exe_dev == exe->st_dev &&
		    k->exe_inode == exe->st_ino && may_speak(k->by, uid))
			return k;
	}
	return NULL;
}

/* What is unknown stays so. */
static void move_variables(struct jemalloc *je, uint64_t by)
{
	for (size_t i = 0; i < JEMALLOC_OPTS; i++)
		je->opt[i] += je->opt[i] ? by : 0;
	je->prof_active += je->prof_active ? by : 0;
}

static int compare_plain(const void *a, const void *b)
{
	const struct plain_file *x = a, *y = b;
	int files = file_key_compare(&x->file, &y->file);

	return files ? files : (x->by > y->by) - (x->by < y->by);
}

static bool is_plain(const void *ctx, const struct map *m)
{
	const struct asker *asker = ctx;
	struct plain_file by_user = { file_key_of(m), asker->uid };
	struct plain_file by_root = { by_user.file, 0 };

	return tfind(&by_root, &asker->c->plain, compare_plain) ||
	       tfind(&by_user, &asker->c->plain, compare_plain);
}

void filecache_mark_plain(const struct filecache *c, const struct proc *p, struct images *images,
			  const struct maps *maps)
{
	const struct asker asker = { c, p->status.euid };

	file_mark_plain(images, maps, is_plain, &asker);
}

enum filecache_answer filecache_ask(const struct filecache *c, const struct proc *p,
				    const struct maps *maps, struct jemalloc *je, const char **path)
{
	const struct asker asker = { c, p->status.euid };
	const struct known_jemalloc *hit = NULL;
	struct stat exe = { 0 };

	if (!stat_exe(p->mm_pid, &exe))
		return FILES_UNKNOWN;
	for (size_t i = 0; i < maps->n; i++) {
		struct file_key key = file_key_of(&maps->v[i]);
		const struct known_jemalloc *k;

		if (!file_is_code(&maps->v[i]) || is_plain(&asker, &maps->v[i]))
			continue;
		k = find_known(c, &key, &exe, asker.uid);
		if (!k || (hit && hit != k))
			return FILES_UNKNOWN;
		hit = k;
		*path = maps->v[i].path;
	}
	if (!hit)
		return FILES_PLAIN;
	*je = hit->je;
	move_variables(je, lowest_mapping(maps, &hit->file));
	return FILES_JEMALLOC;
}

static void add_plain(struct filecache *c, const struct proc *p, const struct map *m)
{
	struct plain_file key = { file_key_of(m), p->status.euid }, *kept;

	if (tfind(&key, &c->plain, compare_plain))
		return;
	kept = malloc(sizeof(*kept));
	if (!kept)
		return;
	*kept = key;
	if (!tsearch(kept, &c->plain, compare_plain))
		free(kept);
}

void filecache_add_plain(struct filecache *c, const struct proc *p, const struct images *images,
			 const struct maps *maps)
{
	for (size_t i = 0; i < maps->n; i++) {
		const struct image *img = images_find(images, maps->v[i].start);

		if (file_is_code(&maps->v[i]) && (!img || img->is_plain))
			add_plain(c, p, &maps->v[i]);
	}
}

void filecache_add(struct filecache *c, const struct proc *p, const struct images *images,
		   const struct maps *maps, const struct jemalloc *je)
{
	const struct map *m = maps_find(maps, je->mallctl);
	struct known_jemalloc *bigger;
	struct stat exe;

	if (!m || !m->inode || !stat_exe(p->mm_pid, &exe))
		return;
	bigger = reallocarray(c->known, c->n_known + 1, sizeof(*bigger));
	if (!bigger)
		return;
	c->known = bigger;
	bigger += c->n_known++;
	*bigger = (struct known_jemalloc){
		.file = file_key_of(m),
		.by = p->status.euid,
		.exe_dev = exe.st_dev,
		.exe_inode = exe.st_ino,
		.je = *je,
	};
	move_variables(&bigger->je, -lowest_mapping(maps, &bigger->file));
	bigger->je.image = NULL;
	memset(&bigger->je.text, 0, sizeof(bigger->je.text));
	for (size_t i = 0; i < maps->n; i++) {
		const struct image *img = images_find(images, maps->v[i].start);
		struct file_key key = file_key_of(&maps->v[i]);

		if (file_is_code(&maps->v[i]) && file_key_compare(&key, &bigger->file) &&
		    (!img || img->is_loaded))
			add_plain(c, p, &maps->v[i]);
	}
}

void filecache_fini(struct filecache *c)
{
	tdestroy(c->plain, free);
	free(c->known);
	*c = (struct filecache){ 0 };
}
