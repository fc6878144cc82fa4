// SPDX-License-Identifier: Apache-2.0
#include "cli/out.h"

#include "api/json.h"
#include "base/ink.h"
#include "base/text.h"
#include "cli/fixes.h"
#include "io/errand.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#define JSON_STYLE \
	(JSON_C_TO_STRING_PRETTY | JSON_C_TO_STRING_SPACED | JSON_C_TO_STRING_NOSLASHESCAPE)

#define PROGRESS_MIN 20 /* fewer threads take no time worth showing */
#define PROGRESS_WIDTH 40

static int failed(struct err *err)
{
	return err_raise_sys(err, ERROR_STDOUT_UNWRITTEN, errno);
}

int out_write(const char *text, size_t len, struct err *err)
{
	return fwrite(text, 1, len, stdout) == len ? 0 : failed(err);
}

int out_line(struct err *err, const char *fmt, ...)
{
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vprintf(fmt, ap);
	va_end(ap);
	return n < 0 || putchar('\n') == EOF ? failed(err) : 0;
}

int out_flush(struct err *err)
{
	return fflush(stdout) || ferror(stdout) ? failed(err) : 0;
}

int out_json_to(FILE *to, struct json_object *doc, struct err *err)
{
	int n;

	/* Print 0.99 as 0.99, not as the nearest double. */
	json_c_set_serialization_double_format("%.15g", JSON_C_OPTION_GLOBAL);
	n = fprintf(to, "%s\n", json_object_to_json_string_ext(doc, JSON_STYLE));

	json_object_put(doc);
	return n < 0 ? failed(err) : 0;
}

int out_json(struct json_object *doc, struct err *err)
{
	return out_json_to(stdout, doc, err);
}

const char *out_who(const struct ops_cost *cost, char *buf, size_t size)
{
	char comm[PROC_COMM_SIZE * 4];

	snprintf(buf, size, "%d (%s)", cost->pid, output_safe(cost->comm, comm, sizeof(comm)));
	return buf;
}

void out_cost(const struct args *args, const struct ops_cost *cost)
{
	if (args->quiet || args->json)
		return;
	if (cost->mode == INJECTOR_POKE)
		fprintf(stderr, "wrote one byte; no thread was stopped\n");
	if (!cost->stops)
		return;
	if (cost->stops == 1)
		fprintf(stderr, "stopped one thread (%d) for %" PRIu64 " µs\n", cost->tid,
			cost->pause_us);
	else
		fprintf(stderr,
			"stopped one thread at a time, %u times, for %" PRIu64 " µs in all\n",
			cost->stops, cost->pause_us);
	if (cost->prolonged)
		fprintf(stderr,
			"the timeout of a system call was restarted %u times, which delays it by "
			"%" PRIu64 " ms or more in all\n",
			cost->prolonged, cost->late_us / 1000);
}

void out_warning(const struct args *args, const struct err *warning)
{
	char text[ERR_TEXT_SIZE];

	if (warning->ids[0] && !args->json && !args->quiet)
		fprintf(stderr, "jeprof-ctl: %swarning:%s %s\n",
			out_ink(args, STDERR_FILENO, INK_YELLOW),
			out_ink(args, STDERR_FILENO, INK_NONE),
			api_warning_text(warning, text, sizeof(text)));
}

void out_warn(void *ctx, const struct err *warning)
{
	char text[ERR_TEXT_SIZE];

	if (confined_inside())
		errand_warn(ctx, warning);
	else
		fprintf(stderr, "jeprof-ctl: warning: %s\n",
			api_warning_text(warning, text, sizeof(text)));
}

const char *out_value(const struct ops_value *value, char *buf, size_t size)
{
	if (value->ret) {
		snprintf(buf, size, "-");
		return buf;
	}
	switch (value->ctl->type) {
	case MALLCTL_BOOL:
		snprintf(buf, size, "%s", value->v.b ? "true" : "false");
		break;
	case MALLCTL_U32:
		snprintf(buf, size, "%" PRIu32, value->v.u32);
		break;
	case MALLCTL_U64:
	case MALLCTL_SIZE:
		snprintf(buf, size, "%" PRIu64, value->v.u64);
		break;
	case MALLCTL_SSIZE:
		snprintf(buf, size, "%" PRId64, value->v.i64);
		break;
	case MALLCTL_STRING:
		output_safe(value->text, buf, size);
		break;
	case MALLCTL_VOID:
		buf[0] = '\0';
		break;
	}
	return buf;
}

const char *out_tristate(enum tristate t)
{
	return t == TRI_UNKNOWN ? "-" : t ? "true" : "false";
}

void out_progress(void *ctx, size_t done, size_t total)
{
	(void)ctx;
	if (total < PROGRESS_MIN || !isatty(STDERR_FILENO))
		return;
	if (done < total)
		fprintf(stderr, "\r%zu of %zu threads", done, total);
	else
		fprintf(stderr, "\r%*s\r", PROGRESS_WIDTH, "");
	fflush(stderr);
}

int out_change(const struct args *args, const char *name, const struct ops_change *change,
	       struct err *err)
{
	char who[OUT_WHO_SIZE];

	out_warning(args, &change->warning);
	out_cost(args, &change->cost);
	if (args->json)
		return out_json(api_change(name, change), err);
	out_who(&change->cost, who, sizeof(who));
	return out_line(err, "%s is %s%s in %s", name, change->changed ? "now " : "",
			change->after ? "true" : "false", who);
}

int out_error(const struct args *args, const struct err *err)
{
	const char *ids_wanted = getenv("JEPROF_CTL_ERROR_IDS");
	char text[ERR_TEXT_SIZE], fix[ERR_TEXT_SIZE], name[ERR_NAME_SIZE];
	struct err unwritten = ERR_INIT;

	/* The reader closed the pipe, as head(1) does: only the exit status says so. */
	if (err->code == ERR_OUTPUT && err->sys == EPIPE)
		return err_exit_status(err->code);
	if (args->json && !ferror(stdout) && !out_json(api_error(err), &unwritten) &&
	    !out_flush(&unwritten))
		return err_exit_status(err->code);
	fprintf(stderr, "%sjeprof-ctl:%s %s\n", out_ink(args, STDERR_FILENO, INK_RED),
		out_ink(args, STDERR_FILENO, INK_NONE), err_text(err, text, sizeof(text)));
	if (err->fixes[0])
		fprintf(stderr, "  fix: %s\n", fix_text(err, fix, sizeof(fix)));
	/* For scripts that read the output meant for people. */
	if (ids_wanted && *ids_wanted) {
		fputs("  [", stderr);
		for (size_t i = 0; i < ERR_DEPTH && err->ids[i]; i++)
			fprintf(stderr, "%s%s", i ? " " : "", err_name(err->ids[i], name));
		for (size_t i = 0; i < ERR_FIXES && err->fixes[i]; i++)
			fprintf(stderr, "%s%s", i ? " " : "; fix: ", fix_name(err->fixes[i], name));
		fputs("]\n", stderr);
	}
	return err_exit_status(err->code);
}

const char *out_ink(const struct args *args, int fd, enum ink ink)
{
	static const char *const inks[] = {
		[INK_NONE] = INK_OFF,	    [INK_GREEN] = INK_TEXT_GREEN,
		[INK_RED] = INK_TEXT_RED,   [INK_YELLOW] = INK_TEXT_YELLOW,
		[INK_BOLD] = INK_TEXT_BOLD,
	};

	return out_has_color(args, fd) ? inks[ink] : "";
}

bool out_has_color(const struct args *args, int fd)
{
	const char *no_color = getenv("NO_COLOR"), *term = getenv("TERM");

	if (args->color != COLOR_AUTO)
		return args->color == COLOR_ALWAYS;
	return isatty(fd) && !(no_color && *no_color) && !(term && !strcmp(term, "dumb"));
}

/* The terminal size in the environment, which takes precedence as in ls(1) and git(1); 0: none. */
static size_t told(const char *name)
{
	const char *text = getenv(name);
	int64_t n;
	struct err ignored;

	return text && *text && !text_int_parse(text, 1, 10000, &n, &ignored) ? (size_t)n : 0;
}

struct out_size out_size(void)
{
	struct out_size size = { told("COLUMNS"), told("LINES") };
	struct winsize w = { 0 };

	if (!isatty(STDOUT_FILENO))
		return (struct out_size){ 0 };
	(void)ioctl(STDOUT_FILENO, TIOCGWINSZ, &w);
	size.columns = size.columns ? size.columns : w.ws_col ? w.ws_col : 80;
	size.lines = size.lines ? size.lines : w.ws_row ? w.ws_row : 24;
	return size;
}

/* --- tables --- */

static const char *text_of(const char *cell)
{
	return *cell ? cell : "-";
}

static int print_row(const struct table_row *row, size_t columns, const int *width, struct err *err)
{
	/* Twice the size: text that takes few columns may take many bytes. */
	char line[2 * TABLE_COLUMNS_MAX * (TABLE_CELL_SIZE + 2)];
	size_t at = 0;

	for (size_t c = 0; c < columns; c++) {
		const char *text = text_of(row->cell[c]);
		int pad = c + 1 < columns ? width[c] - (int)text_columns(text) + 2 : 0;

		at += (size_t)snprintf(line + at, sizeof(line) - at, "%s%*s", text, pad, "");
	}
	return out_line(err, "%s", line);
}

static void widen(const struct table_row *row, size_t columns, int *width)
{
	for (size_t c = 0; c < columns; c++) {
		int len = (int)text_columns(text_of(row->cell[c]));

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

bool out_is_read(int fd, size_t len)
{
	struct pollfd out = { .fd = fd, .events = POLLOUT };
	struct stat st;
	int used;

	if (poll(&out, 1, 0) == 0)
		return false;
	if (len <= PIPE_BUF || fstat(fd, &st) || !S_ISFIFO(st.st_mode))
		return true;
	return ioctl(fd, FIONREAD, &used) || (!used && (long)len <= fcntl(fd, F_GETPIPE_SZ));
}
