// SPDX-License-Identifier: Apache-2.0
#include "cli/table.h"

#include "cli/out.h"

#include <stdio.h>
#include <string.h>

static const char *text_of(const char *cell)
{
	return *cell ? cell : "-";
}

/* Of UTF-8, whose characters are several bytes; the wide ones of Asia count as one. */
static int width_of(const char *text)
{
	int n = 0;

	for (; *text; text++)
		n += (*text & 0xc0) != 0x80;
	return n;
}

static int print_row(const struct table_row *row, size_t columns, const int *width, struct err *err)
{
	/* Twice: what is short on a line may be long in bytes. */
	char line[2 * TABLE_COLUMNS_MAX * (TABLE_CELL_SIZE + 2)];
	size_t at = 0;

	for (size_t c = 0; c < columns; c++) {
		const char *text = text_of(row->cell[c]);
		int pad = c + 1 < columns ? width[c] - width_of(text) + 2 : 0;

		at += (size_t)snprintf(line + at, sizeof(line) - at, "%s%*s", text, pad, "");
	}
	return out_line(err, "%s", line);
}

static void widen(const struct table_row *row, size_t columns, int *width)
{
	for (size_t c = 0; c < columns; c++) {
		int len = width_of(text_of(row->cell[c]));

		width[c] = len > width[c] ? len : width[c];
	}
}

int table_print(const char *const *titles, size_t columns, const struct table_row *rows, size_t n,
		struct err *err)
{
	int width[TABLE_COLUMNS_MAX] = { 0 };
	struct table_row head = { 0 };

	for (size_t c = 0; c < columns; c++)
		snprintf(head.cell[c], TABLE_CELL_SIZE, "%s", titles[c]);
	widen(&head, columns, width);
	for (size_t i = 0; i < n; i++)
		widen(&rows[i], columns, width);
	if (print_row(&head, columns, width, err))
		return -1;
	for (size_t i = 0; i < n; i++) {
		if (print_row(&rows[i], columns, width, err))
			return -1;
	}
	return 0;
}
