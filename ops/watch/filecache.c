// SPDX-License-Identifier: Apache-2.0
#include "ops/watch/filecache.h"

#include "base/cleanup.h"
#include "base/pack.h"
#include "base/text.h"
#include "elf/usdt.h"
#include "ops/sample/end_guard.h"
#include "sandbox/confined.h"
#include "sandbox/door.h"

#include <fcntl.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

/* --- keys --- */

static struct file_key file_key_of(const struct map *m)
{
	return (struct file_key){ m->dev_major, m->dev_minor, m->inode };
}

/* For tsearch(3), on keys or structs that begin with one. */
static int file_key_compare(const void *a, const void *b)
{
	const struct file_key *x = a, *y = b;

	if (x->inode != y->inode)
		return x->inode < y->inode ? -1 : 1;
	if (x->dev_minor != y->dev_minor)
		return x->dev_minor < y->dev_minor ? -1 : 1;
	return (x->dev_major > y->dev_major) - (x->dev_major < y->dev_major);
}

bool file_is_code(const struct map *m)
{
	return (m->prot & MAP_X) && m->inode;
}

/* --- files --- */

struct file_said {
	struct file_key key; /* first: compared by the tree */
	dev_t dev;
	ino_t inode;
	bool is_exact, emits;
	enum jemalloc_file_holds holds;
	struct jemalloc_file *file;
	unsigned int note;
	int handle; /* kept if something in the file may be probed */
};

static void said_free(void *arg)
{
	struct file_said *e = arg;

	jemalloc_file_free(e->file);
	cleanup_close(&e->handle);
	free(e);
}

static bool is_exact(const struct map *m, const struct stat *st)
{
	return st->st_ino == m->inode && major(st->st_dev) == m->dev_major &&
	       minor(st->st_dev) == m->dev_minor;
}

/* --- in a child of its own --- */

#define ANSWER_MAX ((size_t)1 << 20)
#define PATIENCE_MS 5000

static void read_file(void *ctx)
{
	_cleanup_(pack_fini) struct pack p = { 0 };
	struct jemalloc_file *file = NULL;
	enum jemalloc_file_holds holds;
	struct stat st;

	holds = jemalloc_file_read(&file, ctx, &st);
	jemalloc_file_pack(holds, file, &p);
	jemalloc_file_free(file);
	confined_reply(false, NULL, &p, -1);
}

/* What the kernel knows of it without asking its file system. */
static bool look_at_handle(int handle, struct stat *st)
{
	struct statx stx;

	if (statx(handle, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_INO, &stx))
		return false;
	st->st_dev = makedev(stx.stx_dev_major, stx.stx_dev_minor);
	st->st_ino = stx.stx_ino;
	return true;
}

static enum jemalloc_file_holds read_confined(struct jemalloc_file **file,
					      const struct jemalloc_file_look *look,
					      struct stat *st, int *kept)
{
	_cleanup_(cleanup_close) int handle = -1;
	_cleanup_(confined_end) struct confined child = CONFINED_INIT;
	struct confined_options options = { .what = "look at a file" };
	enum jemalloc_file_holds holds = JEMALLOC_FILE_UNKNOWN;
	struct err ignored;
	struct unpack u;
	char name[MAP_FILE_NAME_SIZE];

	handle = door_proc_handle(look->pid, map_file_name(look->map->start, look->map->end, name));
	if (handle < 0 || !look_at_handle(handle, st))
		return holds;
	options.policy = (struct door_policy){ .pid = look->pid,
					       .debuginfod = look->debuginfod,
					       .has_handle = true,
					       .handle = handle };
	if (!confined_start(&child, &options, read_file, (void *)look, &ignored) &&
	    !confined_answer(&child, PATIENCE_MS, ANSWER_MAX, &u, NULL, &ignored))
		holds = jemalloc_file_unpack(file, &u);
	if (holds == JEMALLOC_FILE_SOME)
		*kept = take_fd(handle);
	return holds;
}

static struct file_said *learn(struct filecache *c, const struct proc *p, const struct map *m)
{
	const struct jemalloc_file_look look = { .pid = p->mm_pid,
						 .map = m,
						 .dumps = c->dumps,
						 .events = c->events,
						 .debuginfod = c->debuginfod };
	struct file_said got = { .key = file_key_of(m), .handle = -1 }, *kept;
	struct stat st = { 0 };

	got.holds = c->confined ? read_confined(&got.file, &look, &st, &got.handle)
				: jemalloc_file_read(&got.file, &look, &st);
	/* If a file could not be read once, in a child of its own, it is not tried again. */
	kept = got.holds != JEMALLOC_FILE_UNKNOWN || (c->confined && st.st_ino)
		       ? malloc(sizeof(*kept))
		       : NULL;
	if (!kept) {
		jemalloc_file_free(got.file);
		cleanup_close(&got.handle);
		return NULL;
	}
	got.dev = st.st_dev;
	got.inode = st.st_ino;
	got.is_exact = is_exact(m, &st);
	got.emits = c->emitters && usdt_in_mapped(p->mm_pid, m, "otel_memory");
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

	return fd >= 0 && look_at_handle(fd, &st) && st.st_dev == e->dev && st.st_ino == e->inode;
}

static struct file_said *find(struct filecache *c, const struct proc *p, const struct map *m)
{
	struct file_key key = file_key_of(m);
	void *hit = tfind(&key, &c->files, file_key_compare);
	struct file_said *e = hit ? *(struct file_said *const *)hit : learn(c, p, m);
	char name[MAP_FILE_NAME_SIZE];

	if (!e || e->is_exact)
		return e;
	/* Is it the file of this mapping, too, if maps does not show it? */
	return is_link(p, map_file_name(m->start, m->end, name), e) ? e : NULL;
}

struct known_file filecache_know(struct filecache *c, const struct proc *p, const struct map *m)
{
	struct file_said *e = find(c, p, m);

	if (!e)
		return (struct known_file){ .holds = JEMALLOC_FILE_UNKNOWN };
	return (struct known_file){ e->holds, e->file, &e->note, e->is_exact, e->handle };
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

const struct map *filecache_emitter(struct filecache *c, const struct proc *p,
				    const struct maps *maps)
{
	for (size_t i = 0; c->emitters && i < maps->n; i++) {
		const struct map *m = &maps->v[i];
		const struct file_said *e = file_is_code(m) ? find(c, p, m) : NULL;

		/* The block of `sample` is not the program's. */
		if (e && e->emits && !text_begins(m->path, BLOCK_PATH))
			return m;
	}
	return NULL;
}

void filecache_mark_plain(struct filecache *c, const struct proc *p, struct images *images,
			  const struct maps *maps)
{
	for (size_t i = 0; i < images->n; i++) {
		const struct map *m = maps_find(maps, images->v[i].start);
		const struct file_said *e = m && m->inode ? find(c, p, m) : NULL;

		images->v[i].is_plain = e && e->holds == JEMALLOC_FILE_NONE;
	}
}

void filecache_fini(struct filecache *c)
{
	tdestroy(c->files, said_free);
	c->files = NULL;
}
