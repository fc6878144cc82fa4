// SPDX-License-Identifier: Apache-2.0
#include "ops/watch_find.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/pace.h"
#include "base/text.h"
#include "ops/filekey.h"
#include "ops/pids.h"
#include "target/image.h"
#include "target/jemalloc.h"
#include "target/maps.h"
#include "target/proc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NOTE_SIZE 1200
#define WHAT_SHOWN 800

/* When a process that has just started is looked at, in ms after it was told of. */
static const unsigned int delays_ms[] = { 0, 10, 50, 250, 1000 };
#define SETTLED_S 3 /* longer than all of these together */
#define TRIES (sizeof(delays_ms) / sizeof(*delays_ms))

enum state { STATE_UNKNOWN, STATE_PLAIN, STATE_PROBED, STATE_UNPROBED };

/* What one look at a process found. */
struct look {
	struct watch_finder *f;
	struct proc proc;
	struct maps maps;
	struct images images;
	struct jemalloc *found;
	size_t n;
	bool last;	  /* what is not found now is not there */
	bool all;	  /* files that are known count too */
	bool searched;	  /* what is not known now is nothing of ours, */
	bool found_alone; /* or was found in this process, and is watched there */
};

static void close_look(struct look *l)
{
	free(l->found);
	images_fini(&l->images);
	maps_fini(&l->maps);
	proc_close(&l->proc);
}

static void note(struct watch_finder *f, const struct proc *p, const char *what)
{
	char comm[PROC_COMM_SIZE * 4], line[NOTE_SIZE];

	snprintf(line, sizeof(line), "%d (%s): %.*s", p->pid,
		 output_safe(p->status.comm, comm, sizeof(comm)), WHAT_SHOWN, what);
	f->note(f->ctx, line);
}

static enum watch_convention convention_of(const char *reg)
{
	return !strcmp(reg, "rsi")   ? WATCH_SECOND
	       : !strcmp(reg, "rdx") ? WATCH_THIRD
				     : WATCH_UNKNOWN;
}

static int probe(struct look *l, const struct map *m, const struct jemalloc_file_dump *dump,
		 struct err *err)
{
	char path[96];

	snprintf(path, sizeof(path), "/proc/%d/map_files/%llx-%llx", l->proc.mm_pid,
		 (unsigned long long)m->start, (unsigned long long)m->end);
	return watch_add_file(l->f->watch, path, dump->offset, convention_of(dump->reg), err);
}

static void note_unprobed(struct look *l, const struct err *why)
{
	static const char seen[] = "its dumps are seen by its system calls alone";
	char line[NOTE_SIZE];

	snprintf(line, sizeof(line), "%s; %s",
		 why->msg[0]	     ? why->msg
		 : watch_may_probe() ? "prof_dump is not found"
				     : "this kernel may end programs that are probed",
		 seen);
	note(l->f, &l->proc, line);
}

/* Each prof_dump of the file is probed; else system calls are to tell. */
static enum state cover(struct look *l, const struct map *m, const struct jemalloc_file *file)
{
	enum state state = STATE_PLAIN;
	struct err why = ERR_INIT;

	for (size_t i = 0; i < jemalloc_file_count(file); i++) {
		struct jemalloc_file_dump dump = jemalloc_file_dump(file, i);

		if (!dump.may_dump)
			continue;
		if (state == STATE_PLAIN)
			state = STATE_PROBED;
		if (!watch_may_probe() || !dump.known || probe(l, m, &dump, &why))
			state = STATE_UNPROBED;
	}
	if (state == STATE_UNPROBED)
		note_unprobed(l, &why);
	return state;
}

/* After a search that found none that it could tell all of. */
static bool holds_jemalloc(const struct images *images)
{
	for (size_t i = 0; i < images->n; i++)
		if (images->v[i].path[0] == '/' && !images->v[i].is_plain)
			return true;
	return false;
}

/* What is known of a file for all processes. Those that run no other need not be told of. */
static enum state know(struct look *l, const struct map *m, const struct known_file *file)
{
	if (*file->note != STATE_UNKNOWN)
		return *file->note;
	*file->note = file->holds == JEMALLOC_FILE_NONE ? STATE_PLAIN : cover(l, m, file->file);
	/* Each process of a file that cannot be probed is to be told of. */
	if (*file->note != STATE_UNPROBED && file->is_exact)
		watch_know_file(l->f->watch, m->dev_major, m->dev_minor, m->inode);
	return *file->note;
}

/* Of one file, as ask_files(). */
static int ask_file(struct look *l, const struct map *m, struct err *err)
{
	struct known_file file = filecache_know(&l->f->files, &l->proc, m);
	bool is_loaded;

	if (file.holds == JEMALLOC_FILE_UNKNOWN)
		return l->searched ? 0 : -1;
	if (know(l, m, &file) == STATE_PLAIN)
		return 0;
	is_loaded = jemalloc_file_is_loaded(file.file, &l->maps, m);
	if (*file.note == STATE_PROBED)
		return is_loaded;
	if (!is_loaded) /* not yet, or it is only read */
		return l->last ? 0 : err_set(err, ERR_NOJEMALLOC, "not ready yet");
	return watch_add_unprobed(l->f->watch, l->proc.pid, err) ? -1 : 1;
}

/* 1: all its files are known, and it can dump; 0: they are, and it cannot; -1: look closer. */
static int ask_files(struct look *l, struct err *err)
{
	int found = l->found_alone;

	for (size_t i = 0; i < l->maps.n; i++) {
		int ret = file_is_code(&l->maps.v[i]) ? ask_file(l, &l->maps.v[i], err) : 0;

		if (ret < 0)
			return -1;
		found |= ret;
	}
	return found;
}

static int find_jemallocs(struct look *l, struct err *err)
{
	if (images_read(&l->images, l->proc.mm_pid, &l->maps, err))
		return -1;
	l->images.ask_debuginfod = l->f->debuginfod;
	if (!l->all)
		filecache_mark_plain(&l->f->files, &l->proc, &l->images, &l->maps);
	if (!jemalloc_find(&l->proc, &l->images, &l->found, &l->n, err))
		return 0;
	l->searched |= err->code == ERR_NOJEMALLOC && (l->last || !holds_jemalloc(&l->images));
	return -1;
}

/* One that its file does not tell of: a process may show what it likes, of itself. */
static int watch_alone(struct look *l, const struct jemalloc *je, struct err *err)
{
	const struct map *code = maps_find(&l->maps, je->mallctl);
	const struct err why = ERR_INIT;

	if (je->config_prof == TRI_NO || l->found_alone ||
	    (code && file_is_code(code) &&
	     filecache_know(&l->f->files, &l->proc, code).holds != JEMALLOC_FILE_UNKNOWN))
		return 0;
	if (watch_add_unprobed(l->f->watch, l->proc.pid, err))
		return -1;
	note_unprobed(l, &why);
	l->found_alone = true;
	return 0;
}

/* As ask_files(), having looked closer: -1 with `err` set when that failed. */
static int look_closer(struct look *l, struct err *err)
{
	if (find_jemallocs(l, err))
		return -1;
	for (size_t i = 0; i < l->n; i++)
		if (watch_alone(l, &l->found[i], err))
			return -1;
	l->searched = true;
	return ask_files(l, err);
}

/* Has it been running for long enough to have its libraries in place? */
static bool is_settled(const struct proc *p)
{
	uint64_t began_s = p->start_time / (uint64_t)sysconf(_SC_CLK_TCK);

	return now_boot_ns() / 1000000000 > began_s + SETTLED_S;
}

static int look_at(struct look *l, pid_t pid, struct err *err)
{
	int known;

	if (proc_open(&l->proc, pid, err))
		return -1;
	l->last |= is_settled(&l->proc);
	if (maps_read(&l->maps, l->proc.mm_pid, err))
		return -1;
	known = ask_files(l, err);
	pace();
	return known >= 0 ? known : look_closer(l, err);
}

static int no_profiling(const struct look *l, struct err *err)
{
	char comm[PROC_COMM_SIZE * 4];

	for (size_t i = 0; i < l->n; i++) {
		struct jemalloc_values values;

		jemalloc_read_values(&l->found[i], &l->proc, &values);
		if (l->found[i].config_prof != TRI_NO &&
		    jemalloc_value_is(&values, OPT_PROF) != TRI_NO)
			return 0;
	}
	err_set(err, ERR_NOPROF, "%d (%s) will never dump: profiling is %s in its jemalloc",
		l->proc.pid, output_safe(l->proc.status.comm, comm, sizeof(comm)),
		l->found[0].config_prof == TRI_NO ? "not built" : "not turned on (opt.prof)");
	return err_fix(err, "jeprof-ctl check %d says what to do", l->proc.pid);
}

int watch_find_one(struct watch_finder *f, pid_t pid, struct err *err)
{
	_cleanup_(close_look) struct look l = { .f = f, .last = true, .all = true };

	if (proc_open(&l.proc, pid, err) || maps_read(&l.maps, l.proc.mm_pid, err) ||
	    look_closer(&l, err) < 0 || no_profiling(&l, err))
		return -1;
	f->processes++;
	return watch_add_process(f->watch, pid, err);
}

static void see(struct watch_finder *f, pid_t pid, unsigned int tries)
{
	_cleanup_(close_look) struct look l = { .f = f, .last = tries + 1 >= TRIES };
	struct err why = ERR_INIT;
	int found = look_at(&l, pid, &why);

	if (found == 1)
		f->processes++;
	f->unreadable += found < 0 && why.code == ERR_PERM;
	if (found >= 0 || why.code == ERR_NOPROC || why.code == ERR_LOST || l.last)
		return;
	/* It is looked at again where something may come of it. */
	if (why.code == ERR_NOJEMALLOC && ask_files(&l, &why) >= 0)
		return;
	if (f->n_visits < WATCH_VISITS_MAX)
		f->visits[f->n_visits++] =
			(struct watch_visit){ pid, tries + 1, now_ms() + delays_ms[tries + 1] };
}

static void note_unreadable(const struct watch_finder *f)
{
	char line[NOTE_SIZE];

	if (!f->unreadable)
		return;
	snprintf(line, sizeof(line),
		 "%zu process%s could not be looked at: their dumps are seen only where others "
		 "run the same files",
		 f->unreadable, f->unreadable == 1 ? "" : "es");
	f->note(f->ctx, line);
}

int watch_find_all(struct watch_finder *f, struct err *err)
{
	_cleanup_(cleanup_free) pid_t *pids = NULL;
	size_t n;

	if (pids_read(&pids, &n, err))
		return -1;
	for (size_t i = 0; i < n; i++)
		see(f, pids[i], 0);
	note_unreadable(f);
	return 0;
}

void watch_find_later(struct watch_finder *f, pid_t pid)
{
	for (size_t i = 0; i < f->n_visits; i++) {
		if (f->visits[i].pid != pid)
			continue;
		/* Its next library: the first ones were looked at too early. */
		if (f->visits[i].tries)
			f->visits[i].tries--;
		return;
	}
	if (f->n_visits < WATCH_VISITS_MAX)
		f->visits[f->n_visits++] = (struct watch_visit){ pid, 0, now_ms() + delays_ms[0] };
}

void watch_find_due(struct watch_finder *f, int *next_ms)
{
	uint64_t now = now_ms(), soonest = UINT64_MAX;

	for (size_t i = 0; i < f->n_visits;) {
		struct watch_visit v = f->visits[i];

		if (v.due_ms > now) {
			soonest = v.due_ms < soonest ? v.due_ms : soonest;
			i++;
			continue;
		}
		f->visits[i] = f->visits[--f->n_visits];
		see(f, v.pid, v.tries);
	}
	*next_ms = soonest == UINT64_MAX ? -1 : (int)(soonest - now);
}

void watch_find_fini(struct watch_finder *f)
{
	filecache_fini(&f->files);
}
