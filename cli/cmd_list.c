// SPDX-License-Identifier: Apache-2.0
#include "api/json.h"
#include "api/metrics.h"
#include "base/cleanup.h"
#include "base/text.h"
#include "base/vec.h"
#include "cli/commands.h"
#include "cli/fixes.h"
#include "cli/out.h"

#include <ctype.h>
#include <limits.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum sort { SORT_PID, SORT_RSS };
static const char *const sorts[] = { [SORT_PID] = "pid", [SORT_RSS] = "rss", NULL };

enum list_format { LIST_TABLE, LIST_JSON, LIST_PROM, LIST_OPENMETRICS };
static const char *const formats[] = {
	[LIST_TABLE] = "table",
	[LIST_JSON] = "json",
	[LIST_PROM] = "prom",
	[LIST_OPENMETRICS] = "openmetrics",
	NULL,
};

/* Columns of a row; the first COLUMNS_UNASKED are the default, in this order. */
enum column {
	COLUMN_PID,
	COLUMN_COMM,
	COLUMN_USER,
	COLUMN_VERSION,
	COLUMN_PREFIX,
	COLUMN_LINKAGE,
	COLUMN_CONFIG_PROF,
	COLUMN_OPT_PROF,
	COLUMN_PROF_ACTIVE,
	COLUMN_RSS,
	COLUMN_CONTAINER,
	COLUMN_IMAGE,
	COLUMNS_UNASKED,
	COLUMN_PPID = COLUMNS_UNASKED,
	COLUMN_UNIT,
	COLUMN_COMMAND,
	COLUMN_SAMPLE,
	COLUMN_OTEL_MEMORY,
	COLUMNS
};

/* Names for --columns; in upper case, their titles. */
static const char *const names[] = {
	"pid",	       "comm",	   "user",	  "version", "prefix",	    "linkage",
	"config.prof", "opt.prof", "prof.active", "rss",     "container",   "image",
	"ppid",	       "unit",	   "command",	  "sample",  "otel_memory", NULL,
};
_Static_assert(sizeof(names) / sizeof(*names) == COLUMNS + 1, "each column has a name");
_Static_assert(COLUMNS <= TABLE_COLUMNS_MAX, "a table can hold all columns");

static const struct option_def options_of_list[] = {
	{ "uid", 0, VALUE(STRING, uid), "USER", "only processes of this user, by name or number",
	  NULL },
	{ "sort", 0, VALUE(CHOICE, sort), "BY", "pid, or rss: most memory first", sorts },
	{ "tree", 0, VALUE(FLAG, tree), NULL, "show children below their parents", NULL },
	{ "emitters", 0, VALUE(FLAG, emitters), NULL,
	  "also show processes without jemalloc that have probes otel_memory", NULL },
	{ "columns", 'o', VALUE(STRING, columns), "LIST",
	  "show these, such as pid,unit,command; +unit adds that one", names },
	{ "format", 'f', VALUE(CHOICE, format), "FORMAT",
	  "table, json, or for Prometheus prom or openmetrics (table; json with --json)", formats },
	{ .name = NULL },
};

#define CELL_SIZE TABLE_CELL_SIZE
#define TREE_DEPTH_MAX 16

struct view {
	enum column columns[TABLE_COLUMNS_MAX];
	size_t n;
	const struct ops_process **v; /* rows in display order */
	unsigned char *depth;	      /* of each row: number of ancestors shown */
	size_t n_rows;
};

static void view_fini(const struct view *view)
{
	free(view->v);
	free(view->depth);
}

static void user_name(uid_t uid, char *buf, size_t size)
{
	char text[4096];
	struct passwd pw, *found = NULL;

	if (!getpwuid_r(uid, &pw, text, sizeof(text), &found) && found)
		output_safe(found->pw_name, buf, size);
	else
		snprintf(buf, size, "%u", uid);
}

/* Indented below its parent in a tree. */
static void comm_cell(const struct ops_process *p, unsigned int depth, char *cell)
{
	size_t used = 0;

	for (unsigned int i = 1; i < depth; i++)
		used += (size_t)snprintf(cell + used, CELL_SIZE - used, "   ");
	if (depth)
		used += (size_t)snprintf(cell + used, CELL_SIZE - used, "`- ");
	output_safe(p->comm, cell + used, CELL_SIZE - used);
}

static void fill_cell(enum column column, const struct ops_process *p, unsigned int depth,
		      char *cell)
{
	char safe[CELL_SIZE];

	switch (column) {
	case COLUMN_PID:
	case COLUMN_PPID:
		snprintf(cell, CELL_SIZE, "%d", column == COLUMN_PID ? p->pid : p->ppid);
		break;
	case COLUMN_COMM:
		comm_cell(p, depth, cell);
		break;
	case COLUMN_USER:
		user_name(p->uid, cell, CELL_SIZE);
		break;
	case COLUMN_VERSION:
		/* The commit that follows a '-' is left to status. */
		output_safe(p->version, safe, sizeof(safe));
		snprintf(cell, CELL_SIZE, "%.*s", (int)strcspn(safe, "-"), safe);
		break;
	case COLUMN_PREFIX:
		output_safe(p->prefix, cell, CELL_SIZE);
		break;
	case COLUMN_LINKAGE:
		snprintf(cell, CELL_SIZE, "%s", jemalloc_linkage_name(p->linkage));
		break;
	case COLUMN_CONFIG_PROF:
		snprintf(cell, CELL_SIZE, "%s", out_tristate(p->config_prof));
		break;
	case COLUMN_OPT_PROF:
		snprintf(cell, CELL_SIZE, "%s", out_tristate(p->opt_prof));
		break;
	case COLUMN_PROF_ACTIVE:
		snprintf(cell, CELL_SIZE, "%s", out_tristate(p->prof_active));
		break;
	case COLUMN_RSS:
		text_size(p->rss_bytes, cell, CELL_SIZE);
		break;
	case COLUMN_CONTAINER:
		output_safe(p->container, cell, CELL_SIZE);
		break;
	case COLUMN_IMAGE:
		output_safe(text_file_name(p->image), cell, CELL_SIZE);
		break;
	case COLUMN_UNIT:
		output_safe(p->unit, cell, CELL_SIZE);
		break;
	case COLUMN_COMMAND:
		output_safe(p->command ? p->command : "", cell, CELL_SIZE);
		break;
	case COLUMN_SAMPLE:
	case COLUMN_OTEL_MEMORY:
		snprintf(cell, CELL_SIZE, "%s",
			 out_tristate(column == COLUMN_SAMPLE ? ops_may_sample(p) : p->emits));
		break;
	case COLUMNS:
		break;
	}
}

/* --- which columns --- */

static int add_column(struct view *view, const char *name, struct err *err)
{
	for (enum column c = 0; c < COLUMNS; c++) {
		if (strcasecmp(names[c], name) != 0)
			continue;
		for (size_t i = 0; i < view->n; i++) {
			if (view->columns[i] == c)
				return 0;
		}
		view->columns[view->n++] = c;
		return 0;
	}
	err_raise(err, ERROR_COLUMN_UNKNOWN, .name = name);
	return args_mean(err, name, names, &cmd_list);
}

/* "pid,unit", or "+unit" for the default columns and one more. */
static int find_columns(const char *list, struct view *view, struct err *err)
{
	_cleanup_(cleanup_free) char *copy = strdup(list ? list : "+");
	char *save = NULL;

	if (!copy)
		return err_no_memory(err);
	while (*copy == '+' && view->n < COLUMNS_UNASKED) {
		view->columns[view->n] = (enum column)view->n;
		view->n++;
	}
	for (const char *name = strtok_r(copy, "+,", &save); name;
	     name = strtok_r(NULL, "+,", &save)) {
		if (add_column(view, name, err))
			return -1;
	}
	return view->n ? 0 : err_raise(err, ERROR_NO_COLUMNS);
}

/* --- in which order --- */

/* Most memory first; a stable order. */
static int rss_cmp(const void *a, const void *b)
{
	const struct ops_process *x = *(const struct ops_process *const *)a;
	const struct ops_process *y = *(const struct ops_process *const *)b;

	if (x->rss_bytes != y->rss_bytes)
		return x->rss_bytes > y->rss_bytes ? -1 : 1;
	return x < y ? -1 : x > y;
}

/* A row in the tree; rows are numbered as in the list. */
#define NO_ROW SIZE_MAX
struct branch {
	size_t parent, first, next; /* children are added last to first */
	bool shown;
};

/* The last row of a process, so that its children follow all of its rows. */
static size_t row_of(const struct ops_list *list, pid_t pid)
{
	size_t low = 0, high = list->n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (list->v[middle].pid <= pid)
			low = middle + 1;
		else
			high = middle;
	}
	return pid && low && list->v[low - 1].pid == pid ? low - 1 : NO_ROW;
}

/* Show this row and its descendants. Not recursive: a chain of processes may be very long. */
static void show_branch(struct view *view, struct branch *tree, const struct ops_list *list,
			size_t root)
{
	unsigned int depth = 0;
	size_t at = root;

	for (;;) {
		if (!tree[at].shown) {
			tree[at].shown = true;
			view->v[view->n_rows] = &list->v[at];
			view->depth[view->n_rows++] =
				(unsigned char)(depth < TREE_DEPTH_MAX ? depth : TREE_DEPTH_MAX);
		}
		if (tree[at].first != NO_ROW) {
			size_t child = tree[at].first;

			tree[at].first = tree[child].next;
			at = child;
			depth++;
		} else if (at == root) {
			return;
		} else {
			at = tree[at].parent;
			depth--;
		}
	}
}

/* `sorted`: row numbers in the order in which siblings are to be shown. */
static int show_tree(struct view *view, const struct ops_list *list, const size_t *sorted,
		     struct err *err)
{
	_cleanup_(cleanup_free) struct branch *tree = calloc(list->n + 1, sizeof(*tree));

	if (!tree)
		return err_no_memory(err);
	for (size_t i = 0; i < list->n; i++)
		tree[i] = (struct branch){ row_of(list, list->v[i].above), NO_ROW, NO_ROW, false };
	for (size_t i = list->n; i-- > 0;) {
		size_t row = sorted[i], parent = tree[row].parent;

		if (parent == NO_ROW || parent == row)
			continue;
		tree[row].next = tree[parent].first;
		tree[parent].first = row;
	}
	for (size_t i = 0; i < list->n; i++) {
		if (tree[sorted[i]].parent == NO_ROW)
			show_branch(view, tree, list, sorted[i]);
	}
	return 0;
}

/* Fill in the rows in display order. */
static int put_in_order(const struct args *args, const struct ops_list *list, struct view *view,
			struct err *err)
{
	_cleanup_(cleanup_free) size_t *rows = calloc(list->n + 1, sizeof(*rows));

	view->v = calloc(list->n + 1, sizeof(*view->v));
	view->depth = calloc(list->n + 1, sizeof(*view->depth));
	if (!rows || !view->v || !view->depth)
		return err_no_memory(err);
	for (size_t i = 0; i < list->n; i++)
		view->v[i] = &list->v[i];
	view->n_rows = list->n;
	if (args->sort == SORT_RSS)
		vec_sort(view->v, list->n, rss_cmp);
	if (!args->tree)
		return 0;
	for (size_t i = 0; i < list->n; i++)
		rows[i] = (size_t)(view->v[i] - list->v);
	view->n_rows = 0;
	return show_tree(view, list, rows, err);
}

#define TITLE_SIZE 16
static const char *title_of(enum column column, char title[TITLE_SIZE])
{
	size_t i;

	for (i = 0; names[column][i] && i < TITLE_SIZE - 1; i++)
		title[i] = (char)toupper((unsigned char)names[column][i]);
	title[i] = '\0';
	return title;
}

static int print_table(const struct view *view, struct err *err)
{
	_cleanup_(cleanup_free) struct table_row *rows = calloc(view->n_rows + 1, sizeof(*rows));
	char titles[TABLE_COLUMNS_MAX][TITLE_SIZE];
	const char *heads[TABLE_COLUMNS_MAX];

	if (!rows)
		return err_no_memory(err);
	for (size_t c = 0; c < view->n; c++)
		heads[c] = title_of(view->columns[c], titles[c]);
	for (size_t i = 0; i < view->n_rows; i++) {
		for (size_t c = 0; c < view->n; c++)
			fill_cell(view->columns[c], view->v[i], view->depth[i], rows[i].cell[c]);
	}
	return table_print(heads, view->n, rows, view->n_rows, err);
}

static int print_metrics(const struct ops_list *list, bool openmetrics, struct err *err)
{
	_cleanup_(cleanup_free) char *text = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);
	int failed;

	if (!out)
		return err_no_memory(err);
	failed = api_metrics(out, list, NULL, openmetrics, err);
	if (fclose(out) && !failed)
		failed = err_no_memory(err);
	return failed ? -1 : out_write(text, len, err);
}

static int parse_uid(const char *text, uid_t *uid, struct err *err)
{
	const struct passwd *pw;
	int64_t n;

	if (isdigit((unsigned char)*text)) {
		if (text_int_parse(text, 0, UINT_MAX, &n, err))
			return err_within(err, ERROR_IN_OPTION, .name = "uid");
		*uid = (uid_t)n;
		return 0;
	}
	pw = getpwnam(text);
	if (!pw)
		return err_raise(err, ERROR_NO_SUCH_USER, .name = text);
	*uid = pw->pw_uid;
	return 0;
}

static void talk(const struct args *args, enum list_format format, const struct ops_list *list)
{
	char text[ERR_TEXT_SIZE], fix[ERR_TEXT_SIZE];

	if (args->quiet)
		return;
	if (list->unreadable && format == LIST_TABLE)
		fprintf(stderr, "%zu process%s could not be inspected%s\n", list->unreadable,
			list->unreadable == 1 ? "" : "es",
			geteuid() ? "; root can inspect them all" : "");
	if (list->unanswered)
		fprintf(stderr,
			"%zu process%s not inspected: reading %s memory or files takes too long "
			"or fails\n",
			list->unanswered, list->unanswered == 1 ? " was" : "es were",
			list->unanswered == 1 ? "its" : "their");
	if (list->missed)
		fprintf(stderr, "%zu process%s not inspected: %s\n", list->missed,
			list->missed == 1 ? " was" : "es were",
			err_text(&list->why, text, sizeof(text)));
	if (list->missed && list->why.fixes[0])
		fprintf(stderr, "  fix: %s\n", fix_text(&list->why, fix, sizeof(fix)));
}

static int print(const struct args *args, enum list_format format, const struct ops_list *list,
		 struct view *view, struct err *err)
{
	int failed = put_in_order(args, list, view, err);

	if (failed)
		return -1;
	switch (format) {
	case LIST_TABLE:
		failed = print_table(view, err);
		break;
	case LIST_JSON:
		failed = out_json(api_list(view->v, view->n_rows), err);
		break;
	case LIST_PROM:
	case LIST_OPENMETRICS:
		failed = print_metrics(list, format == LIST_OPENMETRICS, err);
		break;
	}
	if (failed)
		return -1;
	talk(args, format, list);
	for (size_t i = 0; i < view->n_rows; i++)
		if (view->v[i]->recording)
			out_warning(args, view->v[i]->recording);
	return 0;
}

static bool shows(const struct view *view, enum column column)
{
	for (size_t i = 0; i < view->n; i++) {
		if (view->columns[i] == column)
			return true;
	}
	return false;
}

static int format_wanted(const struct args *args, enum list_format *format, struct err *err)
{
	char wanted[32];

	if (args->format == FORMAT_DEFAULT)
		*format = args->json ? LIST_JSON : LIST_TABLE;
	else
		*format = (enum list_format)args->format;
	snprintf(wanted, sizeof(wanted), "-f %s", formats[*format]);
	if (args->json && *format != LIST_JSON)
		return err_raise(err, ERROR_EXCLUSIVE, .name = "--json", .what = wanted);
	return 0;
}

static int run(const struct args *args, struct err *err)
{
	_cleanup_(ops_list_fini) struct ops_list list = { 0 };
	_cleanup_(view_fini) struct view view = { 0 };
	struct ops_list_request request = { .debuginfod = args->debuginfod,
					    .stop_fd = -1,
					    .tree = args->tree };
	enum list_format format;

	args_filter(args, &request.filter);
	request.filter.by_uid = args->uid != NULL;
	if (args->pid)
		return err_raise(err, ERROR_LIST_TAKES_NO_PID);
	if (args->image)
		return err_raise(err, ERROR_LIST_TAKES_NO_IMAGE);
	if (format_wanted(args, &format, err) || find_columns(args->columns, &view, err))
		return -1;
	request.emitters = args->emitters || shows(&view, COLUMN_OTEL_MEMORY);
	request.labels = format != LIST_TABLE;
	request.command = format == LIST_JSON || shows(&view, COLUMN_COMMAND);
	if ((args->uid && parse_uid(args->uid, &request.filter.uid, err)) ||
	    ops_list(&request, &list, err))
		return -1;
	return print(args, format, &list, &view, err);
}

const struct command cmd_list = {
	.name = "list",
	.words = "",
	.help = "show every process that uses jemalloc, and touch none",
	.options = options_of_list,
	.pid_by_option = true,
	.run = run,
};
