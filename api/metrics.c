// SPDX-License-Identifier: Apache-2.0
#include "api/metrics.h"

#include "base/cleanup.h"
#include "base/prom.h"
#include "base/vec.h"

#include <inttypes.h>
#include <stdlib.h>

struct metrics {
	FILE *out;
	bool openmetrics;
	const struct ops_process **v; /* one for each process, by pid */
	size_t n, all;
};

static void head(const struct metrics *m, const char *name, enum prom_type type, const char *help)
{
	prom_head(m->out, m->openmetrics, name, type, help);
}

/* A metric family with one sample. */
static void gauge(const struct metrics *m, const char *name, uint64_t value, const char *help)
{
	head(m, name, PROM_GAUGE, help);
	fprintf(m->out, "%s %" PRIu64 "\n", name, value);
}

/* --- which processes --- */

static int by_rss(const void *a, const void *b)
{
	const struct ops_process *x = *(const struct ops_process *const *)a;
	const struct ops_process *y = *(const struct ops_process *const *)b;

	if (x->rss_bytes != y->rss_bytes)
		return x->rss_bytes > y->rss_bytes ? -1 : 1;
	return x < y ? -1 : x > y;
}

static int by_pid(const void *a, const void *b)
{
	const struct ops_process *x = *(const struct ops_process *const *)a;
	const struct ops_process *y = *(const struct ops_process *const *)b;

	return (x->pid > y->pid) - (x->pid < y->pid);
}

/* With several jemallocs in a process, the first row is that of the program's malloc. */
static int choose(struct metrics *m, const struct ops_list *list, struct err *err)
{
	m->v = calloc(list->n + 1, sizeof(*m->v));
	if (!m->v)
		return err_no_memory(err);
	for (size_t i = 0; i < list->n; i++) {
		if (!i || list->v[i].pid != list->v[i - 1].pid)
			m->v[m->n++] = &list->v[i];
	}
	m->all = m->n;
	if (m->n <= API_METRICS_PROCESSES_MAX)
		return 0;
	vec_sort(m->v, m->n, by_rss);
	m->n = API_METRICS_PROCESSES_MAX;
	vec_sort(m->v, m->n, by_pid);
	return 0;
}

/* --- metrics of each process --- */

/* The labels of every series of a process. */
static void put_process(const struct metrics *m, const char *name, const struct ops_process *p)
{
	fprintf(m->out, "%s{pid=\"%d\",", name, p->pid);
	prom_label(m->out, "comm", p->comm);
	fputc(',', m->out);
	prom_label(m->out, "service", p->service_name);
}

static const char *tristate(enum tristate t)
{
	return t == TRI_UNKNOWN ? "" : t == TRI_YES ? "true" : "false";
}

static void put_infos(const struct metrics *m)
{
	static const char name[] = "jeprof_process_info";

	if (m->n)
		head(m, name, PROM_INFO, "A process that uses jemalloc");
	for (size_t i = 0; i < m->n; i++) {
		const struct ops_process *p = m->v[i];
		const char *const labels[][2] = {
			{ "unit", p->unit },
			{ "container_id", p->container_id },
			{ "pod_uid", p->pod_uid },
			{ "version", p->version },
			{ "prefix", p->prefix },
			{ "linkage", jemalloc_linkage_name(p->linkage) },
			{ "opt_prof", tristate(p->opt_prof) },
		};

		put_process(m, name, p);
		for (size_t l = 0; l < sizeof(labels) / sizeof(*labels); l++) {
			fputc(',', m->out);
			prom_label(m->out, labels[l][0], labels[l][1]);
		}
		fputs("} 1\n", m->out);
	}
}

/* Get a value of a process; false: it has none. */
typedef bool value_fn(const struct ops_process *p, uint64_t *value);

static bool active_of(const struct ops_process *p, uint64_t *value)
{
	*value = p->prof_active == TRI_YES;
	return p->prof_active != TRI_UNKNOWN;
}

static bool rss_of(const struct ops_process *p, uint64_t *value)
{
	*value = p->rss_bytes;
	return true;
}

static bool limit_of(const struct ops_process *p, uint64_t *value)
{
	*value = p->limit_bytes;
	return p->limited;
}

static bool used_of(const struct ops_process *p, uint64_t *value)
{
	*value = p->used_bytes;
	return p->limited;
}

static const struct {
	const char *name, *help;
	value_fn *value;
} families[] = {
	{ "jeprof_prof_active", "Is heap sampling on: prof.active", active_of },
	{ "jeprof_process_rss_bytes", "Resident memory", rss_of },
	{ "jeprof_process_cgroup_limit_bytes", "Limit of the memory cgroup that will be full first",
	  limit_of },
	{ "jeprof_process_cgroup_used_bytes", "Memory used in that cgroup", used_of },
};

static void put_values(const struct metrics *m)
{
	for (size_t f = 0; f < sizeof(families) / sizeof(*families); f++) {
		bool begun = false;
		uint64_t value;

		for (size_t i = 0; i < m->n; i++) {
			if (!families[f].value(m->v[i], &value))
				continue;
			if (!begun)
				head(m, families[f].name, PROM_GAUGE, families[f].help);
			begun = true;
			put_process(m, families[f].name, m->v[i]);
			fprintf(m->out, "} %" PRIu64 "\n", value);
		}
	}
}

/* --- the machine, and the service itself --- */

static void put_counts(const struct metrics *m, const struct ops_list *list)
{
	static const char unseen[] = "jeprof_processes_unseen";
	const struct {
		const char *reason;
		size_t n;
	} reasons[] = {
		{ "not_allowed", list->unreadable },
		{ "no_answer", list->unanswered },
		{ "own_limit", list->missed },
	};

	gauge(m, "jeprof_processes", m->all, "Processes that use jemalloc");
	gauge(m, "jeprof_processes_omitted", m->all - m->n,
	      "Processes left out here, as others have more resident memory");
	head(m, unseen, PROM_GAUGE, "Processes that could not be inspected");
	for (size_t i = 0; i < sizeof(reasons) / sizeof(*reasons); i++)
		fprintf(m->out, "%s{reason=\"%s\"} %zu\n", unseen, reasons[i].reason, reasons[i].n);
}

static void put_build(const struct metrics *m)
{
	static const char name[] = "jeprof_ctl_build_info";

	head(m, name, PROM_INFO, "The version of jeprof-ctl");
	fprintf(m->out, "%s{", name);
	prom_label(m->out, "version", JEPROF_CTL_VERSION);
	fputs("} 1\n", m->out);
}

static void put_operations(const struct metrics *m, const struct api_own_metrics *own)
{
	static const char name[] = "jeprof_ctl_operations_total";

	head(m, name, PROM_COUNTER, "Requests to the service, by operation and result");
	for (size_t i = 0; i < own->n; i++) {
		const struct {
			const char *result;
			uint64_t n;
		} results[] = {
			{ "ok", own->ops[i].ok },
			{ "failed", own->ops[i].failed },
			{ "refused", own->ops[i].refused },
		};

		for (size_t r = 0; r < sizeof(results) / sizeof(*results); r++) {
			fprintf(m->out, "%s{", name);
			prom_label(m->out, "op", own->ops[i].op);
			fprintf(m->out, ",result=\"%s\"} %" PRIu64 "\n", results[r].result,
				results[r].n);
		}
	}
}

static void put_own(const struct metrics *m, const struct api_own_metrics *own)
{
	static const char pause[] = "jeprof_ctl_pause_seconds_total";
	static const char runs[] = "jeprof_ctl_rule_runs_total";

	if (own->n) {
		put_operations(m, own);
		head(m, pause, PROM_COUNTER, "Time that threads of processes were stopped");
	}
	for (size_t i = 0; i < own->n; i++) {
		uint64_t us = own->ops[i].pause_us;

		fprintf(m->out, "%s{", pause);
		prom_label(m->out, "op", own->ops[i].op);
		fprintf(m->out, "} %" PRIu64 ".%06" PRIu64 "\n", us / 1000000, us % 1000000);
	}
	if (own->n_rules)
		head(m, runs, PROM_COUNTER,
		     "Profiles taken by rules of the service, by rule and result");
	for (size_t i = 0; i < own->n_rules; i++) {
		const struct api_own_rule *rule = &own->rules[i];

		fprintf(m->out, "%s{rule=\"%s\",result=\"ok\"} %" PRIu64 "\n", runs, rule->name,
			rule->ok);
		fprintf(m->out, "%s{rule=\"%s\",result=\"failed\"} %" PRIu64 "\n", runs, rule->name,
			rule->failed);
	}
	gauge(m, "jeprof_ctl_workers", own->workers, "Running operations");
	gauge(m, "jeprof_ctl_waiting", own->waiting, "Queued operations");
}

static void free_metrics(struct metrics *m)
{
	free(m->v);
}

int api_metrics(FILE *out, const struct ops_list *list, const struct api_own_metrics *own,
		bool openmetrics, struct err *err)
{
	_cleanup_(free_metrics) struct metrics m = { .out = out, .openmetrics = openmetrics };

	if (choose(&m, list, err))
		return -1;
	put_build(&m);
	if (own)
		put_own(&m, own);
	put_counts(&m, list);
	put_infos(&m);
	put_values(&m);
	if (openmetrics)
		fputs("# EOF\n", out);
	return 0;
}
