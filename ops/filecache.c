// SPDX-License-Identifier: Apache-2.0
#include "ops/filecache.h"

#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct file_key {
	uint32_t dev_major, dev_minor;
	uint64_t inode;
};

/*
 * Whether jemalloc was linked in or preloaded follows from the program and its
 * libraries: the pair of both files is what the answer holds for.
 */
struct known_jemalloc {
	struct file_key file;
	dev_t exe_dev;
	ino_t exe_inode;
	struct jemalloc je; /* addresses of variables count from the file's lowest mapping */
};

static int compare(const void *a, const void *b)
{
	const struct file_key *x = a, *y = b;

	if (x->inode != y->inode)
		return x->inode < y->inode ? -1 : 1;
	if (x->dev_minor != y->dev_minor)
		return x->dev_minor < y->dev_minor ? -1 : 1;
	return (x->dev_major > y->dev_major) - (x->dev_major < y->dev_major);
}

static struct file_key key_of(const struct map *m)
{
	return (struct file_key){ m->dev_major, m->dev_minor, m->inode };
}

static bool is_code(const struct map *m)
{
	return (m->prot & MAP_X) && m->inode;
}

static bool stat_exe(pid_t pid, struct stat *st)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/exe", pid);
	return !stat(path, st);
}

static uint64_t lowest_mapping(const struct maps *maps, const struct file_key *key)
{
	for (size_t i = 0; i < maps->n; i++) {
		struct file_key k = key_of(&maps->v[i]);

		if (!compare(&k, key))
			return maps->v[i].start;
	}
	return 0;
}

static const struct known_jemalloc *find_known(const struct filecache *c,
					       const struct file_key *key, const struct stat *exe)
{
	for (size_t i = 0; i < c->n_known; i++) {
		const struct known_jemalloc *k = &c->known[i];

		if (!compare(&k->file, key) && k->exe_dev == exe->st_dev &&
		    k->exe_inode == exe->st_ino)
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

enum filecache_answer filecache_ask(const struct filecache *c, const struct proc *p,
				    const struct maps *maps, struct jemalloc *je, const char **path)
{
	const struct known_jemalloc *hit = NULL;
	struct stat exe = { 0 };

	if (!stat_exe(p->mm_pid, &exe))
		return FILES_UNKNOWN;
	for (size_t i = 0; i < maps->n; i++) {
		struct file_key key = key_of(&maps->v[i]);
		const struct known_jemalloc *k;

		if (!is_code(&maps->v[i]) || tfind(&key, &c->plain, compare))
			continue;
		k = find_known(c, &key, &exe);
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

static void add_plain(struct filecache *c, const struct map *m)
{
	struct file_key key = key_of(m), *kept;

	if (tfind(&key, &c->plain, compare))
		return;
	kept = malloc(sizeof(*kept));
	if (!kept)
		return;
	*kept = key;
	if (!tsearch(kept, &c->plain, compare))
		free(kept);
}

void filecache_add_plain(struct filecache *c, const struct maps *maps)
{
	for (size_t i = 0; i < maps->n; i++) {
		if (is_code(&maps->v[i]))
			add_plain(c, &maps->v[i]);
	}
}

void filecache_add(struct filecache *c, const struct proc *p, const struct maps *maps,
		   const struct jemalloc *je)
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
		.file = key_of(m), .exe_dev = exe.st_dev, .exe_inode = exe.st_ino, .je = *je
	};
	move_variables(&bigger->je, -lowest_mapping(maps, &bigger->file));
	bigger->je.image = NULL;
	memset(&bigger->je.text, 0, sizeof(bigger->je.text));
	for (size_t i = 0; i < maps->n; i++) {
		struct file_key key = key_of(&maps->v[i]);

		if (is_code(&maps->v[i]) && compare(&key, &bigger->file))
			add_plain(c, &maps->v[i]);
	}
}

void filecache_fini(struct filecache *c)
{
	tdestroy(c->plain, free);
	free(c->known);
	*c = (struct filecache){ 0 };
}
