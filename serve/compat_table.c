// SPDX-License-Identifier: Apache-2.0
#include "base/cleanup.h"
#include "base/hashmap.h"
#include "base/vec.h"
#include "io/memory_file.h"
#include "serve/compat.h"

#include <stdlib.h>
#include <string.h>

struct row {
	const char *name;
	size_t len;
	double flat, cum;
	size_t line; /* the last line that counted it: recursion counts once */
};

struct rows {
	struct row *v;
	size_t n, room;
	struct hashmap map;
	double total;
};

static void rows_fini(struct rows *rows)
{
	free(rows->v);
	hashmap_fini(&rows->map);
}

struct key {
	const struct rows *rows;
	const char *name;
	size_t len;
};

static bool is_row(const void *ctx, uint32_t i)
{
	const struct key *key = ctx;
	const struct row *row = &key->rows->v[i];

	return row->len == key->len && !memcmp(row->name, key->name, key->len);
}

static struct row *row_of(struct rows *rows, const char *name, size_t len)
{
	const struct key key = { rows, name, len };
	uint64_t hash = hashmap_hash(name, len, 0);
	uint32_t i = hashmap_find(&rows->map, hash, is_row, &key);

	if (i != HASHMAP_NONE)
		return &rows->v[i];
	if (!vec_grow(rows->v, rows->room, rows->n) ||
	    !hashmap_add(&rows->map, hash, (uint32_t)rows->n))
		return NULL;
	rows->v[rows->n] = (struct row){ .name = name, .len = len };
	return &rows->v[rows->n++];
}

/* "main;work;malloc_it 4096", `len` bytes; names may contain spaces. */
static bool add_line(struct rows *rows, const char *line, size_t len, size_t number)
{
	const char *end = line + len, *space = memrchr(line, ' ', len), *at = line;
	double bytes = space ? strtod(space, NULL) : 0;

	rows->total += bytes;
	while (space && at <= space) {
		const char *next = memchr(at, ';', (size_t)(space - at));
		struct row *row = row_of(rows, at, (size_t)((next ? next : space) - at));

		if (!row)
			return false;
		if (row->line != number)
			row->cum += bytes;
		row->line = number;
		if (!next)
			row->flat += bytes;
		at = next ? next + 1 : end;
	}
	return true;
}

static int largest_first(const void *a, const void *b)
{
	const struct row *x = a, *y = b;

	if (x->flat != y->flat)
		return x->flat < y->flat ? 1 : -1;
	return x->cum < y->cum ? 1 : x->cum > y->cum ? -1 : 0;
}

static double percent(double part, double whole)
{
	return whole > 0 ? 100 * part / whole : 0;
}

static int print(FILE *out, const void *ctx, struct err *err)
{
	const struct rows *rows = ctx;
	const double mega = 1 << 20;
	double sum = 0;

	(void)err;
	fprintf(out, "Total: %.1f MB\n", rows->total / mega);
	for (size_t i = 0; i < rows->n; i++) {
		const struct row *row = &rows->v[i];

		sum += row->flat;
		fprintf(out, "%8.1f %5.1f%% %5.1f%% %8.1f %5.1f%% %.*s\n", row->flat / mega,
			percent(row->flat, rows->total), percent(sum, rows->total), row->cum / mega,
			percent(row->cum, rows->total), (int)row->len, row->name);
	}
	return 0;
}

int compat_table(int folded, int out, struct err *err)
{
	_cleanup_(rows_fini) struct rows rows = { 0 };
	_cleanup_(cleanup_free) char *text = NULL;
	size_t number = 0;
	uint64_t bytes;

	if (memory_file_size(folded, &bytes, err) || memory_file_read(folded, bytes, &text, err))
		return -1;
	for (const char *at = text; *at;) {
		size_t len = strcspn(at, "\n");

		if (!add_line(&rows, at, len, ++number))
			return err_no_memory(err);
		at += len + (at[len] == '\n');
	}
	vec_sort(rows.v, rows.n, largest_first);
	return memory_file_fill(out, print, &rows, err);
}
