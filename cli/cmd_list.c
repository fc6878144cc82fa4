// SPDX-License-Identifier: Apache-2.0
#include "api/json.h"
#include "base/cleanup.h"
#include "base/text.h"
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

static const struct option_def options_of_list[] = {
	{ "uid", 0, VALUE(STRING, uid), "USER", "only processes of this user, by name or number",
	  NULL },
	{ "cgroup", 0, VALUE(STRING, cgroup), "GROUP",
	  "only processes of this control group, path or name", NULL },
	{ "sort", 0, VALUE(CHOICE, sort), "BY", "pid, or rss: most memory first", sorts },
	{ .name = NULL },
};

#define COLUMNS (sizeof(titles) / sizeof(*titles))
#define CELL_SIZE TABLE_CELL_SIZE

static const char *const titles[] = { "PID",	     "COMM",	"USER",	       "VERSION",
				      "PREFIX",	     "LINKAGE", "CONFIG.PROF", "OPT.PROF",
				      "PROF.ACTIVE", "RSS",	"CONTAINER",   "IMAGE" };

/* Up to the first '-': the commit that follows in jemalloc's own version is for status. */
static void short_version(const char *version, char *buf, size_t size)
{
	char safe[CELL_SIZE];

	output_safe(version, safe, sizeof(safe));
	snprintf(buf, size, "%.*s", (int)strcspn(safe, "-"), safe);
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

static void fill_row(const struct ops_process *p, struct table_row *row)
{
	snprintf(row->cell[0], CELL_SIZE, "%d", p->pid);
	output_safe(p->comm, row->cell[1], CELL_SIZE);
	user_name(p->uid, row->cell[2], CELL_SIZE);
	short_version(p->version, row->cell[3], CELL_SIZE);
	output_safe(p->prefix, row->cell[4], CELL_SIZE);
	snprintf(row->cell[5], CELL_SIZE, "%s", jemalloc_linkage_name(p->linkage));
	snprintf(row->cell[6], CELL_SIZE, "%s", out_tristate(p->config_prof));
	snprintf(row->cell[7], CELL_SIZE, "%s", out_tristate(p->opt_prof));
	snprintf(row->cell[8], CELL_SIZE, "%s", out_tristate(p->prof_active));
	text_size(p->rss_bytes, row->cell[9], CELL_SIZE);
	output_safe(p->container, row->cell[10], CELL_SIZE);
	output_safe(text_file_name(p->image), row->cell[11], CELL_SIZE);
}

/* Most memory first, and what is equal as it was. */
static int rss_cmp(const void *a, const void *b)
{
	const struct ops_process *x = *(const struct ops_process *const *)a;
	const struct ops_process *y = *(const struct ops_process *const *)b;

	if (x->rss_bytes != y->rss_bytes)
		return x->rss_bytes > y->rss_bytes ? -1 : 1;
	return x < y ? -1 : x > y;
}

/* The rows in the order to show them, in an array that the caller frees; NULL without memory. */
static const struct ops_process **in_order(const struct ops_list *list, int sort)
{
	const struct ops_process **v = calloc(list->n + 1, sizeof(*v));

	for (size_t i = 0; v && i < list->n; i++)
		v[i] = &list->v[i];
	if (v && sort == SORT_RSS)
		qsort(v, list->n, sizeof(*v), rss_cmp);
	return v;
}

static int print_table(const struct ops_process *const *v, size_t n, struct err *err)
{
	_cleanup_(cleanup_free) struct table_row *rows = calloc(n + 1, sizeof(*rows));

	if (!rows)
		return err_no_memory(err);
	for (size_t i = 0; i < n; i++)
		fill_row(v[i], &rows[i]);
	return table_print(titles, COLUMNS, rows, n, err);
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

static void talk(const struct args *args, const struct ops_list *list)
{
	char text[ERR_TEXT_SIZE], fix[ERR_TEXT_SIZE];

	if (args->quiet)
		return;
	if (list->unreadable && !args->json)
		fprintf(stderr, "%zu process%s could not be looked at%s\n", list->unreadable,
			list->unreadable == 1 ? "" : "es", geteuid() ? "; root sees them all" : "");
	if (list->unanswered)
		fprintf(stderr,
			"%zu process%s not looked at: reading %s memory or files takes too long "
			"or fails\n",
			list->unanswered, list->unanswered == 1 ? " was" : "es were",
			list->unanswered == 1 ? "its" : "their");
	if (list->missed)
		fprintf(stderr, "%zu process%s not looked at: %s\n", list->missed,
			list->missed == 1 ? " was" : "es were",
			err_text(&list->why, text, sizeof(text)));
	if (list->missed && list->why.fixes[0])
		fprintf(stderr, "  fix: %s\n", fix_text(&list->why, fix, sizeof(fix)));
}

static int print(const struct args *args, const struct ops_list *list, struct err *err)
{
	_cleanup_(cleanup_free) const struct ops_process **v = in_order(list, args->sort);

	if (!v)
		return err_no_memory(err);
	if (args->json ? out_json(api_list(v, list->n), err) : print_table(v, list->n, err))
		return -1;
	talk(args, list);
	for (size_t i = 0; i < list->n; i++)
		out_warning(args, &v[i]->recording);
	return 0;
}

static int run(const struct args *args, struct err *err)
{
	_cleanup_(ops_list_fini) struct ops_list list = { 0 };
	struct ops_list_filter filter = { .comm = args->comm,
					  .by_uid = args->uid != NULL,
					  .debuginfod = args->debuginfod,
					  .cgroup = args->cgroup };

	if (args->pid)
		return err_raise(err, ERROR_LIST_TAKES_NO_PID);
	if (args->image)
		return err_raise(err, ERROR_LIST_TAKES_NO_IMAGE);
	if ((args->uid && parse_uid(args->uid, &filter.uid, err)) || ops_list(&filter, &list, err))
		return -1;
	return print(args, &list, err);
}

const struct command cmd_list = {
	.name = "list",
	.words = "",
	.help = "show every process that uses jemalloc, and touch none",
	.options = options_of_list,
	.pid_by_option = true,
	.run = run,
};
