// SPDX-License-Identifier: Apache-2.0
#include "api/json.h"

#include "arch/machine.h"
#include "base/cleanup.h"
#include "base/text.h"
#include "ops/bundle.h"
#include "profile/format/format.h"
#include "profile/leaks.h"
#include "profile/profile.h"
#include "profile/significance.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* --- common members --- */

/* A document that starts with pid and comm, and ends with the cost (set_cost()). */
static struct json_object *new_doc(const struct ops_cost *cost)
{
	struct json_object *doc = json_object_new_object();

	json_set_int(doc, "pid", cost->pid);
	json_set_text(doc, "comm", cost->comm);
	return doc;
}

static api_fix_fn *fix_words;

void api_words(api_fix_fn *fix)
{
	fix_words = fix;
}

const char *api_warning_text(const struct err *warning, char *buf, size_t size)
{
	size_t used;

	err_text(warning, buf, size);
	used = strlen(buf);
	if (!fix_words || !warning->fixes[0] || used + 3 > size)
		return buf;
	memcpy(buf + used, "; ", 3);
	fix_words(warning, buf + used + 2, size - used - 2);
	return buf;
}

static void set_warning(struct json_object *doc, const struct err *warning)
{
	char text[ERR_TEXT_SIZE], name[ERR_NAME_SIZE];

	if (!warning->ids[0])
		return;
	json_set_text(doc, "warning", api_warning_text(warning, text, sizeof(text)));
	json_set_text(doc, "warning_id", err_name(warning->ids[0], name));
}

static void set_cost(struct json_object *doc, const struct ops_cost *cost,
		     const struct err *warning)
{
	json_set_u64(doc, "pause_us", cost->pause_us);
	json_set_u64(doc, "call_us", cost->call_us);
	if (cost->prolonged) {
		json_set_u64(doc, "prolonged", cost->prolonged);
		json_set_u64(doc, "late_us", cost->late_us);
	}
	json_set(doc, "mode", json_object_new_string(injector_mode_name(cost->mode)));
	if (warning)
		set_warning(doc, warning);
}

static void set_fix(struct json_object *doc, const char *path, const struct err *err)
{
	char text[ERR_TEXT_SIZE];

	json_set_text(doc, path,
		      fix_words && err->fixes[0] ? fix_words(err, text, sizeof(text)) : NULL);
}

void api_warning_add(void *ctx, const struct err *warning)
{
	struct json_object *o = json_object_new_object();
	char text[ERR_TEXT_SIZE], name[ERR_NAME_SIZE];

	json_set_text(o, "id", err_name(warning->ids[0], name));
	json_set_text(o, "message", err_text(warning, text, sizeof(text)));
	set_fix(o, "fix", warning);
	json_object_array_add(ctx, o);
}

struct json_object *api_with_warnings(struct json_object *doc, struct json_object *warnings)
{
	if (warnings && json_object_array_length(warnings))
		json_set(doc, "warnings", warnings);
	else
		json_object_put(warnings);
	return doc;
}

static struct json_object *tristate(enum tristate t)
{
	return t == TRI_UNKNOWN ? NULL : json_object_new_boolean(t == TRI_YES);
}

static struct json_object *value_of(const struct ops_value *value)
{
	if (value->ret)
		return NULL;
	switch (value->ctl->type) {
	case MALLCTL_BOOL:
		return json_object_new_boolean(value->v.b);
	case MALLCTL_U32:
		return json_object_new_int64(value->v.u32);
	case MALLCTL_U64:
	case MALLCTL_SIZE:
		return json_object_new_uint64(value->v.u64);
	case MALLCTL_SSIZE:
		return json_object_new_int64(value->v.i64);
	case MALLCTL_STRING:
		return json_text(value->text);
	case MALLCTL_VOID:
		break;
	}
	return NULL;
}

/* As text: JSON readers may lose the last digits of a number. */
static void set_address(struct json_object *doc, const char *path, uint64_t addr)
{
	char text[24];

	snprintf(text, sizeof(text), "%#llx", (unsigned long long)addr);
	json_set_text(doc, path, addr ? text : NULL);
}

static void set_message(struct json_object *doc, const char *path, const struct err *err)
{
	char text[ERR_TEXT_SIZE];

	json_set_text(doc, path, err->code ? err_text(err, text, sizeof(text)) : NULL);
}

static struct json_object *error_in(struct json_object *doc, const struct err *err)
{
	struct json_object *about = json_object_new_object();
	struct err_field field;
	char name[ERR_NAME_SIZE];

	json_set_text(doc, "error.code", err_code_name(err->code));
	json_set_text(doc, "error.id", err_name(err->ids[0], name));
	json_set(doc, "error.cause", NULL);
	for (size_t i = 1; i < ERR_DEPTH && err->ids[i]; i++)
		json_set_text(doc, "error.cause", err_name(err->ids[i], name));
	for (size_t i = 0; err_field(err, i, &field); i++) {
		if (*field.text)
			json_set_text(about, field.name, field.text);
		else if (field.kind == ERR_ADDRESS && field.number)
			set_address(about, field.name, (uint64_t)field.number);
		else if (field.number)
			json_set_int(about, field.name, field.number);
	}
	json_set(doc, "error.about", about);
	json_set_text(doc, "error.errno", err->sys ? strerrorname_np(err->sys) : NULL);
	set_message(doc, "error.message", err);
	json_set_text(doc, "error.action", err->fixes[0] ? fix_action(err->fixes[0]) : NULL);
	set_fix(doc, "error.fix", err);
	return doc;
}

struct json_object *api_error(const struct err *err)
{
	return error_in(json_object_new_object(), err);
}

struct json_object *api_error_of(const struct ops_match *of, const struct err *err)
{
	struct json_object *doc = json_object_new_object();

	json_set_int(doc, "pid", of->pid);
	json_set_text(doc, "comm", of->comm[0] ? of->comm : NULL);
	return error_in(doc, err);
}

struct json_object *api_version(void)
{
	struct json_object *doc = json_object_new_object();

	json_set_text(doc, "version", JEPROF_CTL_VERSION);
	return doc;
}

/* --- processes --- */

static struct json_object *process_json(const struct ops_process *p)
{
	struct json_object *o = json_object_new_object();
	char name[64];

	json_set_int(o, "pid", p->pid);
	json_set_u64(o, "start_time", p->start_time);
	json_set_text(o, "comm", p->comm);
	json_set_int(o, "uid", p->uid);
	json_set_text(o, "version", p->version[0] ? p->version : NULL);
	json_set_text(o, "prefix", p->prefix);
	json_set_text(o, "image", p->image);
	json_set_text(o, "linkage", jemalloc_linkage_name(p->linkage));
	json_set(o, "config.prof", tristate(p->config_prof));
	for (unsigned int i = 0; i < JEMALLOC_OPTS; i++) {
		snprintf(name, sizeof(name), "opt.%s", jemalloc_opt_name(i));
		if (!p->opts[i].known)
			json_set(o, name, NULL);
		else if (jemalloc_opt_size(i) == 1)
			json_set_bool(o, name, p->opts[i].value != 0);
		else
			json_set_int(o, name, p->opts[i].value);
	}
	json_set(o, "prof.active", tristate(p->prof_active));
	json_set_u64(o, "rss_bytes", p->rss_bytes);
	json_set(o, "limit_bytes", p->limited ? json_object_new_uint64(p->limit_bytes) : NULL);
	json_set(o, "used_bytes", p->limited ? json_object_new_uint64(p->used_bytes) : NULL);
	json_set_text(o, "container", p->container[0] ? p->container : NULL);
	json_set_text(o, "container_id", p->container_id[0] ? p->container_id : NULL);
	json_set_text(o, "pod_uid", p->pod_uid[0] ? p->pod_uid : NULL);
	json_set_text(o, "qos_class", p->qos_class);
	json_set_text(o, "unit", p->unit[0] ? p->unit : NULL);
	json_set_text(o, "service_name", p->service_name);
	json_set_int(o, "ppid", p->ppid);
	json_set_text(o, "command", p->command ? p->command : "");
	json_set(o, "sample", tristate(ops_may_sample(p)));
	json_set(o, "otel_memory", tristate(p->emits));
	if (p->recording)
		set_warning(o, p->recording);
	return o;
}

struct json_object *api_list(const struct ops_process *const *v, size_t n)
{
	struct json_object *array = json_object_new_array();

	for (size_t i = 0; i < n; i++)
		json_object_array_add(array, process_json(v[i]));
	return array;
}

/* --- memory --- */

static struct json_object *advice_json(const struct err *advice)
{
	struct json_object *o = json_object_new_object();
	char text[ERR_TEXT_SIZE], name[ERR_NAME_SIZE];
	bool fix = advice->fixes[0] != FIX_NONE;

	json_set_text(o, "id", err_name(advice->ids[0], name));
	json_set_text(o, "message", err_text(advice, text, sizeof(text)));
	json_set_text(o, "action", fix ? fix_action(advice->fixes[0]) : NULL);
	json_set_text(o, "fix", fix && fix_words ? fix_words(advice, text, sizeof(text)) : NULL);
	return o;
}

/* The members that explain shares with other documents. */
static void set_memory(struct json_object *doc, const struct ops_explain *e)
{
	struct json_object *parts = json_object_new_object(), *advice = json_object_new_array();

	json_set_u64(doc, "rss_bytes", e->memory.rss);
	json_set_u64(doc, "swap_bytes", e->memory.swap);
	for (enum ops_part i = 0; i < OPS_PARTS; i++)
		json_set_int(parts, ops_part_name(i), e->parts[i]);
	json_set(doc, "parts", parts);
	json_set_u64(doc, "anonymous_max_bytes", e->anonymous_max);
	json_set(doc, "sampled", e->counted ? json_object_new_boolean(e->sampled) : NULL);
	json_set_text(doc, "runtime", ops_runtime_name(e->memory.runtime));
	for (size_t i = 0; i < e->n_advice; i++)
		json_object_array_add(advice, advice_json(&e->advice[i]));
	json_set(doc, "advice", advice);
}

static struct json_object *memory_json(const struct ops_explain *e)
{
	struct json_object *doc = json_object_new_object();

	set_memory(doc, e);
	return doc;
}

/* --- check --- */

struct json_object *api_check(const struct ops_checks *checks)
{
	struct json_object *doc = json_object_new_object();
	struct json_object *list = json_object_new_array();

	for (size_t i = 0; i < checks->n; i++) {
		const struct ops_check *c = &checks->v[i];
		struct json_object *o = json_object_new_object();
		char name[ERR_NAME_SIZE];

		json_set_text(o, "name", c->name);
		json_set(o, "ok", tristate(c->ok));
		json_set_text(o, "id", c->err.ids[0] ? err_name(c->err.ids[0], name) : NULL);
		json_set_text(o, "detail", c->detail);
		set_fix(o, "fix", &c->err);
		json_object_array_add(list, o);
	}
	json_set_int(doc, "pid", checks->cost.pid);
	json_set_bool(doc, "ready", checks->ready);
	json_set(doc, "checks", list);
	json_set(doc, "memory", checks->has_memory ? memory_json(&checks->memory) : NULL);
	set_warning(doc, &checks->no_memory);
	json_set_u64(doc, "pause_us", checks->cost.pause_us);
	return doc;
}

static const char *const levels[] = {
	[CONF_NOTE] = "note",
	[CONF_WARNING] = "warning",
	[CONF_ERROR] = "error",
};

struct json_object *api_conf(const char *text, const struct ops_conf *conf)
{
	struct json_object *doc = json_object_new_object();
	struct json_object *findings = json_object_new_array(), *readings = json_object_new_array();
	const struct conf_lint *lint = &conf->lint;
	char version[16];

	json_set_text(doc, "conf", text);
	json_set_text(doc, "jemalloc", conf->version[0] ? conf->version : NULL);
	json_set_bool(doc, "ok", !conf_lint_count(lint, CONF_ERROR));
	for (size_t i = 0; i < lint->n; i++) {
		struct json_object *o = json_object_new_object();

		json_set_text(o, "level", levels[lint->v[i].level]);
		json_set_u64(o, "at", lint->v[i].at);
		json_set_text(o, "detail", lint->v[i].text);
		json_set_text(o, "fix", lint->v[i].fix[0] ? lint->v[i].fix : NULL);
		json_object_array_add(findings, o);
	}
	json_set(doc, "findings", findings);
	json_set_u64(doc, "dropped", lint->dropped);
	for (size_t i = 0; i < lint->n_readings; i++) {
		const struct conf_reading *r = &lint->readings[i];
		struct json_object *o = json_object_new_object();

		json_set_text(o, "from", conf_version_text(r->from, version, sizeof(version)));
		json_set_text(o, "to", conf_version_text(r->to, version, sizeof(version)));
		json_set_text(o, "detail", r->text);
		json_object_array_add(readings, o);
	}
	json_set(doc, "readings", readings);
	return doc;
}

/* --- values --- */

struct json_object *api_status(const struct ops_status *status)
{
	const struct ops_jemalloc *je = &status->jemalloc;
	struct json_object *doc = new_doc(&status->cost);
	char path[64];

	for (size_t i = 0; i < status->n; i++)
		json_set(doc, status->values[i].name, value_of(&status->values[i]));
	json_set_text(doc, "image", je->image);
	json_set_text(doc, "version", je->version[0] ? je->version : NULL);
	json_set_text(doc, "prefix", je->prefix);
	json_set_text(doc, "linkage", jemalloc_linkage_name(je->linkage));
	json_set_text(doc, "conf_variable", je->conf_name);
	json_set_u64(doc, "other_jemallocs", je->others);
	json_set_text(doc, "jemalloc.found_by", je->by_scan ? "scan" : "symbols");
	json_set(doc, "jemalloc.names",
		 je->dump.n_names ? json_object_new_uint64(je->dump.n_names) : NULL);
	set_address(doc, "jemalloc.mallctl", je->mallctl);
	set_address(doc, "jemalloc.malloc_stats_print", je->malloc_stats_print);
	for (unsigned int i = 0; i < JEMALLOC_OPTS; i++) {
		snprintf(path, sizeof(path), "jemalloc.opt_%s", jemalloc_opt_name(i));
		set_address(doc, path, je->opt[i]);
	}
	set_address(doc, "jemalloc.prof_active", je->prof_active);
	set_address(doc, "jemalloc.prof_dump", je->dump.prof_dump);
	json_set_text(doc, "jemalloc.prof_dump_file",
		      je->dump.file_arg ? arch_arg_register(je->dump.file_arg) : NULL);
	set_cost(doc, &status->cost, &status->recording);
	return doc;
}

struct json_object *api_get(const struct ops_value *values, size_t n, const struct ops_cost *cost)
{
	struct json_object *doc = new_doc(cost);

	for (size_t i = 0; i < n; i++)
		json_set(doc, values[i].name, value_of(&values[i]));
	set_cost(doc, cost, NULL);
	return doc;
}

struct json_object *api_set(const struct ops_set *set)
{
	struct json_object *doc = new_doc(&set->cost);

	json_set_text(doc, "name", set->before.name);
	json_set_bool(doc, "changed", set->changed);
	json_set(doc, "before", set->readable ? value_of(&set->before) : NULL);
	json_set(doc, "after", set->readable ? value_of(&set->after) : NULL);
	set_cost(doc, &set->cost, NULL);
	return doc;
}

struct json_object *api_change(const char *name, const struct ops_change *change)
{
	struct json_object *doc = new_doc(&change->cost);

	json_set_bool(doc, "changed", change->changed);
	json_set_bool(doc, "before", change->before);
	json_set_bool(doc, "after", change->after);
	json_set_bool(doc, name, change->after);
	set_cost(doc, &change->cost, &change->warning);
	return doc;
}

struct json_object *api_prefix(const char *prefix, const struct ops_prefix *result)
{
	struct json_object *doc = new_doc(&result->cost);

	json_set_text(doc, "prof.prefix", prefix);
	set_cost(doc, &result->cost, &result->warning);
	return doc;
}

static struct json_object *probe_of(const struct heap_probe *probe)
{
	struct json_object *doc = json_object_new_object();

	json_set_u64(doc, "offset", probe->offset);
	json_set_u64(doc, "semaphore", probe->semaphore);
	return doc;
}

struct json_object *api_probes(const struct ops_sample_progress *p)
{
	struct json_object *doc = new_doc(p->cost);

	json_set_text(doc, "image", p->image);
	json_set(doc, "alloc", probe_of(&p->alloc));
	json_set(doc, "free", probe_of(&p->free));
	json_set_u64(doc, "sample_bytes", p->sample_bytes);
	json_set_u64(doc, "duration_ms", p->duration_ms);
	set_cost(doc, p->cost, NULL);
	return doc;
}

struct json_object *api_reset(const struct ops_reset *reset)
{
	struct json_object *doc = new_doc(&reset->cost);

	json_set_bool(doc, "changed", reset->lg_before != reset->lg_after);
	json_set_u64(doc, "before", reset->lg_before);
	json_set_u64(doc, "after", reset->lg_after);
	json_set_u64(doc, "prof.lg_sample", reset->lg_after);
	set_cost(doc, &reset->cost, &reset->warning);
	return doc;
}

static struct json_object *thread_json(const struct ops_thread *t, bool rates)
{
	struct json_object *o = json_object_new_object();

	json_set_int(o, "tid", t->tid);
	json_set_text(o, "name", t->name);
	json_set(o, "thread.prof.active", tristate(t->active));
	json_set(o, "thread.allocated", t->has_bytes ? json_object_new_uint64(t->allocated) : NULL);
	json_set(o, "thread.deallocated",
		 t->has_bytes ? json_object_new_uint64(t->deallocated) : NULL);
	if (rates) {
		json_set(o, "rate.allocated",
			 t->has_rate ? json_object_new_double(t->allocated_rate) : NULL);
		json_set(o, "rate.deallocated",
			 t->has_rate ? json_object_new_double(t->deallocated_rate) : NULL);
	}
	json_set_bool(o, "changed", t->changed);
	json_set_text(o, "reason", *t->reason ? t->reason : NULL);
	return o;
}

struct json_object *api_threads(const struct ops_threads *threads, bool rates)
{
	struct json_object *doc = new_doc(&threads->cost), *array = json_object_new_array();

	for (size_t i = 0; i < threads->n; i++)
		json_object_array_add(array, thread_json(&threads->v[i], rates));
	json_set(doc, "threads", array);
	json_set_u64(doc, "missed", threads->missed);
	json_set_u64(doc, "unasked", threads->unasked);
	set_cost(doc, &threads->cost, &threads->warning);
	return doc;
}

/* --- profiles --- */

struct json_object *api_dump(const struct ops_dump *dump)
{
	static const char *const via[] = { [OPS_VIA_MEMFD] = "memfd", [OPS_VIA_TARGET] = "target" };
	struct json_object *doc = new_doc(&dump->cost);

	json_set_text(doc, "file", dump->file);
	json_set(doc, "bytes", dump->file ? json_object_new_uint64(dump->bytes) : NULL);
	json_set_text(doc, "via", via[dump->via]);
	set_cost(doc, &dump->cost, &dump->warning);
	return doc;
}

struct json_object *api_bundle(const struct ops_bundle *bundle)
{
	struct json_object *doc =
		bundle->cost.pid ? new_doc(&bundle->cost) : json_object_new_object();

	json_set_text(doc, "file", bundle->file);
	json_set_u64(doc, "bytes", bundle->bytes);
	if (bundle->cost.pid)
		set_cost(doc, &bundle->cost, &bundle->warning);
	return doc;
}

/* --- services --- */

/* The text as an array of lines. */
static struct json_object *lines_json(const char *text)
{
	size_t len = text ? strlen(text) : 0, n = 0;
	char *safe = text ? malloc(OUTPUT_SAFE_SIZE(len)) : NULL;
	struct json_object *json;

	if (!safe)
		return NULL;
	output_safe_lines(text, len, true, safe, &n);
	json = json_object_new_string_len(safe, (int)n);
	free(safe);
	return json;
}

struct json_object *api_unit(const struct ops_unit *u, bool done, bool restarted)
{
	struct json_object *doc = json_object_new_object();
	struct json_object *files = json_object_new_array(), *warnings = json_object_new_array();

	json_set_text(doc, "unit", u->name);
	json_set_bool(doc, "changes", ops_unit_changes(u));
	json_set_bool(doc, "done", done);
	json_set_bool(doc, "restarted", restarted);
	for (size_t i = 0; i < u->n_files; i++) {
		const struct ops_unit_file *f = &u->files[i];
		struct json_object *o;

		if (!f->before && !f->after)
			continue;
		o = json_object_new_object();
		json_set_text(o, "path", f->path);
		json_set(o, "before", lines_json(f->before));
		json_set(o, "after", lines_json(f->after));
		json_object_array_add(files, o);
	}
	json_set(doc, "files", files);
	if (u->enables) {
		json_set_text(doc, "variable", u->variable);
		json_set_text(doc, "was", u->was_set ? u->was : NULL);
		json_set_text(doc, "value", u->value);
		json_set(doc, "pid", u->process.pid ? json_object_new_int(u->process.pid) : NULL);
		json_set_text(doc, "comm", u->process.pid ? u->process.comm : NULL);
		json_set(doc, "opt.prof", tristate(u->opt_prof));
	}
	for (size_t i = 0; i < u->n_notes; i++)
		api_warning_add(warnings, &u->notes[i]);
	return api_with_warnings(doc, warnings);
}

struct json_object *api_undo(const struct ops_undone *v, size_t n)
{
	static const char *const states[] = {
		[OPS_UNDO_NOTHING] = "nothing", [OPS_UNDO_DONE] = "undone",
		[OPS_UNDO_ENDED] = "ended",	[OPS_UNDO_RUNNING] = "recording",
		[OPS_UNDO_FAILED] = "failed",
	};
	struct json_object *doc = json_object_new_object(), *list = json_object_new_array();

	for (const struct ops_undone *u = v; u < v + n; u++) {
		struct json_object *o = json_object_new_object();

		json_set_int(o, "pid", u->pid);
		json_set_text(o, "comm", *u->comm ? u->comm : NULL);
		json_set_text(o, "state", states[u->how]);
		json_set_bool(o, "changed.prof.active", u->active);
		json_set_bool(o, "changed.prof.thread_active_init", u->thread_active_init);
		json_set_bool(o, "changed.sampler", u->sampler);
		json_set_bool(o, "changed.prof.lg_sample", u->rate);
		set_message(o, "reason", &u->why);
		json_object_array_add(list, o);
	}
	json_set(doc, "recordings", list);
	return doc;
}

/* --- growth --- */

static struct json_object *call_json(const struct profile *p, const struct profile_line *line)
{
	const struct profile_function *f = &p->symbols->functions[line->function];
	struct json_object *call = json_object_new_object();

	json_set_text(call, "function", f->name);
	json_set_text(call, "file", f->file);
	json_set(call, "line", line->line ? json_object_new_int64(line->line) : NULL);
	return call;
}

static struct json_object *calls_json(const struct profile *p, size_t stack)
{
	struct json_object *calls = json_object_new_array();
	struct profile_line *lines = calloc(PROFILE_DEPTH_MAX, sizeof(*lines));
	size_t n = 0;

	if (lines)
		n = profile_stack_lines(p, &p->stacks[stack], false, lines, PROFILE_DEPTH_MAX);
	for (size_t i = 0; i < n; i++)
		json_object_array_add(calls, call_json(p, &lines[i]));
	free(lines);
	return calls;
}

static struct json_object *change_json(const struct profile_change *c)
{
	struct json_object *o = json_object_new_object();

	json_set(o, "growth", json_object_new_double(round(c->after - c->before)));
	json_set(o, "error", json_object_new_double(round(profile_change_error(c))));
	json_set(o, "before", json_object_new_double(round(c->before)));
	json_set(o, "after", json_object_new_double(round(c->after)));
	json_set(o, "p", json_object_new_double(c->p));
	json_set_bool(o, "significant", c->significant);
	return o;
}

static struct json_object *before_and_after(const struct ops_diff *d)
{
	struct json_object *o = json_object_new_object();

	json_set(o, "before", json_object_new_double(round(d->before)));
	json_set(o, "after", json_object_new_double(round(d->after)));
	return o;
}

/* null: not known */
static void set_duration(struct json_object *doc, const char *key, int64_t ns)
{
	json_set(doc, key, ns ? json_object_new_double((double)ns / 1e9) : NULL);
}

static void set_growth(struct json_object *doc, const struct ops_diff *d)
{
	struct json_object *functions = json_object_new_array(), *stacks = json_object_new_array();
	bool in_use = d->series.type == PROFILE_INUSE_SPACE;

	json_set_text(doc, "type", profile_type_name(d->series.type));
	json_set(doc, "in_use", in_use ? before_and_after(d) : NULL);
	json_set(doc, "allocated", in_use ? NULL : before_and_after(d));
	if (!in_use) {
		set_duration(doc, "allocated.before_seconds", d->before_ns);
		set_duration(doc, "allocated.after_seconds", d->after_ns);
	}
	json_set(doc, "confidence", json_object_new_double(1 - SIGNIFICANCE_LEVEL));
	json_set_u64(doc, "folded", d->n_folded);
	for (size_t i = 0; i < d->functions.n; i++) {
		const struct profile_change *c = &d->functions.v[i];
		struct json_object *o = change_json(c);

		json_set_text(o, "function", d->series.all.symbols->functions[c->at].name);
		json_object_array_add(functions, o);
	}
	for (size_t i = 0; i < d->stacks.n; i++) {
		struct json_object *o = change_json(&d->stacks.v[i]);

		json_set(o, "calls", calls_json(&d->series.all, d->stacks.v[i].at));
		json_object_array_add(stacks, o);
	}
	json_set(doc, "functions", functions);
	json_set(doc, "stacks", stacks);
}

struct json_object *api_record(const struct ops_record *record, const struct ops_diff *diff,
			       const char *const *files, size_t n)
{
	struct json_object *difference = json_object_new_object();
	struct json_object *doc = new_doc(&record->cost), *series = json_object_new_array(),
			   *written = json_object_new_array();

	json_set_text(doc, "base.file", record->first);
	json_set_u64(doc, "base.bytes", record->first_bytes);
	json_set_text(doc, "file", record->last);
	json_set_u64(doc, "bytes", record->last_bytes);
	for (size_t i = 0; i < record->n_series; i++)
		json_object_array_add(series, json_text(record->series[i]));
	json_set(doc, "series", series);
	json_set_u64(doc, "missed", record->missed);
	json_set_u64(doc, "duration_ms", record->duration_ms);
	json_set_bool(doc, "early", record->early);
	json_set_bool(doc, "reached", record->reached);
	json_set_bool(doc, "adopted", record->adopted);
	if (record->adopted)
		json_set(doc, "opt.prof_active", tristate(record->opt_active));
	json_set_bool(doc, "stopped", record->stopped);
	json_set_bool(doc, "changed.prof.active", record->active);
	json_set_bool(doc, "changed.prof.thread_active_init", record->thread_active_init);
	json_set_bool(doc, "changed.prof.lg_sample", record->rate);
	if (record->allocated_before_bytes) {
		json_set_u64(doc, "allocated_before_bytes", record->allocated_before_bytes);
		json_set_u64(doc, "allocated_after_bytes", record->allocated_after_bytes);
	}
	json_set_u64(doc, "rss_before_bytes", record->rss_before_bytes);
	json_set_u64(doc, "rss_after_bytes", record->rss_after_bytes);
	set_growth(difference, diff);
	for (size_t i = 0; i < n; i++)
		json_object_array_add(written, json_text(files[i]));
	json_set(difference, "files", written);
	json_set(doc, "difference", difference);
	set_cost(doc, &record->cost, &record->warning);
	return doc;
}

struct json_object *api_diff(const char *before, const char *after, const struct ops_diff *diff)
{
	struct json_object *doc = json_object_new_object();

	json_set_text(doc, "before", before);
	json_set_text(doc, "after", after);
	set_growth(doc, diff);
	return doc;
}

/* The place: the calls of a stack, or else one function, or none. */
static struct json_object *place_json(const struct profile *p, const struct profile_leak *leak)
{
	struct json_object *calls;

	if (leak->kind == PROFILE_LEAK_STACK)
		return calls_json(p, leak->stack);
	calls = json_object_new_array();
	if (leak->line.function != PROFILE_NONE)
		json_object_array_add(calls, call_json(p, &leak->line));
	return calls;
}

static struct json_object *leak_threads_json(const struct profile *p,
					     const struct profile_leak *leak)
{
	struct json_object *threads = json_object_new_array();

	for (size_t i = 0; i < leak->n_threads; i++) {
		const struct profile_leak_threads *of = &leak->threads[i];
		const struct profile_thread *t = &p->threads[of->thread];
		struct json_object *o = json_object_new_object();

		json_set_u64(o, "thread", t->id);
		json_set_text(o, "thread_name", *t->name ? t->name : NULL);
		json_set_u64(o, "threads", of->n);
		json_set(o, "share", json_object_new_double(of->share));
		json_object_array_add(threads, o);
	}
	return threads;
}

static struct json_object *leak_json(const struct ops_leaks *l, const struct profile_leak *leak)
{
	static const char *const kinds[] = {
		[PROFILE_LEAK_STACK] = "stack",	      [PROFILE_LEAK_LINE] = "line",
		[PROFILE_LEAK_FUNCTION] = "function", [PROFILE_LEAK_CALLER] = "caller",
		[PROFILE_LEAK_THREAD] = "thread",     [PROFILE_LEAK_TOTAL] = "total",
	};
	struct json_object *o = json_object_new_object();
	const struct profile_thread *t =
		leak->thread != PROFILE_NONE ? &l->series.all.threads[leak->thread] : NULL;

	json_set_text(o, "kind", kinds[leak->kind]);
	json_set_u64(o, "stacks", leak->n_stacks);
	json_set_bool(o, "rest", leak->rest);
	json_set(o, "thread", t ? json_object_new_uint64(t->id) : NULL);
	json_set_text(o, "thread_name", t && *t->name ? t->name : NULL);
	json_set(o, "grew_in", leak_threads_json(&l->series.all, leak));
	json_set(o, "rate", json_object_new_double(leak->rate));
	json_set(o, "rate_error", json_object_new_double(leak->rate_error));
	json_set(o, "rate_low", json_object_new_double(leak->rate_low));
	json_set(o, "rate_high", json_object_new_double(leak->rate_high));
	json_set(o, "before", json_object_new_double(round(leak->first)));
	json_set(o, "after", json_object_new_double(round(leak->last)));
	json_set(o, "p", json_object_new_double(leak->p));
	json_set(o, "calls", place_json(&l->series.all, leak));
	return o;
}

static struct json_object *leaks_json(const struct ops_leaks *l, const struct profile_leak *v,
				      size_t n)
{
	struct json_object *leaks = json_object_new_array();

	for (size_t i = 0; i < n; i++)
		json_object_array_add(leaks, leak_json(l, &v[i]));
	return leaks;
}

struct json_object *api_leaks(const struct ops_leaks *l)
{
	static const char *const limits[] = {
		[OPS_LIMIT_NONE] = NULL,
		[OPS_LIMIT_GIVEN] = "given",
		[OPS_LIMIT_CGROUP] = "cgroup",
		[OPS_LIMIT_MACHINE] = "machine",
	};
	static const char *const times[] = {
		[OPS_TIMES_PROFILES] = "profiles",
		[OPS_TIMES_NAMES] = "names",
		[OPS_TIMES_FILES] = "files",
		[OPS_TIMES_ORDER] = NULL,
	};
	struct json_object *doc = json_object_new_object();
	bool limited = l->limit != OPS_LIMIT_NONE, timed = l->times != OPS_TIMES_ORDER;

	json_set_u64(doc, "profiles", l->series.n);
	json_set_u64(doc, "folded", l->n_folded);
	json_set_text(doc, "times", times[l->times]);
	json_set(doc, "seconds", timed ? json_object_new_double(l->found.seconds) : NULL);
	json_set_u64(doc, "tested", l->found.n_tested);
	json_set_u64(doc, "stacks", l->found.n_stacks);
	json_set(doc, "p_certain", json_object_new_double(l->found.p_certain));
	json_set(doc, "dispersion", json_object_new_double(l->found.dispersion));
	json_set(doc, "confidence",
		 !l->warning.ids[0] ? json_object_new_double(1 - SIGNIFICANCE_LEVEL) : NULL);
	json_set(doc, "leaks", leaks_json(l, l->found.leaks, l->found.n_leaks));
	json_set(doc, "suspects", leaks_json(l, l->found.suspects, l->found.n_suspects));
	json_set(doc, "rate", json_object_new_double(l->rate));
	json_set(doc, "rate_error", json_object_new_double(l->rate_error));
	json_set_text(doc, "limit.of", limits[l->limit]);
	json_set(doc, "limit.bytes", limited ? json_object_new_uint64(l->limit_bytes) : NULL);
	json_set(doc, "limit.used", limited ? json_object_new_uint64(l->used_bytes) : NULL);
	json_set(doc, "seconds_left",
		 isfinite(l->seconds_left) ? json_object_new_double(l->seconds_left) : NULL);
	set_warning(doc, &l->warning);
	return doc;
}

static const char *memory_kind_name(enum memory_kind kind)
{
	static const char *const names[MEMORY_KINDS] = {
		[MEMORY_JEMALLOC] = "jemalloc", [MEMORY_ANONYMOUS] = "anonymous",
		[MEMORY_HEAP] = "heap",		[MEMORY_STACK] = "stack",
		[MEMORY_DATA] = "data",		[MEMORY_FILE] = "file",
		[MEMORY_SHARED] = "shared",
	};

	return names[kind];
}

struct json_object *api_explain(const struct ops_explain *e)
{
	struct json_object *doc = new_doc(&e->cost), *mappings = json_object_new_array();

	set_memory(doc, e);
	if (!e->counted) {
		json_set(doc, "stats", NULL);
	} else {
		json_set_u64(doc, "stats.allocated", e->allocated);
		json_set_u64(doc, "stats.active", e->active);
		json_set_u64(doc, "stats.resident", e->resident);
		json_set_u64(doc, "stats.mapped", e->mapped);
		json_set_u64(doc, "stats.retained", e->retained);
	}
	for (size_t i = 0; i < e->memory.n_items; i++) {
		const struct memory_item *item = &e->memory.items[i];
		struct json_object *o = json_object_new_object();

		json_set_text(o, "kind", memory_kind_name(item->kind));
		json_set_text(o, "path", item->path[0] ? item->path : NULL);
		set_address(o, "start", item->start);
		json_set_u64(o, "rss_bytes", item->sum.rss);
		json_set_u64(o, "size_bytes", item->sum.size);
		json_set_u64(o, "mappings", item->sum.mappings);
		json_object_array_add(mappings, o);
	}
	json_set(doc, "mappings", mappings);
	json_set(doc, "limit_bytes", e->limited ? json_object_new_uint64(e->limit) : NULL);
	json_set(doc, "used_bytes", e->limited ? json_object_new_uint64(e->used) : NULL);
	set_cost(doc, &e->cost, &e->why_not);
	return doc;
}

char *api_explain_text(const struct ops_explain *e)
{
	_cleanup_(json_close) struct json_object *doc = api_explain(e);

	return strdup(json_object_to_json_string_ext(doc, JSON_C_TO_STRING_PRETTY));
}

/* --- report --- */

#define STACK_CALLS 512

static struct json_object *row_json(const struct profile_symbols *s, const struct profile_row *node)
{
	struct json_object *row = json_object_new_object();

	json_set_text(row, "name", s->functions[node->function].name);
	json_set(row, "flat", json_object_new_double(node->flat));
	json_set(row, "cum", json_object_new_double(node->cum));
	json_set(row, "flat_error", json_object_new_double(sqrt(node->flat_variance)));
	json_set(row, "cum_error", json_object_new_double(sqrt(node->cum_variance)));
	return row;
}

static struct json_object *stack_json(const struct profile *p, const struct profile_table_stack *s)
{
	struct json_object *o = json_object_new_object(), *calls = json_object_new_array();
	struct profile_line lines[STACK_CALLS];
	size_t n = profile_stack_lines(p, &p->stacks[s->stack], true, lines, STACK_CALLS);

	json_set(o, "value", json_object_new_double(s->value));
	json_set(o, "error", json_object_new_double(sqrt(s->variance)));
	for (size_t i = 0; i < n; i++)
		json_object_array_add(calls,
				      json_text(p->symbols->functions[lines[i].function].name));
	json_set(o, "calls", calls);
	return o;
}

struct json_object *api_report(const struct profile *p, struct profile_table *table,
			       const struct profile_report_options *options,
			       const struct ops_explain *memory)
{
	struct json_object *doc = json_object_new_object(), *rows = json_object_new_array(),
			   *stacks = json_object_new_array();
	size_t n = profile_report_rows(table, options);

	json_set_text(doc, "type", profile_type_name(options->type));
	json_set(doc, "pid", p->facts.pid ? json_object_new_int64(p->facts.pid) : NULL);
	json_set_text(doc, "comm", p->facts.comm);
	json_set(doc, "processes",
		 options->n_processes ? json_object_new_uint64(options->n_processes) : NULL);
	json_set(doc, "allocated",
		 options->coverage->allocated > 0
			 ? json_object_new_uint64((uint64_t)options->coverage->allocated)
			 : NULL);
	json_set(doc, "opt.prof_active", tristate(options->coverage->from_start));
	json_set(doc, "memory", memory ? memory_json(memory) : NULL);
	json_set_u64(doc, "period", p->period);
	set_duration(doc, "seconds", profile_report_ns(p));
	json_set_u64(doc, "stacks", p->n_stacks);
	json_set(doc, "total", json_object_new_double(options->total));
	json_set(doc, "shown", json_object_new_double(table->total));
	json_set(doc, "shown_error", json_object_new_double(sqrt(table->variance)));
	for (size_t i = 0; i < n; i++)
		json_object_array_add(rows, row_json(p->symbols, &table->rows[i]));
	json_set_u64(doc, "folded", options->n_folded);
	json_set(doc, "rows", rows);
	n = table->stacks ? profile_table_top(table, PROFILE_REPORT_STACKS) : 0;
	for (size_t i = 0; i < n; i++)
		json_object_array_add(stacks, stack_json(p, &table->stacks[i]));
	json_set(doc, "top_stacks", stacks);
	return doc;
}
