// SPDX-License-Identifier: Apache-2.0

#include "ops/watch/find.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/pace.h"
#include "base/text.h"
#include "ops/target/pids.h"
#include "ops/watch/filecache.h"
#include "process/maps.h"
#include "process/proc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* When a new process is inspected, in ms after it was reported. */
static const unsigned int delays_ms[] = { 0, 10, 50, 250, 1000 };
#define SETTLED_S 3 /* longer than all of these together */
#define TRIES (sizeof(delays_ms) / sizeof(*delays_ms))

enum state { STATE_UNKNOWN, STATE_PLAIN, STATE_PROBED, STATE_UNPROBED };

/* What one look at a process found. */
struct look {
	struct watch_finder *f;
	struct proc proc;
	struct maps maps;
	struct watch_inside inside;
	bool last;	  /* what is not found now is not there */
	bool all;	  /* known files count, too */
	bool searched;	  /* what is not known now is not relevant, */
	bool found_alone; /* or was found in this process, and is watched there */
};

static void close_look(struct look *l)
{
	maps_fini(&l->maps);
	proc_close(&l->proc);
}

static void warn_unprobed(struct look *l, struct err *why)
{
	if (l->f->no_uprobes)
		return; /* as requested */
	if (!why->ids[0])
		err_raise(why, watch_may_probe() ? ERROR_NO_PROF_DUMP : ERROR_PROBES_MAY_KILL);
	err_within(why, ERROR_SEEN_BY_CALLS, .pid = l->proc.pid, .comm = l->proc.status.comm);
	l->f->on_warning(l->f->ctx, why);
}

/* Probes each prof_dump of the file; if one cannot be, system calls have to show its dumps. */
static enum state cover(struct look *l, const struct known_file *file)
{
	enum state state = STATE_PLAIN;
	struct err why = ERR_INIT;

	for (size_t i = 0; i < jemalloc_file_count(file->file); i++) {
		struct jemalloc_file_dump dump = jemalloc_file_dump(file->file, i);

		if (!dump.may_dump)
			continue;
		if (state == STATE_PLAIN)
			state = STATE_PROBED;
		/* By the very file that was read: the process may have replaced it by now. */
		if (l->f->no_uprobes || !watch_may_probe() || !dump.known ||
		    watch_add_file(l->f->watch, file->handle, dump.offset,
				   dump.file_arg == 2	? WATCH_SECOND
				   : dump.file_arg == 3 ? WATCH_THIRD
							: WATCH_UNKNOWN,
				   &why))
			state = STATE_UNPROBED;
	}
	if (state == STATE_UNPROBED)
		warn_unprobed(l, &why);
	return state;
}

/* For one file, as ask_files(). */
static int ask_file(struct look *l, const struct map *m, struct err *err)
{
	struct known_file file = filecache_know(&l->f->files, &l->proc, m);
	bool is_loaded;

	if (file.holds == JEMALLOC_FILE_UNKNOWN)
		return l->searched ? 0 : -1;
	if (*file.note == STATE_UNKNOWN) {
		*file.note = file.holds == JEMALLOC_FILE_NONE ? STATE_PLAIN : cover(l, &file);
		/*
		 * This is known for all processes, which need not be reported if they run no other
		 * file; each one that runs a file that cannot be probed is to be reported.
		 */
		if (*file.note != STATE_UNPROBED && file.is_exact)
			watch_know_file(l->f->watch, m->dev_major, m->dev_minor, m->inode);
	}
	if (*file.note == STATE_PLAIN)
		return 0;
	is_loaded = jemalloc_file_is_loaded(file.file, &l->maps, m);
	if (*file.note == STATE_PROBED)
		return is_loaded;
	if (!is_loaded) /* not yet, or it is only read */
		return l->last ? 0 : err_raise(err, ERROR_NOT_READY);
	return watch_add_unprobed(l->f->watch, l->proc.pid, err) ? -1 : 1;
}

/*
 * 1: all its files are known, and it can dump; 0: they are, and it cannot; -1: inspect the process.
 */
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

/* A jemalloc that its file does not show: a process may show anything, but only of itself. */
static int watch_alone(struct look *l, const struct watch_found *je, struct err *err)
{
	const struct map *code = maps_find(&l->maps, je->mallctl);
	struct err why = ERR_INIT;

	if (je->config_prof == TRI_NO || l->found_alone ||
	    (code && file_is_code(code) &&
	     filecache_know(&l->f->files, &l->proc, code).holds != JEMALLOC_FILE_UNKNOWN))
		return 0;
	if (watch_add_unprobed(l->f->watch, l->proc.pid, err))
		return -1;
	warn_unprobed(l, &why);
	l->found_alone = true;
	return 0;
}

/* As ask_files(), after a closer look: -1 with `err` set if that failed. */
static int look_closer(struct look *l, struct err *err)
{
	if (watch_look_inside(&l->f->looker, &l->proc, l->all, &l->inside, err))
		return -1;
	if (!l->inside.n) {
		*err = l->inside.why_not;
		l->searched |= l->last || !l->inside.holds;
		return -1;
	}
	for (size_t i = 0; i < l->inside.n; i++)
		if (watch_alone(l, &l->inside.v[i], err))
			return -1;
	l->searched = true;
	return ask_files(l, err);
}

static int look_at(struct look *l, pid_t pid, struct err *err)
{
	uint64_t began_s;
	int known;

	if (proc_open(&l->proc, pid, err))
		return -1;
	/* Has it been running long enough to have its libraries mapped? */
	began_s = l->proc.start_time / (uint64_t)sysconf(_SC_CLK_TCK);
	l->last |= now_boot_ns() / 1000000000 > began_s + SETTLED_S;
	if (watch_look_maps(&l->f->looker, &l->proc, &l->maps, err))
		return -1;
	known = ask_files(l, err);
	pace();
	return known >= 0 ? known : look_closer(l, err);
}

int watch_find_one(struct watch_finder *f, pid_t pid, struct err *err)
{
	_cleanup_(close_look) struct look l = { .f = f, .last = true, .all = true };
	bool may_dump = false;

	if (proc_open(&l.proc, pid, err) || watch_look_maps(&f->looker, &l.proc, &l.maps, err) ||
	    look_closer(&l, err) < 0)
		return -1;
	for (size_t i = 0; i < l.inside.n; i++)
		may_dump |= l.inside.v[i].config_prof != TRI_NO && l.inside.v[i].opt_prof != TRI_NO;
	if (!may_dump) {
		err_raise(err,
			  l.inside.v[0].config_prof == TRI_NO ? ERROR_NEVER_DUMPS_NOT_BUILT
							      : ERROR_NEVER_DUMPS_OFF,
			  .pid = pid, .comm = l.proc.status.comm);
		return err_advise(err, FIX_SEE_CHECK);
	}
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
	/* A process that does not answer is not asked again. */
	if (found >= 0 || why.code == ERR_NOPROC || why.code == ERR_LOST ||
	    why.code == ERR_UNSAFE || l.last)
		return;
	/* It is inspected again only if that may help. */
	if (why.code == ERR_NOJEMALLOC && ask_files(&l, &why) >= 0)
		return;
	if (f->n_visits < WATCH_VISITS_MAX)
		f->visits[f->n_visits++] =
			(struct watch_visit){ pid, tries + 1, now_ms() + delays_ms[tries + 1] };
}

static void warn_missed(struct watch_finder *f, enum error why, size_t n)
{
	struct err warning = ERR_INIT;

	if (!n)
		return;
	err_raise(&warning, why, .count = (int64_t)n);
	f->on_warning(f->ctx, &warning);
}

int watch_find_all(struct watch_finder *f, struct err *err)
{
	_cleanup_(cleanup_free) pid_t *pids = NULL;
	size_t n;

	if (pids_read(&pids, &n, err))
		return -1;
	for (size_t i = 0; i < n; i++)
		see(f, pids[i], 0);
	warn_missed(f, ERROR_PROCESSES_SILENT, f->looker.unanswered);
	warn_missed(f, ERROR_PROCESSES_UNREADABLE, f->unreadable);
	return 0;
}

void watch_find_later(struct watch_finder *f, pid_t pid)
{
	for (size_t i = 0; i < f->n_visits; i++) {
		if (f->visits[i].pid != pid)
			continue;
		/* Its next library: the first visits were too early. */
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
	watch_look_fini(&f->looker);
}
