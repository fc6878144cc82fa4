// SPDX-License-Identifier: Apache-2.0
#include "ops/sample/end_guard.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/signals.h"
#include "base/text.h"
#include "process/procfs.h"
#include "process/thread.h"

#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#define TABLE_MAX (UINT64_C(4) << 20) /* of a mapping that may hold the table */
#define SEQ_MAX (1 << 20)
#define GRACE_MS 10000
#define LOOK_MS 5
#define RAN_NS UINT64_C(20000000)

/* --- in the child that looks --- */

struct search {
	const struct session *s;
	uint64_t symbol, end; /* what it must be, 0 if unknown; what else it may be */
	uint64_t slot, cleanup;
	size_t n;     /* slots that may be it */
	size_t freed; /* slots of the program, see look_at() */
};

/* Another jeprof-ctl did this before: its block calls what it found. */
static bool is_in_block(const struct session *s, uint64_t addr)
{
	const struct map *m = maps_find(&s->maps, addr);

	return m && m->prot & MAP_X && text_begins(m->path, BLOCK_PATH);
}

static int is_at(void *ctx, const char *name, const struct symbol *sym)
{
	(void)name;
	return sym->addr == *(const uint64_t *)ctx;
}

/* glibc's struct pthread_key_struct: a sequence number, which is odd in use, and a function. */
static void look_at(struct search *f, uint64_t at, const uint64_t entry[2])
{
	if (f->n > 1 || f->freed > PTHREAD_KEYS_MAX) /* it will not be known */
		return;
	if (entry[0] % 2 == 0 || entry[0] > SEQ_MAX || !entry[1])
		return;
	if (entry[1] != f->end && !is_in_block(f->s, entry[1]) &&
	    (f->symbol ? entry[1] != f->symbol : !image_has_code(f->s->je->image, entry[1])))
		return;
	/* A key of the program, whose values are freed by free(3)? That has a symbol. */
	if (!f->symbol && image_each_symbol(f->s->je->image, is_at, &(uint64_t){ entry[1] })) {
		f->freed++;
		return;
	}
	f->n += f->slot != at + sizeof(entry[0]);
	f->slot = at + sizeof(entry[0]);
	f->cleanup = entry[1];
}

static void search_map(struct search *f, const struct map *m)
{
	_cleanup_(cleanup_free) uint64_t *words = NULL;
	uint64_t len = m->end - m->start;
	struct err ignored = ERR_INIT;

	if (len > TABLE_MAX || (m->prot & (MAP_R | MAP_W | MAP_SHARED_BIT)) != (MAP_R | MAP_W))
		return;
	words = malloc(len);
	if (!words || proc_read(f->s->proc.mm_pid, m->start, words, len, &ignored))
		return;
	for (size_t i = 0; i + 1 < len / sizeof(*words); i += 2)
		look_at(f, m->start + i * sizeof(*words), words + i);
}

/* Its variables, and zero-initialized ones, which follow without a file. */
static void search_image(struct search *f, const struct image *img)
{
	const struct maps *maps = &f->s->maps;

	for (size_t i = 0; i < maps->n; i++) {
		const struct map *m = &maps->v[i];

		if (m->start < img->start || m->start >= img->end)
			continue;
		search_map(f, m);
		if (i + 1 < maps->n && m[1].start == m->end && m[1].start >= img->end &&
		    !*m[1].path && m->prot & MAP_W)
			search_map(f, m + 1);
	}
}

/* Before glibc 2.34 it was in libpthread; in a static program it is among the program's own. */
static bool is_libc(const struct image *img)
{
	static const char *const names[] = { "libc.so.6", "libc-2", "libpthread" };
	const char *file = text_file_name(img->path);

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (text_begins(file, names[i]))
			return true;
	return false;
}

void end_guard_find(const struct session *s, uint64_t end, struct end_guard *guard)
{
	struct search f = { .s = s, .symbol = jemalloc_find_cleanup(s->je), .end = end };
	const struct images *images = &s->images;
	struct jemalloc_tsd tsd;
	bool is_static = true;

	*guard = (struct end_guard){ 0 };
	/* Without a symbol, it is the only such one in a library that contains only jemalloc. */
	if (!f.symbol && !text_begins(text_file_name(s->je->image->path), "libjemalloc"))
		return;
	jemalloc_find_tsd(&tsd, s->je, s->proc.mm_pid);
	if (!tsd.is_known || !jemalloc_tsd_in_use(&tsd, JEMALLOC_TSD_RECOMPUTE))
		return;
	for (size_t i = 0; i < images->n; i++) {
		if (!is_libc(&images->v[i]))
			continue;
		is_static = false;
		search_image(&f, &images->v[i]);
	}
	for (size_t i = 0; is_static && i < images->n; i++)
		if (images->v[i].is_main)
			search_image(&f, &images->v[i]);
	if (f.n == 1 && f.freed <= PTHREAD_KEYS_MAX)
		*guard = (struct end_guard){ f.slot, f.cleanup, tsd.state };
}

/* --- in the controller --- */

struct waited {
	pid_t tid;
	uint64_t ran_ns; /* CPU time it had used; UINT64_MAX: unknown */
};

/* From schedstat (sched-stats.rst), which some kernels lack: false if it cannot be read. */
static bool has_run(pid_t pid, pid_t tid, uint64_t *ns)
{
	struct err ignored = ERR_INIT;
	char text[128];

	if (procfs_read_into(pid, tid, "schedstat", text, sizeof(text), &ignored))
		return false;
	*ns = strtoull(text, NULL, 10);
	return true;
}

/*
 * A thread between reading the slot and the call makes no system call there. What cannot be read,
 * even for lack of a descriptor, proves nothing: such a thread is waited for.
 */
static bool is_elsewhere(const struct session *s, const struct waited *w)
{
	struct err lost = ERR_INIT, ignored = ERR_INIT;
	struct proc_status st;
	struct proc_syscall sc;
	uint64_t ran;

	if (proc_thread_status(s->proc.pid, w->tid, &st, &lost) && lost.code == ERR_LOST)
		return true;
	if (w->ran_ns != UINT64_MAX && has_run(s->proc.pid, w->tid, &ran) &&
	    ran >= w->ran_ns + RAN_NS)
		return true;
	return !proc_thread_syscall(s->proc.pid, w->tid, &sc, &ignored) && !sc.running &&
	       sc.nr >= 0;
}

int end_guard_wait(const struct session *s, struct err *err)
{
	_cleanup_(cleanup_free) struct waited *v = NULL;
	_cleanup_(cleanup_free) pid_t *tids = NULL;
	uint64_t end_ms = now_ms() + GRACE_MS;
	size_t n;

	if (proc_threads(s->proc.pid, &tids, &n, err))
		return -1;
	v = calloc(n + 1, sizeof(*v));
	if (!v)
		return err_no_memory(err);
	for (size_t i = 0; i < n; i++) {
		v[i].tid = tids[i];
		if (!has_run(s->proc.pid, tids[i], &v[i].ran_ns))
			v[i].ran_ns = UINT64_MAX;
	}
	while (n && now_ms() < end_ms && !stop_asked(s->options->stop_fd)) {
		size_t left = 0;

		for (size_t i = 0; i < n; i++)
			if (!is_elsewhere(s, &v[i]))
				v[left++] = v[i];
		n = left;
		if (n)
			poll(NULL, 0, LOOK_MS);
	}
	if (!n)
		return 0;
	err_raise(err, ERROR_THREAD_NOT_SEEN, SESSION_ARGS(s), .tid = v[0].tid);
	return err_advise(err, FIX_RETRY_LONGER);
}
