// SPDX-License-Identifier: Apache-2.0
#include "cli/report.h"
#include "api/json.h"

#include "base/cleanup.h"
#include "base/text.h"
#include "cli/apart.h"
#include "cli/out.h"
#include "cli/several.h"
#include "io/errand.h"
#include "io/graphviz.h"
#include "io/memory_file.h"
#include "ops/render.h"
#include "ops/report.h"
#include "ops/source.h"
#include "profile/bound.h"
#include "profile/format/format.h"
#include "profile/list.h"
#include "profile/report.h"
#include "profile/symbols.h"
#include "profile/table.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define ROWS_READ 25 /* one page of a terminal */
#define ROWS 80	     /* as many as jeprof and pprof draw */

/* Kinds of output: the reports first, then the formats of profile/format/format.h. */
enum report_kind {
	REPORT_TEXT,
	REPORT_TREE,
	REPORT_JEPROF,
	REPORT_FORMAT,
	REPORT_TRACES,
	REPORT_LIST
};

struct report {
	const struct args *args;
	enum report_kind kind;
	enum profile_format format; /* of REPORT_FORMAT */
	bool type_given;	    /* options.type was given, not a default */
	struct profile_report_options options;
	struct profile_fold fold;
	double node_fraction;
	struct ops_report data;
	struct json_object *warnings; /* with --json; NULL: none are kept */
};

const char *const report_units[] = { "auto", "B", "KB", "MB", "GB", NULL };

const char *const report_formats[] = {
	"text",	      "tree",	   "jeprof", "pprof", "folded", "html", "svg",
	"speedscope", "callgrind", "dot",    "json",  "raw",	NULL,
};

static void close_report(struct report *r)
{
	ops_report_fini(&r->data);
	json_close(&r->warnings);
}

/* The number of the one flag that is set, among mutually exclusive ones; 0: none. */
static int only_one(const bool *const *flags, int n, const char *what, int *which, struct err *err)
{
	int set = 0;

	*which = 0;
	for (int i = 0; i < n; i++) {
		set += *flags[i];
		*which = *flags[i] ? i : *which;
	}
	return set > 1 ? err_raise(err, ERROR_EXCLUSIVE_OPTIONS, .text = what) : 0;
}

static int read_type(const struct args *args, struct report *r, struct err *err)
{
	const bool *const flags[] = { &args->inuse_space, &args->inuse_objects, &args->alloc_space,
				      &args->alloc_objects };
	static const enum profile_type types[] = { PROFILE_INUSE_SPACE, PROFILE_INUSE_OBJECTS,
						   PROFILE_ALLOC_SPACE, PROFILE_ALLOC_OBJECTS };
	int which;

	if (only_one(flags, 4, "--inuse-space, --inuse-objects, --alloc-space and --alloc-objects",
		     &which, err))
		return -1;
	r->options.type = types[which];
	r->type_given = *flags[which];
	return 0;
}

static int read_grain(const struct args *args, enum profile_grain *grain, struct err *err)
{
	const bool *const flags[] = { &args->by_function, &args->by_line, &args->by_file,
				      &args->by_address };
	int which;

	if (only_one(flags, 4, "--functions, --lines, --files and --addresses", &which, err))
		return -1;
	*grain = (enum profile_grain)which;
	return 0;
}

static int read_kind(const struct args *args, const char *name, struct report *r, struct err *err)
{
	static const char *const reports[] = {
		[REPORT_TEXT] = "text", [REPORT_TREE] = "tree", [REPORT_JEPROF] = "jeprof"
	};

	r->kind = args->tree || args->peek ? REPORT_TREE
		  : args->list		   ? REPORT_LIST
		  : args->traces	   ? REPORT_TRACES
					   : REPORT_TEXT;
	if (!name)
		return 0;
	for (int i = 0; i < REPORT_FORMAT; i++) {
		if (!strcmp(name, reports[i])) {
			r->kind = (enum report_kind)i;
			return 0;
		}
	}
	r->kind = REPORT_FORMAT;
	r->format = profile_format_by_name(name);
	return r->format != PROFILE_FORMAT_NONE
		       ? 0
		       : profile_format_unknown(name, "text, tree, jeprof, ", err);
}

/* At most two options that replace the table may be given, and one of them must be a format. */
static int check_ways(const struct args *args, const struct report *r, const char *name,
		      struct err *err)
{
	char format[64];
	const char *const ways[] = {
		args->peek   ? "--peek"
		: args->tree ? "--tree"
			     : NULL,
		args->list ? "--list" : NULL,
		args->traces ? "--traces" : NULL,
		name && (r->kind != REPORT_TREE || args->list || args->traces) ? format : NULL,
		args->json && (r->kind == REPORT_FORMAT || args->peek || args->list || args->traces)
			? "--json"
			: NULL,
	};
	const char *one = NULL;

	snprintf(format, sizeof(format), "-f %s", name ? name : "");
	for (size_t i = 0; i < sizeof(ways) / sizeof(*ways); i++) {
		if (one && ways[i])
			return err_raise(err, ERROR_EXCLUSIVE, .name = one, .what = ways[i]);
		one = ways[i] ? ways[i] : one;
	}
	return 0;
}

/* A profile that is to be read again must be complete. */
int report_check_stacks(const struct args *args, const char *name, struct err *err)
{
	enum profile_format format = name ? profile_format_by_name(name) : PROFILE_FORMAT_NONE;

	return args->max_stacks && (format == PROFILE_FORMAT_NONE || format == PROFILE_FORMAT_RAW)
		       ? err_raise(err, ERROR_MAX_STACKS_WITHOUT_FORMAT)
		       : 0;
}

int report_symbols(const struct args *args, struct ops_symbolize_options *symbols, struct err *err)
{
	const char *root = args->root;
	struct stat st;

	if (root && stat(root, &st))
		return err_raise_sys(err, ERROR_ROOT_UNUSABLE, errno);
	if (root && !S_ISDIR(st.st_mode))
		return err_raise_sys(err, ERROR_ROOT_UNUSABLE, ENOTDIR);
	*symbols = (struct ops_symbolize_options){
		.root = root,
		.debuginfod = args->debuginfod,
		.trust_images = args->trust_images,
		.no_cache = args->no_cache,
		.on_warning = args->quiet || args->json ? NULL : out_warn,
	};
	return 0;
}

struct json_object *report_warnings(const struct args *args, bool json,
				    struct ops_symbolize_options *symbols)
{
	symbols->on_warning = json ? api_warning_add : args->quiet ? NULL : out_warn;
	symbols->ctx = json ? json_object_new_array() : NULL;
	return symbols->ctx;
}

const struct profile_fold *report_fold(const struct args *args, struct profile_fold *fold)
{
	*fold = (struct profile_fold){ args->allocators.v, args->allocators.n };
	return args->no_fold || args->keep_allocator ? NULL : fold;
}

static int read_fraction(const char *text, double *fraction, struct err *err)
{
	char *end;

	if (!text)
		return 0;
	*fraction = strtod(text, &end);
	if (end == text || *end || !(*fraction >= 0 && *fraction <= 1))
		return err_raise(err, ERROR_NOT_A_FRACTION);
	return 0;
}

static int read_line(const struct args *args, const char *format, struct report *r,
		     struct ops_report_request *request, struct err *err)
{
	static const char *const columns[] = {
		[PROFILE_BY_FUNCTION] = "function",
		[PROFILE_BY_LINE] = "line",
		[PROFILE_BY_FILE] = "file",
		[PROFILE_BY_ADDRESS] = "address",
	};
	struct err ignored;
	int64_t n = 0;

	if (read_kind(args, format, r, err) || report_check_stacks(args, format, err) ||
	    check_ways(args, r, format, err) || read_type(args, r, err) ||
	    read_grain(args, &request->grain, err) ||
	    read_fraction(args->nodefraction, &r->node_fraction, err) ||
	    report_symbols(args, &request->symbols, err))
		return -1;
	/* A number is jemalloc's number of a thread; anything else is the name of threads. */
	if (args->thread) {
		request->options.only_thread = true;
		if (text_int_parse(args->thread, 0, INT64_MAX, &n, &ignored))
			request->options.thread_name = args->thread;
		request->options.thread = (uint64_t)n;
	}
	r->options.unit = args->show_bytes ? PROFILE_UNIT_B : (enum profile_unit)args->unit;
	r->options.by_cum = args->cum;
	r->options.node_count = args->nodecount >= 0 ? (size_t)args->nodecount
				: r->kind == REPORT_JEPROF || r->kind == REPORT_TRACES ? 0
				: r->kind == REPORT_TEXT && !args->json		       ? ROWS_READ
										       : ROWS;
	r->options.how_all = "-n 0 shows all";
	r->options.how_folded = REPORT_HOW_FOLDED;
	r->options.edge_fraction = args->peek ? 0 : 0.001;
	r->options.column = columns[request->grain];
	r->options.has_thread = request->options.only_thread;
	r->options.thread = request->options.thread;
	r->options.thread_name = request->options.thread_name;
	return 0;
}

static int choose_type(struct report *r, struct err *err)
{
	const struct profile *p = &r->data.profile;

	if (!r->type_given)
		r->options.type = profile_default_type(p);
	if (profile_knows(p, r->options.type))
		return 0;
	if (p->facts.only_alloc_space) {
		err_raise(err, ERROR_COUNTS_ALLOC_SPACE,
			  .what = profile_type_name(r->options.type));
		return err_advise(err, FIX_SHOW_ALLOC_SPACE);
	}
	/* jeprof says "Total: 0" by saying nothing. */
	if (r->kind == REPORT_JEPROF)
		return 0;
	err_raise(err, ERROR_NO_CUMULATIVE_COUNTS);
	return err_advise(err, FIX_PROF_ACCUM);
}

static int write_format(FILE *out, const void *ctx, struct err *err)
{
	const struct report *r = ctx;
	struct profile_format_options options = {
		.type = r->options.type,
		.keep_allocator = r->args->keep_allocator,
		.node_count = r->args->nodecount > 0 ? (size_t)r->args->nodecount : 0,
		.node_fraction = r->node_fraction,
	};

	return render_into(out, &r->data.profile, r->format, &options, r->args->output, err);
}

/* The functions asked for may exist, but be folded. */
static int no_match(const struct report *r, struct err *err)
{
	return err->ids[0] == ERROR_NO_MATCH && r->data.n_folded
		       ? err_advise(err, FIX_SHOW_ALLOCATORS)
		       : -1;
}

static int report_list(const struct report *r, const struct profile_table *table, FILE *out,
		       struct err *err)
{
	_cleanup_(ops_source_fini) struct ops_source source = { .profile = &r->data.profile,
								.root = r->args->root };

	return profile_list(&r->data.profile, table, r->args->list, &r->options, ops_source_find,
			    &source, out, err)
		       ? no_match(r, err)
		       : 0;
}

static int write_report(FILE *out, const void *ctx, struct err *err)
{
	_cleanup_(profile_table_fini) struct profile_table table = { 0 };
	const struct report *r = ctx;
	const struct profile *p = &r->data.profile;

	if (r->kind == REPORT_FORMAT)
		return write_format(out, r, err);
	if (profile_table_init(&table, p, r->options.type,
			       r->kind == REPORT_TEXT || r->kind == REPORT_TRACES, err))
		return -1;
	profile_table_sort(&table, p->symbols,
			   (struct profile_table_order){
				   .by_cum = r->options.by_cum,
				   .by_sign = r->kind == REPORT_JEPROF,
			   });
	profile_table_trim(&table, r->node_fraction);
	if (r->args->json)
		return out_json_to(
			out,
			api_with_warnings(api_report(p, &table, &r->options,
						     r->data.has_memory ? &r->data.memory : NULL),
					  json_object_get(r->warnings)),
			err);
	if (r->kind == REPORT_JEPROF)
		return profile_report_jeprof(p, &table, &r->options, out, err);
	if (r->kind == REPORT_LIST)
		return report_list(r, &table, out, err);
	if (r->kind == REPORT_TRACES)
		return profile_report_traces(p, &table, &r->options, out, err);
	if (r->kind == REPORT_TREE)
		return profile_report_tree(p, &table, &r->options, r->args->peek, out, err)
			       ? no_match(r, err)
			       : 0;
	return profile_report_text(p, &table, &r->options, out, err);
}

static int write_out(const struct report *r, struct err *err)
{
	if (args_to_file(r->args))
		return ops_write_file(r->args->output, r->args->force, write_report, r, err);
	if (r->kind == REPORT_FORMAT && profile_format_info(r->format)->binary &&
	    apart_to_terminal()) {
		err_raise(err, ERROR_TO_TERMINAL, .name = profile_format_info(r->format)->name);
		return err_advise(err, FIX_WRITE_TO_FILE);
	}
	if (write_report(stdout, r, err))
		return -1;
	return out_flush(err);
}

/* --- processes, which are dumped now --- */

/* Dumps in memory files, or in the files of --save. */
struct dumps {
	struct several of;
	struct tally tally;
	char **names;
	int *memory;
	struct err *warnings;
	size_t n;
};

static void dumps_fini(struct dumps *d)
{
	for (size_t i = 0; i < d->n; i++) {
		free(d->names[i]);
		cleanup_close(&d->memory[i]);
	}
	free(d->names);
	free(d->memory);
	free(d->warnings);
	several_fini(&d->of);
}

static int take_dump(struct dumps *d, const struct args *args, const struct target *t,
		     struct err *err)
{
	_cleanup_(ops_dump_fini) struct ops_dump dump = { 0 };
	_cleanup_(cleanup_close) int fd = -1;
	struct ops_dump_request request = { .file = args->save, .force = args->force };
	struct ops_options options;
	struct args one;
	char *name;

	several_args(&d->of, t, &one);
	args_options(&one, &options);
	if (!args->save && memory_file_make(&fd, err))
		return -1;
	request.stream_fd = fd;
	if (ops_dump(t->match.pid, &request, &options, &dump, err))
		return -1;
	out_cost(args, &dump.cost);
	if ((args->save ? asprintf(&name, "%s", dump.file)
			: asprintf(&name, "process %d", t->match.pid)) < 0)
		return err_no_memory(err);
	d->names[d->n] = name;
	d->memory[d->n] = fd;
	d->warnings[d->n++] = dump.warning;
	fd = -1;
	return 0;
}

/*
 * Dump every process that can be dumped; report and count failures. `plain` is the command line
 * for these errors, without --json, which prints a single document. Returns 0; without any dump,
 * -1 or an exit status.
 */
static int take_dumps(struct dumps *d, const struct args *args, const struct args *plain,
		      struct err *err)
{
	if ((args_to_file(args) && ops_check_file(args->output, args->force, err)) ||
	    several_find(plain, NULL, &d->of, err))
		return -1;
	if (d->of.n > 1 && plain->save && !ops_names_folder(plain->save)) {
		err_raise(err, ERROR_ONE_FILE, .number = (int64_t)d->of.n, .path = plain->save);
		return err_advise(err, FIX_SAVE_TO_FOLDER);
	}
	d->names = calloc(d->of.n, sizeof(*d->names));
	d->memory = calloc(d->of.n, sizeof(*d->memory));
	d->warnings = calloc(d->of.n, sizeof(*d->warnings));
	if (!d->names || !d->memory || !d->warnings)
		return err_no_memory(err);
	for (size_t i = 0; i < d->of.n; i++) {
		const struct target *t = &d->of.v[i];
		struct err why = ERR_INIT;
		int failed = take_dump(d, args, t, &why);

		if (failed && d->of.n == 1) {
			*err = why;
			return -1;
		}
		several_count(&d->tally, t, failed ? several_failed(&d->of, t, &why) : 0);
	}
	if (d->n)
		return 0;
	/* All may have ended meanwhile, which is not a failure. */
	return d->tally.failed ? several_sum(&d->of, &d->tally) : args_no_match(args, err);
}

/* --- all of it --- */

struct job {
	const struct args *args;
	struct report *report;
	struct ops_report_request *request;
	const struct dumps *dumps;
};

static int run(const void *ctx, struct err *err)
{
	const struct job *j = ctx;
	struct report *r = j->report;
	struct ops_report_request *request = j->request;
	char memory[ERR_TEXT_SIZE];
	struct err warning;

	r->warnings = report_warnings(r->args, r->args->json, &request->symbols);
	for (size_t i = 0; request->symbols.on_warning && i < j->dumps->n; i++)
		if (j->dumps->warnings[i].ids[0])
			request->symbols.on_warning(request->symbols.ctx, &j->dumps->warnings[i]);
	if (ops_report(request, &r->data, err) || choose_type(r, err) ||
	    profile_bound(&r->data.profile, (size_t)r->args->max_stacks, r->options.type, err))
		return -1;
	r->options.total = r->data.total[r->options.type];
	r->options.n_processes = j->dumps->n;
	r->options.coverage = &r->data.coverage;
	r->options.n_folded = r->data.n_folded;
	if (r->data.has_memory)
		r->options.memory = err_text(&r->data.memory.advice[0], memory, sizeof(memory));
	if (r->options.total != 0 && !r->data.profile.n_stacks && request->symbols.on_warning) {
		err_raise(&warning, ERROR_FILTERS_LEAVE_NOTHING);
		request->symbols.on_warning(request->symbols.ctx, &warning);
	}
	return write_out(r, err);
}

/* The format by suffix: pictures show the call graph, but x.svg is a flame graph. */
static const char *format_of(const char *path)
{
	static const char drawn[] = ".dot.svg";
	const char *type = graphviz_type(path);
	enum profile_format format = profile_format_by_path(path);
	size_t len = strlen(path), tail = strlen(drawn);

	if (type && (strcmp(type, "svg") != 0 || (len > tail && !strcmp(path + len - tail, drawn))))
		format = PROFILE_FORMAT_DOT;
	return format == PROFILE_FORMAT_NONE ? NULL : profile_format_info(format)->name;
}

const char *report_format_asked(const struct args *args)
{
	if (args->report_format || !args->output || args->json || args->tree || args->peek ||
	    args->traces || args->list)
		return args->report_format;
	return format_of(args->output);
}

int report_infer_format(struct args *args, struct err *err)
{
	char list[512] = "";
	size_t used = 0;

	if (!args->report_format && args->output)
		args->report_format = format_of(args->output);
	if (args->report_format || !args->output)
		return 0;
	for (int i = 0; i < PROFILE_FORMATS && used < sizeof(list); i++)
		used += (size_t)snprintf(list + used, sizeof(list) - used, "%s%s", i ? ", " : "",
					 profile_format_info((enum profile_format)i)->suffix);
	err_raise(err, ERROR_FORMAT_NOT_INFERRED, .path = args->output);
	return err_advise(err, FIX_NAME_A_SUFFIX, .text = list);
}

static int prepare(const struct args *args, const char *format, struct report *r,
		   struct ops_report_request *request, struct err *err)
{
	if (read_line(args, format, r, request, err))
		return -1;
	request->add_snapshots = args->sum;
	request->base = args->base;
	request->jeprof = r->kind == REPORT_JEPROF;
	request->symbols.as_found = request->symbols.by_address = request->jeprof;
	request->whole = (r->kind == REPORT_FORMAT && request->grain == PROFILE_BY_FUNCTION) ||
			 r->kind == REPORT_LIST;
	request->drop_negative = args->drop_negative;
	if (r->kind != REPORT_FORMAT && r->kind != REPORT_JEPROF)
		request->fold = report_fold(args, &r->fold);
	request->filter = (struct profile_filter){
		.focus = args->focus,
		.ignore = args->ignore,
		.show = args->show,
		.hide = args->hide,
		.retain = args->retain,
		.exclude = args->exclude,
		.keep_allocator = args->keep_allocator ||
				  (r->kind == REPORT_FORMAT && r->format == PROFILE_FORMAT_RAW),
	};
	/* A format that holds every type also distinguishes threads. */
	if (r->kind == REPORT_FORMAT && r->format == PROFILE_FORMAT_PPROF &&
	    !request->options.only_thread)
		request->options.by_thread = true;
	/* A file has neither colors nor a width. */
	if (!args_to_file(args)) {
		r->options.columns = out_size().columns;
		r->options.color = out_has_color(args, STDOUT_FILENO);
	}
	return 0;
}

/* `dumps`: the inputs, if they are not files. */
static int show(struct report *r, struct ops_report_request *request, const struct dumps *dumps,
		struct err *err)
{
	const struct args *args = r->args;
	struct job job = { args, r, request, dumps };
	struct apart apart = {
		.inputs = request->files,
		.n_inputs = request->n_files,
		.memory = dumps->n && dumps->memory[0] >= 0 ? dumps->memory : NULL,
		.base = args->base,
		.outputs = &args->output,
		.n_outputs = args_to_file(args),
		.paged = true,
		.sources = args->list != NULL,
		.symbols = &request->symbols,
		.run = run,
		.ctx = &job,
	};

	return apart_run(args, &apart, err);
}

int report_run(const struct args *args, const char *const *files, size_t n_files,
	       const char *format, struct err *err)
{
	_cleanup_(close_report) struct report r = { .args = args };
	struct ops_report_request request = { .files = files, .n_files = n_files };
	_cleanup_(dumps_fini) struct dumps dumps = { .n = 0 };
	struct args plain = *args;
	int ret;

	if (prepare(args, format, &r, &request, err))
		return -1;
	plain.json = false;
	ret = n_files ? 0 : take_dumps(&dumps, args, &plain, err);
	if (ret)
		return ret;
	if (!n_files) {
		request.files = (const char *const *)dumps.names;
		request.n_files = dumps.n;
	}
	ret = show(&r, &request, &dumps, err);
	return ret || n_files ? ret : several_sum(&dumps.of, &dumps.tally);
}

int report_taken(const struct args *args, report_take_fn *take, const char *format, struct err *err)
{
	_cleanup_(close_report) struct report r = { .args = args };
	struct ops_report_request request = { .n_files = 1 };
	_cleanup_(cleanup_close) int fd = -1;
	_cleanup_(cleanup_free) char *name = NULL;
	struct err warning = ERR_INIT;
	const struct dumps one = { .names = &name, .memory = &fd, .warnings = &warning, .n = 1 };

	if (prepare(args, format, &r, &request, err) ||
	    (args_to_file(args) && ops_check_file(args->output, args->force, err)) ||
	    memory_file_make(&fd, err) || take(args, fd, &name, &warning, err))
		return -1;
	request.files = (const char *const *)&name;
	return show(&r, &request, &one, err);
}
