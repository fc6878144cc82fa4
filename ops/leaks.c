// SPDX-License-Identifier: Apache-2.0
#include "ops/growth.h"

#include "base/cleanup.h"
#include "base/text.h"
#include "base/vec.h"
#include "io/errand.h"
#include "ops/dump_file_name.h"
#include "ops/profile_file.h"
#include "process/limit.h"
#include "process/proc.h"
#include "profile/combine.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define HOST_SIZE 256
#define NS 1000000000.0
/* Copies are written in quick succession: mean seconds between them; dumps are seldom so close. */
#define COPIED_WITHIN 0.1

/* The process of the dumps, from the first dump that names it. */
struct whose {
	int64_t pid;
	char comm[PROC_COMM_SIZE], host[HOST_SIZE];
};

/* One dump: its time, and its place in the series. */
struct moment {
	double seconds;	 /* the one used */
	int64_t time_ns; /* from the profile itself, or 0 */
	double changed;	 /* last change of its file, if that is 0 */
	dev_t device;
	ino_t inode;
	struct dump_file_name name;
	bool named; /* `name` is known */
	size_t at;
};

/* --- times --- */

static int look_at_file(const char *path, const struct profile *p, struct moment *m,
			struct err *err)
{
	_cleanup_(cleanup_close) int fd = -1;
	struct stat st;

	m->time_ns = p->facts.time_ns;
	m->named = dump_file_name_parse(path, &m->name);
	if (m->time_ns)
		return 0;
	fd = errand_open(path);
	if (fd < 0 || fstat(fd, &st))
		return err_raise_sys(err, ERROR_TIME_UNKNOWN, errno, .path = path);
	m->changed = (double)st.st_mtim.tv_sec + (double)st.st_mtim.tv_nsec / NS;
	m->device = st.st_dev;
	m->inode = st.st_ino;
	return 0;
}

/* In the order of their names. */
static int by_name(const void *a, const void *b)
{
	const struct moment *x = a, *y = b;

	if (x->name.seconds != y->name.seconds)
		return x->name.seconds < y->name.seconds ? -1 : 1;
	return (x->name.number > y->name.number) - (x->name.number < y->name.number);
}

static int earlier_first(const void *a, const void *b)
{
	double x = ((const struct moment *)a)->seconds, y = ((const struct moment *)b)->seconds;

	return (x > y) - (x < y);
}

/* Do the names define an order? If so, sorts by it. */
static bool sort_by_name(struct moment *m, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (!m[i].named || strcmp(m[i].name.prefix, m[0].name.prefix) != 0 ||
		    !m[i].name.seconds != !m[0].name.seconds)
			return false;
	}
	vec_sort(m, n, by_name);
	for (size_t i = 1; i < n; i++) {
		if (!by_name(&m[i - 1], &m[i]))
			return false;
	}
	return true;
}

/*
 * Were files, in the order of their names, written in that order, and not all at once, as copies
 * are?
 */
static bool are_changes_times(const struct moment *m, size_t n)
{
	for (size_t i = 1; i < n; i++) {
		if (m[i].changed <= m[i - 1].changed)
			return false;
	}
	return n && m[n - 1].changed - m[0].changed >= COPIED_WITHIN * (double)(n - 1);
}

/* Sets `seconds` of each, from the best source that all of them have. */
static enum ops_times find_times(struct moment *m, size_t n)
{
	bool all_say = true, all_differ = n > 0;
	enum ops_times times = OPS_TIMES_FILES;

	for (size_t i = 0; i < n; i++) {
		all_say &= m[i].time_ns != 0;
		m[i].seconds = m[i].time_ns ? (double)m[i].time_ns / NS : m[i].changed;
	}
	if (all_say)
		return OPS_TIMES_PROFILES;
	if (!sort_by_name(m, n))
		return OPS_TIMES_FILES;
	for (size_t i = 0; i < n; i++)
		all_differ &=
			m[i].name.seconds && (!i || m[i].name.seconds != m[i - 1].name.seconds);
	if (all_differ)
		times = OPS_TIMES_NAMES;
	else if (!are_changes_times(m, n))
		times = OPS_TIMES_ORDER;
	for (size_t i = 0; i < n && times != OPS_TIMES_FILES; i++)
		m[i].seconds = times == OPS_TIMES_NAMES ? (double)m[i].name.seconds : (double)i;
	return times;
}

static int check_whose(struct whose *w, const char *path, const struct profile_facts *facts,
		       struct err *err)
{
	if (!facts->pid)
		return 0;
	if (!w->pid) {
		w->pid = facts->pid;
		snprintf(w->comm, sizeof(w->comm), "%s", facts->comm ? facts->comm : "");
		snprintf(w->host, sizeof(w->host), "%s", facts->host ? facts->host : "");
		return 0;
	}
	if (w->pid == facts->pid && !strcmp(w->host, facts->host ? facts->host : ""))
		return 0;
	err_raise(err, ERROR_OF_ANOTHER_PROCESS, .path = path, .pid = facts->pid, .other = w->pid);
	return err_advise(err, FIX_DUMPS_OF_ONE_PROCESS);
}

/* The same file given twice would count as evidence twice. Other dumps never have the same time. */
static bool is_there(const struct ops_leaks *l, const struct moment *moments)
{
	const struct moment *m = &moments[l->series.n];

	for (size_t i = 0; i < l->series.n; i++) {
		const struct moment *other = &moments[i];

		if (m->time_ns ? m->time_ns == other->time_ns
			       : !other->time_ns && m->inode == other->inode &&
					 m->device == other->device)
			return true;
	}
	return false;
}

static int add_file(const char *path, struct ops_leaks *l, struct whose *w, struct moment *moments,
		    const struct ops_symbolize_options *symbols, struct err *err)
{
	struct moment *m = &moments[l->series.n];
	static const struct profile_options by_thread = { .by_thread = true };
	_cleanup_(profile_fini) struct profile p = { 0 };

	if (profile_file_read(path, &by_thread, &p, err) || look_at_file(path, &p, m, err))
		return -1;
	/* Allocated memory may be freed at once: its growth is no leak. */
	if (!profile_knows(&p, PROFILE_INUSE_SPACE)) {
		err_raise(err, ERROR_COUNTS_ALLOC_SPACE, .what = "those that are held");
		err_advise(err, FIX_TAKE_DUMPS);
		return err_within(err, ERROR_IN_FILE, .path = path);
	}
	if (check_whose(w, path, &p.facts, err))
		return -1;
	if (is_there(l, moments))
		return 0;
	m->at = l->series.n;
	l->series.all.period = p.period;
	l->series.all.facts.pid = w->pid;
	if (ops_symbolize_pair(&l->series.all, &p, symbols, err))
		return -1;
	if (profile_series_add(&l->series, &p, err))
		return err_within(err, ERROR_IN_FILE, .path = path);
	return 0;
}

/* Sort the series by time. */
static int sort_by_time(struct ops_leaks *l, struct moment *m, struct err *err)
{
	struct profile_series_row *rows = calloc(l->series.n + 1, sizeof(*rows));

	l->seconds = calloc(l->series.n + 1, sizeof(*l->seconds));
	if (!rows || !l->seconds) {
		free(rows);
		return err_no_memory(err);
	}
	l->times = find_times(m, l->series.n);
	vec_sort(m, l->series.n, earlier_first);
	for (size_t i = 0; i < l->series.n; i++) {
		rows[i] = l->series.rows[m[i].at];
		l->seconds[i] = m[i].seconds - m[0].seconds;
	}
	l->start = l->times == OPS_TIMES_ORDER ? 0 : m[0].seconds;
	free(l->series.rows);
	l->series.rows = rows;
	return 0;
}

/* A limit that was given is compared with the memory in the last profile. */
static void set_limit(struct ops_leaks *l, uint64_t given, const struct whose *w)
{
	static const enum ops_limit limits[] = {
		[ERRAND_LIMIT_NONE] = OPS_LIMIT_NONE,
		[ERRAND_LIMIT_CGROUP] = OPS_LIMIT_CGROUP,
		[ERRAND_LIMIT_MACHINE] = OPS_LIMIT_MACHINE,
	};
	struct limit limit = { .limit = given };
	char host[HOST_SIZE] = "";

	if (given) {
		double used = 0;

		for (size_t i = 0; i < l->series.all.n_stacks; i++)
			used += profile_series_value(&l->series, l->series.n - 1, i);
		limit.used = (uint64_t)used;
		l->limit = OPS_LIMIT_GIVEN;
	} else if (w->pid > 0 && w->pid <= INT32_MAX && !gethostname(host, sizeof(host) - 1) &&
		   !strcmp(host, w->host)) {
		/* The process that was dumped, if it is still alive here. */
		l->limit = limits[errand_limit((pid_t)w->pid, w->comm, &limit)];
	} else {
		l->limit = OPS_LIMIT_NONE;
	}
	l->limit_bytes = limit.limit;
	l->used_bytes = limit.used;
}

static void project(struct ops_leaks *l)
{
	double variance = 0;

	l->seconds_left = INFINITY;
	for (size_t i = 0; i < l->found.n_leaks; i++) {
		const struct profile_leak *leak = &l->found.leaks[i];

		l->rate += leak->rate;
		variance += leak->rate_error * leak->rate_error;
	}
	l->rate_error = sqrt(variance);
	if (l->limit == OPS_LIMIT_NONE || l->rate <= 0 || l->times == OPS_TIMES_ORDER)
		return;
	l->seconds_left = l->used_bytes < l->limit_bytes
				  ? (double)(l->limit_bytes - l->used_bytes) / l->rate
				  : 0;
}

int ops_leaks(const struct ops_leaks_request *request, const struct ops_symbolize_options *symbols,
	      struct ops_leaks *out, struct err *err)
{
	_cleanup_(ops_leaks_fini) struct ops_leaks l = { .series.type = PROFILE_INUSE_SPACE };
	_cleanup_(cleanup_free) struct moment *moments = calloc(request->n + 1, sizeof(*moments));
	struct whose whose = { 0 };
	struct profile_facts facts;

	if (!moments)
		return err_no_memory(err);
	for (size_t i = 0; i < request->n; i++) {
		if (add_file(request->files[i], &l, &whose, moments, symbols, err))
			return -1;
	}
	if ((!l.series.all.symbols && ops_symbolize(&l.series.all, symbols, err)) ||
	    (request->fold && profile_fold(&l.series.all, request->fold, &l.n_folded, err)))
		return -1;
	if (sort_by_time(&l, moments, err))
		return -1;
	if (profile_leaks_find(&l.series, l.seconds, &l.found, err))
		return err->ids[0] == ERROR_NOTHING_SAMPLED
			       ? err_advise(err, FIX_TAKE_WHILE_SAMPLING)
			       : -1;
	/* Only now: facts of a process that may be alive would make the look-up use other files. */
	facts = (struct profile_facts){
		.pid = whose.pid,
		.comm = *whose.comm ? whose.comm : NULL,
		.host = *whose.host ? whose.host : NULL,
		.time_ns = (int64_t)(l.start * NS),
		.duration_ns = l.start > 0 ? (int64_t)(l.found.seconds * NS) : 0,
	};
	if (profile_keep_facts(&l.series.all, &facts, err))
		return -1;
	set_limit(&l, request->limit_bytes, &whose);
	project(&l);
	if (l.series.n < PROFILE_LEAKS_ENOUGH) {
		err_raise(&l.warning, ERROR_FEW_PROFILES, .count = (int64_t)l.series.n);
		err_advise(&l.warning, FIX_TAKE_MORE, .number = PROFILE_LEAKS_ENOUGH);
	}
	*out = l;
	l = (struct ops_leaks){ 0 };
	return 0;
}

void ops_leaks_fini(struct ops_leaks *leaks)
{
	free(leaks->seconds);
	profile_leaks_fini(&leaks->found);
	profile_series_fini(&leaks->series);
}
