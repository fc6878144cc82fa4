// SPDX-License-Identifier: Apache-2.0
#include "ops/growth.h"

#include "base/cleanup.h"
#include "io/errand.h"
#include "ops/profile_file.h"
#include "process/limit.h"
#include "process/proc.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define HOST_SIZE 256
#define NS 1000000000.0

/* Whose dumps they are, as the first that says so says. */
struct whose {
	int64_t pid;
	char comm[PROC_COMM_SIZE], host[HOST_SIZE];
};

/* One dump: when, and which one of the series. */
struct moment {
	double seconds;
	size_t at;
};

static int time_of(const char *path, const struct profile *p, double *seconds, struct err *err)
{
	_cleanup_(cleanup_close) int fd = -1;
	struct stat st;

	if (p->facts.time_ns) {
		*seconds = (double)p->facts.time_ns / NS;
		return 0;
	}
	fd = errand_open(path);
	if (fd < 0 || fstat(fd, &st))
		return err_raise_sys(err, ERROR_TIME_UNKNOWN, errno, .path = path);
	*seconds = (double)st.st_mtim.tv_sec + (double)st.st_mtim.tv_nsec / NS;
	return 0;
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

/* A file that was given twice would be evidence twice. Other dumps are never of the same moment. */
static bool is_there(const struct ops_leaks *l, const struct profile *p,
		     const struct moment *moments, double seconds)
{
	for (size_t i = 0; p->facts.time_ns && i < l->series.n; i++) {
		if (moments[i].seconds == seconds)
			return true;
	}
	return false;
}

static int add_file(const char *path, struct ops_leaks *l, struct whose *w, struct moment *moments,
		    const struct ops_symbolize_options *symbols, struct err *err)
{
	struct moment *m = &moments[l->series.n];
	static const struct profile_options whole = { 0 };
	_cleanup_(profile_fini) struct profile p = { 0 };

	if (profile_file_read(path, &whole, &p, err) || time_of(path, &p, &m->seconds, err) ||
	    check_whose(w, path, &p.facts, err))
		return -1;
	if (is_there(l, &p, moments, m->seconds))
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

static int earlier_first(const void *a, const void *b)
{
	double x = ((const struct moment *)a)->seconds, y = ((const struct moment *)b)->seconds;

	return (x > y) - (x < y);
}

/* Bring the series into the order of time. */
static int sort_by_time(struct ops_leaks *l, struct moment *m, double *seconds, struct err *err)
{
	struct profile_series_row *rows = calloc(l->series.n + 1, sizeof(*rows));

	if (!rows)
		return err_no_memory(err);
	qsort(m, l->series.n, sizeof(*m), earlier_first);
	for (size_t i = 0; i < l->series.n; i++) {
		rows[i] = l->series.rows[m[i].at];
		seconds[i] = m[i].seconds - m[0].seconds;
	}
	free(l->series.rows);
	l->series.rows = rows;
	return 0;
}

/* Of the process that was dumped, if it still lives here. */
static enum ops_limit limit_here(const struct whose *w, struct limit *limit)
{
	static const enum ops_limit limits[] = {
		[ERRAND_LIMIT_NONE] = OPS_LIMIT_NONE,
		[ERRAND_LIMIT_CGROUP] = OPS_LIMIT_CGROUP,
		[ERRAND_LIMIT_MACHINE] = OPS_LIMIT_MACHINE,
	};
	char host[HOST_SIZE] = "";

	if (w->pid <= 0 || w->pid > INT32_MAX || gethostname(host, sizeof(host) - 1) ||
	    strcmp(host, w->host) != 0)
		return OPS_LIMIT_NONE;
	return limits[errand_limit((pid_t)w->pid, w->comm, limit)];
}

/* With a limit that was given, what counts is what the last profile holds. */
static void set_limit(struct ops_leaks *l, uint64_t given, const struct whose *w)
{
	struct limit limit = { given, 0 };

	if (given) {
		double used = 0;

		for (size_t i = 0; i < l->series.all.n_stacks; i++)
			used += profile_series_value(&l->series, l->series.n - 1, i);
		limit.used = (uint64_t)used;
		l->limit = OPS_LIMIT_GIVEN;
	} else {
		l->limit = limit_here(w, &limit);
	}
	l->limit_bytes = limit.limit;
	l->used_bytes = limit.used;
}

static void project(struct ops_leaks *l)
{
	double variance = 0;

	l->seconds_left = INFINITY;
	for (size_t i = 0; i < l->found.n_leaks; i++) {
		l->rate += l->found.v[i].rate;
		variance += l->found.v[i].rate_error * l->found.v[i].rate_error;
	}
	l->rate_error = sqrt(variance);
	if (l->limit == OPS_LIMIT_NONE || l->rate <= 0)
		return;
	l->seconds_left = l->used_bytes < l->limit_bytes
				  ? (double)(l->limit_bytes - l->used_bytes) / l->rate
				  : 0;
}

static void warn_of_few(struct ops_leaks *l)
{
	if (l->series.n >= PROFILE_LEAKS_ENOUGH)
		return;
	err_raise(&l->warning, ERROR_FEW_PROFILES, .count = (int64_t)l->series.n);
	err_advise(&l->warning, FIX_TAKE_MORE, .number = PROFILE_LEAKS_ENOUGH);
}

int ops_leaks(const struct ops_leaks_request *request, const struct ops_symbolize_options *symbols,
	      struct ops_leaks *out, struct err *err)
{
	_cleanup_(ops_leaks_fini) struct ops_leaks l = { .series.type = PROFILE_INUSE_SPACE };
	_cleanup_(cleanup_free) struct moment *moments = calloc(request->n + 1, sizeof(*moments));
	_cleanup_(cleanup_free) double *seconds = calloc(request->n + 1, sizeof(*seconds));
	struct whose whose = { 0 };

	if (!moments || !seconds)
		return err_no_memory(err);
	for (size_t i = 0; i < request->n; i++) {
		if (add_file(request->files[i], &l, &whose, moments, symbols, err))
			return -1;
	}
	if (sort_by_time(&l, moments, seconds, err) ||
	    profile_leaks_find(&l.series, seconds, &l.found, err))
		return -1;
	if (!l.series.all.symbols && ops_symbolize(&l.series.all, symbols, err))
		return -1;
	set_limit(&l, request->limit_bytes, &whose);
	project(&l);
	warn_of_few(&l);
	*out = l;
	l = (struct ops_leaks){ 0 };
	return 0;
}

void ops_leaks_fini(struct ops_leaks *leaks)
{
	profile_leaks_fini(&leaks->found);
	profile_series_fini(&leaks->series);
}
