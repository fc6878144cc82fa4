// SPDX-License-Identifier: Apache-2.0
#include "ops/stats_text.h"

#include "base/cleanup.h"
#include "base/json.h"
#include "base/text.h"

#include <errno.h>
#include <inttypes.h>
#include <json-c/json.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* --- Prometheus --- */

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

/* `comm` is raw. The text is malloc()ed, the caller frees it. ERR_FAILED when `json` is no JSON. */
static int prom_render(const char *json, pid_t pid, const char *comm, char **text, size_t *len,
		       struct err *err)
{
	_cleanup_(close_json) struct json_object *doc = json_tokener_parse(json);
	struct json_object *root;
	char *buf = NULL;
	size_t size = 0;
	FILE *f;

	if (!doc || !json_object_object_get_ex(doc, "jemalloc", &root))
		return err_raise(err, ERROR_STATS_MALFORMED);
	f = open_memstream(&buf, &size);
	if (!f)
		return err_raise_sys(err, ERROR_METRICS_UNWRITTEN, errno);
	put_info(f, root, pid, comm);
	for (size_t i = 0; i < sizeof(metrics) / sizeof(metrics[0]); i++)
		put_metric(f, &metrics[i], root, pid, comm);
	if (fclose(f)) {
		free(buf);
		return err_no_memory(err);
	}
	*text = buf;
	*len = size;
	return 0;
}

/* --- statistics --- */

#define LINE_MAX_BYTES 4096

static void close_tokener(struct json_tokener **t)
{
	if (*t)
		json_tokener_free(*t);
}

/* The whole of it is one object, with a member "jemalloc". */
static int check_json(const char *text, size_t len, struct err *err)
{
	_cleanup_(close_tokener) struct json_tokener *t = json_tokener_new();
	_cleanup_(json_close) struct json_object *doc = NULL;
	size_t end;

	if (!t)
		return err_no_memory(err);
	if (len > INT_MAX)
		return err_raise(err, ERROR_STATS_TOO_LARGE);
	doc = json_tokener_parse_ex(t, text, (int)len);
	end = doc ? json_tokener_get_parse_end(t) : 0;
	while (doc && end < len && strchr(" \t\r\n", text[end]))
		end++;
	if (!doc || end != len || !json_object_is_type(doc, json_type_object) ||
	    !json_object_object_get_ex(doc, "jemalloc", NULL)) {
		err_raise(err, ERROR_STATS_MALFORMED);
		return err_advise(err, FIX_STATS_TEXT_SHOWS);
	}
	return 0;
}

/* In JSON a control character other than white space stands nowhere, and in jemalloc's nowhere. */
static int check_bytes(const char *text, size_t len, struct err *err)
{
	for (size_t i = 0; i < len; i++)
		if (!text[i] || text[i] == 0x7f ||
		    ((unsigned char)text[i] < ' ' && !strchr("\t\r\n", text[i])))
			return err_raise(err, ERROR_STATS_CONTROL_CHARACTER);
	return 0;
}

/* A piece of a line, without a tab; what a terminal obeys becomes \xNN. */
static void write_safe(const char *piece, size_t len, FILE *out)
{
	char raw[LINE_MAX_BYTES + 1], safe[sizeof(raw) * 4];

	memcpy(raw, piece, len);
	raw[len] = '\0';
	fputs(output_safe(raw, safe, sizeof(safe)), out);
}

static void write_text(const char *text, size_t len, FILE *out)
{
	while (len) {
		size_t n = 0;

		while (n < len && n < LINE_MAX_BYTES && text[n] && text[n] != '\n' &&
		       text[n] != '\t')
			n++;
		write_safe(text, n, out);
		text += n;
		len -= n;
		if (len && n < LINE_MAX_BYTES) {
			fputs(*text ? (char[]){ *text, '\0' } : "\\x00", out);
			text++;
			len--;
		}
	}
}

int stats_text_write(enum ops_stats_format format, const char *text, size_t len,
		     const struct stats_of *of, FILE *out, struct err *err)
{
	_cleanup_(cleanup_free) char *prom = NULL;

	if (format == OPS_STATS_TEXT) {
		write_text(text, len, out);
		return 0;
	}
	if (check_bytes(text, len, err) || check_json(text, len, err))
		return -1;
	if (format == OPS_STATS_PROM) {
		if (prom_render(text, of->pid, of->comm, &prom, &len, err))
			return -1;
		text = prom;
	}
	return fwrite(text, 1, len, out) == len ? 0 : err_raise_sys(err, ERROR_STATS_UNKEPT, errno);
}
