// SPDX-License-Identifier: Apache-2.0
#include "ops/stats_text.h"

#include "base/cleanup.h"
#include "base/json.h"
#include "base/prom.h"
#include "base/text.h"

#include <errno.h>
#include <inttypes.h>
#include <json-c/json.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- Prometheus --- */

/* The place of a number in jemalloc's document, and its name here. */
static const struct metric {
	const char *path; /* below "jemalloc", split at the dots */
	const char *name;
	enum prom_type type;
	const char *help;
} metrics[] = {
	{ "stats.allocated", "jemalloc_allocated_bytes", PROM_GAUGE,
	  "Bytes allocated by the application" },
	{ "stats.active", "jemalloc_active_bytes", PROM_GAUGE,
	  "Bytes in pages that hold allocations" },
	{ "stats.metadata", "jemalloc_metadata_bytes", PROM_GAUGE, "Bytes of jemalloc's own data" },
	{ "stats.resident", "jemalloc_resident_bytes", PROM_GAUGE,
	  "Bytes in physically resident pages" },
	{ "stats.mapped", "jemalloc_mapped_bytes", PROM_GAUGE, "Bytes in mapped extents" },
	{ "stats.retained", "jemalloc_retained_bytes", PROM_GAUGE,
	  "Bytes kept mapped for later use without being resident" },
	{ "stats.zero_reallocs", "jemalloc_zero_reallocs_total", PROM_COUNTER,
	  "Calls of realloc() with a size of zero" },
	{ "stats.background_thread.num_threads", "jemalloc_background_threads", PROM_GAUGE,
	  "Background threads running" },
	{ "stats.background_thread.num_runs", "jemalloc_background_runs_total", PROM_COUNTER,
	  "Runs of the background threads" },
	{ "arenas.narenas", "jemalloc_arenas", PROM_GAUGE, "Arenas" },
};

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

static void put_process(FILE *f, const char *name, const struct stats_of *of)
{
	fprintf(f, "%s{pid=\"%d\",", name, of->pid);
	prom_label(f, "comm", of->comm);
}

/* jemalloc's documents, one for each process. */
struct documents {
	const struct stats_of *of;
	struct json_object **doc, **root; /* "jemalloc" in it */
	size_t n;
	bool openmetrics;
};

static void close_documents(struct documents *d)
{
	for (size_t i = 0; d->doc && i < d->n; i++)
		json_object_put(d->doc[i]);
	free(d->doc);
	free(d->root);
}

static void put_metric(FILE *f, const struct metric *m, const struct documents *d)
{
	struct json_object *value;
	bool begun = false;

	for (size_t i = 0; i < d->n; i++) {
		if (!find(d->root[i], m->path, &value) ||
		    !json_object_is_type(value, json_type_int))
			continue;
		if (!begun)
			prom_head(f, d->openmetrics, m->name, m->type, m->help);
		begun = true;
		put_process(f, m->name, &d->of[i]);
		fprintf(f, "} %" PRIu64 "\n", json_object_get_uint64(value));
	}
}

static int write_prometheus(const struct stats_of *v, size_t n, bool openmetrics, FILE *out,
			    struct err *err)
{
	static const char info[] = "jemalloc_info";
	_cleanup_(close_documents) struct documents d = {
		.of = v,
		.doc = calloc(n + 1, sizeof(struct json_object *)),
		.root = calloc(n + 1, sizeof(struct json_object *)),
		.n = n,
		.openmetrics = openmetrics,
	};
	struct json_object *version;
	bool begun = false;

	if (!d.doc || !d.root)
		return err_no_memory(err);
	for (size_t i = 0; i < n; i++) {
		d.doc[i] = json_tokener_parse(v[i].text);
		if (!d.doc[i] || !json_object_object_get_ex(d.doc[i], "jemalloc", &d.root[i]))
			return err_raise(err, ERROR_STATS_MALFORMED);
	}
	for (size_t i = 0; i < n; i++) {
		if (!find(d.root[i], "version", &version) ||
		    !json_object_is_type(version, json_type_string))
			continue;
		if (!begun)
			prom_head(out, openmetrics, info, PROM_INFO, "The jemalloc in use");
		begun = true;
		put_process(out, info, &v[i]);
		fputc(',', out);
		prom_label(out, "version", json_object_get_string(version));
		fputs("} 1\n", out);
	}
	for (size_t i = 0; i < sizeof(metrics) / sizeof(metrics[0]); i++)
		put_metric(out, &metrics[i], &d);
	return 0;
}

/* --- statistics --- */

#define LINE_MAX_BYTES 4096

static void write_text(const char *text, size_t len, FILE *out)
{
	char raw[LINE_MAX_BYTES + 1], safe[sizeof(raw) * 4];

	while (len) {
		size_t n = 0;

		while (n < len && n < LINE_MAX_BYTES && text[n] && text[n] != '\n' &&
		       text[n] != '\t')
			n++;
		/* A piece of a line, without a tab; terminal control characters become \xNN. */
		memcpy(raw, text, n);
		raw[n] = '\0';
		fputs(output_safe(raw, safe, sizeof(safe)), out);
		text += n;
		len -= n;
		if (len && n < LINE_MAX_BYTES) {
			fputs(*text ? (char[]){ *text, '\0' } : "\\x00", out);
			text++;
			len--;
		}
	}
}

int stats_text_check(enum ops_stats_format format, const struct stats_of *of, struct err *err)
{
	_cleanup_(json_close) struct json_object *doc = NULL;
	const unsigned char *text = (const unsigned char *)of->text;

	if (format == OPS_STATS_TEXT)
		return 0;
	/* A terminal obeys C0, DEL, and C1 (U+0080 to U+009F); jemalloc writes "\t" and "\n". */
	for (size_t i = 0; i < of->len; i++)
		if ((text[i] < ' ' && text[i] != '\t' && text[i] != '\n') || text[i] == 0x7f ||
		    (text[i] == 0xc2 && text[i + 1] >= 0x80 && text[i + 1] < 0xa0))
			return err_raise(err, ERROR_STATS_CONTROL_CHARACTER);
	if (of->len > INT_MAX)
		return err_raise(err, ERROR_STATS_TOO_LARGE);
	/* The whole text must be one object, with a member "jemalloc". */
	doc = json_parse(of->text, of->len);
	if (!json_object_is_type(doc, json_type_object) ||
	    !json_object_object_get_ex(doc, "jemalloc", NULL)) {
		err_raise(err, ERROR_STATS_MALFORMED);
		return err_advise(err, FIX_STATS_TEXT_SHOWS);
	}
	return 0;
}

int stats_text_write(enum ops_stats_format format, const struct stats_of *v, size_t n, FILE *out,
		     struct err *err)
{
	if (format == OPS_STATS_TEXT) {
		write_text(v->text, v->len, out);
		return 0;
	}
	if (format == OPS_STATS_PROM || format == OPS_STATS_OPENMETRICS)
		return write_prometheus(v, n, format == OPS_STATS_OPENMETRICS, out, err);
	return fwrite(v->text, 1, v->len, out) == v->len
		       ? 0
		       : err_raise_sys(err, ERROR_STATS_UNKEPT, errno);
}
