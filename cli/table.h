// SPDX-License-Identifier: Apache-2.0
/* Rows of text in columns that are as wide as they need to be. */
#ifndef CLI_TABLE_H
#define CLI_TABLE_H

#include "base/err.h"

#include <stddef.h>

#define TABLE_COLUMNS_MAX 16
#define TABLE_CELL_SIZE 160

struct table_row {
	char cell[TABLE_COLUMNS_MAX][TABLE_CELL_SIZE]; /* safe to print; "" shows as "-" */
};

/* Print the titles and `n` rows of `columns` cells. */
int table_print(const char *const *titles, size_t columns, const struct table_row *rows, size_t n,
		struct err *err) __must_check;

#endif
