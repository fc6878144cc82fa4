// SPDX-License-Identifier: Apache-2.0
/* Printing: data on stdout, messages on stderr. */
#ifndef CLI_OUT_H
#define CLI_OUT_H

#include "base/err.h"
#include "base/json.h"
#include "cli/args.h"

#include <stddef.h>
#include <stdio.h>

/* Print and release the document. */
int out_json(struct json_object *doc, struct err *err) __must_check;
int out_json_to(FILE *to, struct json_object *doc, struct err *err) __must_check;

/* Print a line of data. The caller passes names from a target through output_safe(). */
int out_line(struct err *err, const char *fmt, ...) __printf_like(2, 3) __must_check;

/* Write bytes to stdout as they are. */
int out_write(const char *text, size_t len, struct err *err) __must_check;

/* Flush stdout. ERR_OUTPUT: this or an earlier write failed. */
int out_flush(struct err *err) __must_check;

/*
 * Whether writing `len` bytes will not block. A pipe that polls as writable takes PIPE_BUF bytes;
 * more is only certain to fit if it is empty.
 */
bool out_is_read(int fd, size_t len);

/* Print what the operation cost the process on stderr, unless -q or --json. */
void out_cost(const struct args *args, const struct ops_cost *cost);

/* Print a warning on stderr, unless -q or "". In JSON it is a member of the document. */
void out_warning(const struct args *args, const struct err *warning);

/* An err_warn_fn, for warnings during work: on stderr; in a child, through the controller. */
void out_warn(void *ctx, const struct err *warning);

/* "4242 (redis-server)". */
#define OUT_WHO_SIZE 320
const char *out_who(const struct ops_cost *cost, char *buf, size_t size);

/* A mallctl value. */
#define OUT_VALUE_SIZE 2100
const char *out_value(const struct ops_value *value, char *buf, size_t size);

/* "-" for what is unknown. */
const char *out_tristate(enum tristate t);

/* Show progress over many threads on stderr, if that is a terminal. */
void out_progress(void *ctx, size_t done, size_t total);

/* Print the value of the switch `name`, and whether it changed. */
int out_change(const struct args *args, const char *name, const struct ops_change *change,
	       struct err *err) __must_check;

/* Print the error, as text or JSON. Returns the exit status. */
int out_error(const struct args *args, const struct err *err);

/* An escape sequence if `fd` gets colors, else "". */
enum ink { INK_NONE, INK_GREEN, INK_RED, INK_YELLOW, INK_BOLD };
const char *out_ink(const struct args *args, int fd, enum ink ink);
bool out_has_color(const struct args *args, int fd);

/* The size of the terminal on stdout; 0: stdout is not a terminal. */
struct out_size {
	size_t columns, lines;
};
struct out_size out_size(void);

/* Rows of text, in columns as wide as needed. */

#define TABLE_COLUMNS_MAX 20
#define TABLE_CELL_SIZE 160

struct table_row {
	char cell[TABLE_COLUMNS_MAX][TABLE_CELL_SIZE]; /* safe to print; "" shows as "-" */
};

/* Print the titles and `n` rows of `columns` cells. */
int table_print(const char *const *titles, size_t columns, const struct table_row *rows, size_t n,
		struct err *err) __must_check;

#endif
