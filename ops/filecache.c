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
#include <sys/sysmacros.h>

struct file_said {
	struct file_key key; /* first: what the tree compares */
	dev_t dev;
	ino_t inode;
	bool is_exact;
	enum jemalloc_file_holds holds;
	struct jemalloc_file *file;
	unsigned int note;
};

static void said_free(void *arg)
{
	struct file_said *e = arg;

	jemalloc_file_free(e->file);
	free(e);
}

static bool is_exact(const struct map *m, const struct stat *st)
{
	return st->st_ino == m->inode && major(st->st_dev) == m->dev_major &&
	       minor(st->st_dev) == m->dev_minor;
}

/* What is not known of a file is not kept: the next process may show it better. */
static struct file_said *learn(struct filecache *c, const struct proc *p, const struct map *m)
{
	const struct jemalloc_file_look look = { p->mm_pid, m, c->dumps, c->debuginfod };
	struct file_said got = { .key = file_key_of(m) }, *kept;
	struct stat st;

	got.holds = jemalloc_file_read(&got.file, &look, &st);
	kept = got.holds != JEMALLOC_FILE_UNKNOWN ? malloc(sizeof(*kept)) : NULL;
	if (!kept) {
		jemalloc_file_free(got.file);
		return NULL;
	}
	got.dev = st.st_dev;
	got.inode = st.st_ino;
	got.is_exact = is_exact(m, &st);
	*kept = got;
	if (tsearch(kept, &c->files, file_key_compare))
		return kept;
	said_free(kept);
	return NULL;
}

static bool is_link(const struct proc *p, const char *name, const struct file_said *e)
{
	_cleanup_(cleanup_close) int fd = door_proc_handle(p->mm_pid, name);
	struct stat st;

	return fd >= 0 && !fstat(fd, &st) && st.st_dev == e->dev && st.st_ino == e->inode;
}

/* Is it the file of this mapping, too, where maps does not tell? */
static bool is_same(const struct file_said *e, const struct proc *p, const struct map *m)
{
	char name[64];

	if (e->is_exact)
		return true;
	snprintf(name, sizeof(name), "map_files/%llx-%llx", (unsigned long long)m->start,
		 (unsigned long long)m->end);
	return is_link(p, name, e);
}

static struct file_said *find(struct filecache *c, const struct proc *p, const struct map *m)
{
	struct file_key key = file_key_of(m);
	void *hit = tfind(&key, &c->files, file_key_compare);
	struct file_said *e = hit ? *(struct file_said *const *)hit : learn(c, p, m);

	return e && is_same(e, p, m) ? e : NULL;
}

struct known_file filecache_know(struct filecache *c, const struct proc *p, const struct map *m)
{
	struct file_said *e = find(c, p, m);

	if (!e)
		return (struct known_file){ .holds = JEMALLOC_FILE_UNKNOWN };
	return (struct known_file){ e->holds, e->file, &e->note, e->is_exact };
}

enum filecache_answer filecache_ask(struct filecache *c, const struct proc *p,
				    const struct maps *maps, struct jemalloc *je, const char **path)
{
	const struct file_said *hit = NULL;

	for (size_t i = 0; i < maps->n; i++) {
		const struct map *m = &maps->v[i];
		const struct file_said *e;

		if (!file_is_code(m))
			continue;
		e = find(c, p, m);
		if (!e)
			return FILES_UNKNOWN;
		if (e == hit || e->holds != JEMALLOC_FILE_SOME ||
		    !jemalloc_file_is_loaded(e->file, maps, m))
			continue;
		if (hit || !jemalloc_file_only(e->file, m, je))
			return FILES_UNKNOWN;
		hit = e;
		*path = m->path;
	}
	if (!hit)
		return FILES_PLAIN;
	je->linkage = jemalloc_linkage_in(p->mm_pid, *path, is_link(p, "exe", hit));
	return FILES_JEMALLOC;
}

struct asker {
	struct filecache *c;
	const struct proc *p;
};

static bool is_plain(const void *ctx, const struct map *m)
{
	const struct asker *asker = ctx;
	const struct file_said *e = find(asker->c, asker->p, m);

	return e && e->holds == JEMALLOC_FILE_NONE;
}

void filecache_mark_plain(struct filecache *c, const struct proc *p, struct images *images,
			  const struct maps *maps)
{
	const struct asker asker = { c, p };

	file_mark_plain(images, maps, is_plain, &asker);
}

void filecache_fini(struct filecache *c)
{
	tdestroy(c->files, said_free);
	c->files = NULL;
}
