// SPDX-License-Identifier: Apache-2.0
#include "ops/stats_text.h"

#include "base/cleanup.h"
#include "base/json.h"
#include "base/text.h"
#include "ops/prom.h"

#include <errno.h>
#include <limits.h>
#include <string.h>

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
		return err_sys(err, ERR_FAILED, ENOMEM, "cannot read the statistics");
	if (len > INT_MAX)
		return err_set(err, ERR_FAILED, "the statistics are too large for JSON");
	doc = json_tokener_parse_ex(t, text, (int)len);
	end = doc ? json_tokener_get_parse_end(t) : 0;
	while (doc && end < len && strchr(" \t\r\n", text[end]))
		end++;
	if (!doc || end != len || !json_object_is_type(doc, json_type_object) ||
	    !json_object_object_get_ex(doc, "jemalloc", NULL)) {
		err_set(err, ERR_FAILED, "jemalloc's statistics are not the JSON expected");
		return err_fix(err, "stats -f text shows what the process wrote");
	}
	return 0;
}

/* In JSON a control character other than white space stands nowhere, and in jemalloc's nowhere. */
static int check_bytes(const char *text, size_t len, struct err *err)
{
	for (size_t i = 0; i < len; i++)
		if (!text[i] || text[i] == 0x7f ||
		    ((unsigned char)text[i] < ' ' && !strchr("\t\r\n", text[i])))
			return err_set(err, ERR_FAILED,
				       "jemalloc's statistics have a control character in them");
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
	return fwrite(text, 1, len, out) == len
		       ? 0
		       : err_sys(err, ERR_FAILED, errno, "cannot keep the statistics");
}
