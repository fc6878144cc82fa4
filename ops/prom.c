// SPDX-License-Identifier: Apache-2.0
#include "ops/prom.h"

#include "base/cleanup.h"
#include "base/text.h"

#include <errno.h>
#include <inttypes.h>
#include <json-c/json.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* Where a number stands in jemalloc's document, and what it is called here. */
static const struct metric {
	const char *path; /* below "jemalloc", split at the dots */
	const char *name;
	const char *type;
	const char *help;
} metrics[] = {
	{ "stats.allocated", "jemalloc_allocated_bytes", "gauge",
	  "Bytes allocated by the application" },
	{ "stats.active", "jemalloc_active_bytes", "gauge",
	  "Bytes in pages that hold allocations" },
	{ "stats.metadata", "jemalloc_metadata_bytes", "gauge", "Bytes of jemalloc's own data" },
	{ "stats.resident", "jemalloc_resident_bytes", "gauge",
	  "Bytes in physically resident pages" },
	{ "stats.mapped", "jemalloc_mapped_bytes", "gauge", "Bytes in mapped extents" },
	{ "stats.retained", "jemalloc_retained_bytes", "gauge",
	  "Bytes kept mapped for later use without being resident" },
	{ "stats.zero_reallocs", "jemalloc_zero_reallocs_total", "counter",
	  "Calls of realloc() with a size of zero" },
	{ "stats.background_thread.num_threads", "jemalloc_background_threads", "gauge",
	  "Background threads running" },
	{ "stats.background_thread.num_runs", "jemalloc_background_runs_total", "counter",
	  "Runs of the background threads" },
	{ "arenas.narenas", "jemalloc_arenas", "gauge", "Arenas" },
};

static void close_json(struct json_object **o)
{
	json_object_put(*o);
}

static bool find(struct json_object *root, const char *path, struct json_object **found)
{
	char part[64];

	while (*path) {
		size_t len = strcspn(path, ".");

		snprintf(part, sizeof(part), "%.*s", (int)len, path);
		if (!json_object_object_get_ex(root, part, &root))
			return false;
		path += path[len] ? len + 1 : len;
	}
	*found = root;
	return true;
}

/* A label's value: what output_safe() leaves, with backslash and quote escaped. */
static void put_label(FILE *f, const char *name, const char *raw)
{
	char safe[320];

	output_safe(raw, safe, sizeof(safe));
	fprintf(f, "%s=\"", name);
	for (const char *c = safe; *c; c++) {
		if (*c == '"' || *c == '\\')
			fputc('\\', f);
		fputc(*c, f);
	}
	fputc('"', f);
}

static void put_metric(FILE *f, const struct metric *m, struct json_object *root, pid_t pid,
		       const char *comm)
{
	struct json_object *value;

	if (!find(root, m->path, &value) || !json_object_is_type(value, json_type_int))
		return;
	fprintf(f, "# HELP %s %s\n# TYPE %s %s\n%s{pid=\"%d\",", m->name, m->help, m->name, m->type,
		m->name, pid);
	put_label(f, "comm", comm);
	fprintf(f, "} %" PRIu64 "\n", json_object_get_uint64(value));
}

static void put_info(FILE *f, struct json_object *root, pid_t pid, const char *comm)
{
	struct json_object *version;

	if (!find(root, "version", &version))
		return;
	fprintf(f,
		"# HELP jemalloc_info The jemalloc in use\n# TYPE jemalloc_info gauge\n"
		"jemalloc_info{pid=\"%d\",",
		pid);
	put_label(f, "comm", comm);
	fputc(',', f);
	put_label(f, "version", json_object_get_string(version));
	fputs("} 1\n", f);
}

int prom_render(const char *json, pid_t pid, const char *comm, char **text, size_t *len,
		struct err *err)
{
	_cleanup_(close_json) struct json_object *doc = json_tokener_parse(json);
	struct json_object *root;
	char *buf = NULL;
	size_t size = 0;
	FILE *f;

	if (!doc || !json_object_object_get_ex(doc, "jemalloc", &root))
		return err_set(err, ERR_FAILED, "jemalloc's statistics are not the JSON expected");
	f = open_memstream(&buf, &size);
	if (!f)
		return err_sys(err, ERR_FAILED, errno, "cannot write the metrics");
	put_info(f, root, pid, comm);
	for (size_t i = 0; i < sizeof(metrics) / sizeof(metrics[0]); i++)
		put_metric(f, &metrics[i], root, pid, comm);
	if (fclose(f)) {
		free(buf);
		return err_sys(err, ERR_FAILED, ENOMEM, "cannot write the metrics");
	}
	*text = buf;
	*len = size;
	return 0;
}
