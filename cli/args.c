// SPDX-License-Identifier: Apache-2.0
#include "cli/args.h"

#include "base/cleanup.h"
#include "base/text.h"
#include "cli/out.h"

#include <ctype.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *const colors[] = { "auto", "always", "never", NULL };
static const char *const modes[] = { "auto", "thread", "inline", "poke", NULL };

const struct option_def global_options[] = {
	{ "pid", 'p', VALUE(PID, pid), "PID", "the process, instead of the first word", NULL },
	{ "comm", 0, VALUE(STRING, comm), "NAME", "the processes with this name", NULL },
	{ "cgroup", 0, VALUE(STRING, cgroup), "GROUP",
	  "the processes of a unit, control group or container, by name, path or id", NULL },
	{ "children", 0, VALUE(PID, children), "PID", "this process and its descendants", NULL },
	{ "image", 0, VALUE(STRING, image), "NAME",
	  "which jemalloc to use if there are several: by its file or prefix", NULL },
	{ "debuginfod", 0, VALUE(FLAG, debuginfod), NULL,
	  "ask the servers in DEBUGINFOD_URLS for missing symbols", NULL },
	{ "json", 0, VALUE(FLAG, json), NULL,
	  "print one JSON document on stdout, even for an error", NULL },
	{ "quiet", 'q', VALUE(FLAG, quiet), NULL, "print only data and errors", NULL },
	{ "verbose", 'v', VALUE(FLAG, verbose), NULL, "report what is done to the process", NULL },
	{ "no-pager", 0, VALUE(FLAG, no_pager), NULL, "do not send long output through a pager",
	  NULL },
	{ "color", 0, VALUE(CHOICE, color), "WHEN", "auto, always or never", colors },
	{ "timeout", 0, VALUE(DURATION, timeout_ms), "D",
	  "give up waiting for the calls after D (60s)", NULL },
	{ "max-pause", 0, VALUE(DURATION, max_pause_ms), "D",
	  "stop the borrowed thread for at most D (250ms)", NULL },
	{ "mode", 0, VALUE(CHOICE, mode), "MODE",
	  "auto, thread (calls in a new thread), inline (in a borrowed one) or poke (no call)",
	  modes },
	{ "wait", 0, VALUE(DURATION, wait_ms), "D",
	  "retry for up to D while another tracer is active", NULL },
	{ "help", 'h', VALUE(FLAG, help), NULL, "show general help, or that of the command", NULL },
	{ "version", 'V', VALUE(FLAG, version), NULL, "show the version", NULL },
	{ .name = NULL },
};

/* Parser state. */
struct parser {
	char **argv;
	int argc, next;
	struct args *args;
	const struct command *command;
	bool words_only; /* after "--" */
};

/* Accept "--inuse_space" for "--inuse-space", as jeprof and pprof spell it. */
static bool is_name(const char *name, const char *given, size_t len)
{
	if (strlen(name) != len)
		return false;
	for (size_t i = 0; i < len; i++) {
		if (name[i] != (given[i] == '_' ? '-' : given[i]))
			return false;
	}
	return true;
}

static const struct option_def *find_in(const struct option_def *table, const char *name,
					size_t len, char letter)
{
	for (; table && table->name; table++) {
		if (letter ? table->letter == letter : is_name(table->name, name, len))
			return table;
	}
	return NULL;
}

static const struct option_def *find_option(const struct parser *p, const char *name, size_t len,
					    char letter)
{
	const struct option_def *o = find_in(global_options, name, len, letter);

	return o || !p->command ? o : find_in(p->command->options, name, len, letter);
}

static int set_choice(const struct option_def *o, const char *text, int *value, struct err *err)
{
	struct text_near near;

	text_near_begin(&near, text);
	for (int i = 0; o->choices[i]; i++) {
		if (!strcmp(o->choices[i], text)) {
			*value = i;
			return 0;
		}
		text_near_try(&near, o->choices[i]);
	}
	err_raise(err, ERROR_CHOICE_UNKNOWN, .name = o->name, .text = text, .what = o->help);
	return near.best ? err_advise(err, FIX_DID_YOU_MEAN, .command = near.best) : -1;
}

static int not_zero(uint64_t value, struct err *err)
{
	return value ? 0 : err_raise(err, ERROR_MUST_BE_MORE_THAN_0);
}

static int set_value(const struct option_def *o, const char *text, struct args *args,
		     struct err *err)
{
	void *at = (char *)args + o->offset;
	struct texts *texts;
	int failed = 0;

	switch (o->type) {
	case OPTION_FLAG:
		*(bool *)at = true;
		return 0;
	case OPTION_STRING:
	case OPTION_OPTIONAL:
	case OPTION_FILE:
		*(const char **)at = text;
		return 0;
	case OPTION_TEXTS:
		texts = at;
		if (texts->n == TEXTS_MAX)
			failed = err_raise(err, ERROR_TOO_MANY_TIMES, .limit = TEXTS_MAX);
		else
			texts->v[texts->n++] = text;
		break;
	case OPTION_CHOICE:
		return set_choice(o, text, at, err);
	case OPTION_PID:
		failed = text_int_parse(text, 1, INT_MAX, at, err);
		break;
	case OPTION_INT:
		failed = text_int_parse(text, 0, INT_MAX, at, err);
		break;
	case OPTION_DURATION:
		failed = text_duration_parse(text, at, err) || not_zero(*(uint64_t *)at, err);
		break;
	case OPTION_SIZE:
		failed = text_size_parse(text, at, err) || not_zero(*(uint64_t *)at, err);
		break;
	}
	return failed ? err_within(err, ERROR_IN_OPTION, .name = o->name) : 0;
}

/* "-" means stdout, and "-1" is a number: neither is an option. */
static bool is_option(const char *word)
{
	return word[0] == '-' && word[1] && !isdigit((unsigned char)word[1]);
}

/* Take the argument of `o`: the attached text, or else the next word. */
static int take_argument(struct parser *p, const struct option_def *o, const char *attached,
			 struct err *err)
{
	const char *next = p->next < p->argc ? p->argv[p->next] : NULL;

	if (o->type == OPTION_FLAG) {
		if (attached)
			return err_raise(err, ERROR_OPTION_TAKES_NO_ARGUMENT, .name = o->name);
		return set_value(o, NULL, p->args, err);
	}
	if (attached)
		return set_value(o, attached, p->args, err);
	if (o->type == OPTION_OPTIONAL &&
	    (!next || is_option(next) || (*next && !next[strspn(next, "0123456789")])))
		return set_value(o, "", p->args, err);
	if (!next)
		return err_raise(err, ERROR_OPTION_NEEDS_ARGUMENT, .name = o->name, .text = o->arg);
	p->next++;
	return set_value(o, next, p->args, err);
}

/* "--svg" for "-f svg", as in other programs. */
static bool is_format(const struct command *command, const char *word)
{
	const struct option_def *o = command->options;

	while (o && o->name && strcmp(o->name, "format") != 0)
		o++;
	for (size_t i = 0; o && o->name && o->choices && o->choices[i]; i++) {
		if (!strcmp(o->choices[i], word))
			return true;
	}
	return false;
}

/* Options of pprof and jeprof, and their equivalents in commands that write formats. */
static const char *meant_by_others(const char *name, size_t len)
{
	static const char *const other[][2] = {
		{ "top", "-f text" },
		{ "web", "-f html -o page.html" },
		{ "http", "-f html -o page.html" },
		{ "weblist", "--list RE" },
		{ "disasm", "--addresses" },
		{ "pdf", "-o graph.pdf" },
		{ "png", "-o graph.png" },
		{ "gif", "-o graph.png" },
		{ "ps", "-o graph.pdf" },
		{ "gv", "-f dot" },
		{ "evince", "-o graph.pdf" },
		{ "proto", "-f pprof" },
		{ "collapsed", "-f folded" },
		{ "flame", "-f svg" },
		{ "flamegraph", "-f svg" },
		{ "sort", "--cum" },
		{ "sample_index", "--inuse-objects" },
		{ "granularity", "--lines" },
	};

	for (size_t i = 0; i < sizeof(other) / sizeof(*other); i++)
		if (is_name(other[i][0], name, len))
			return other[i][1];
	return NULL;
}

/* Guess what was meant by an unknown name, or by a known one after a single dash. */
static bool guess(const struct parser *p, const char *name, size_t len, char meant[64])
{
	const char *other = NULL;
	char format[32];

	snprintf(format, sizeof(format), "%.*s", (int)(len < sizeof(format) ? len : 0), name);
	if (find_option(p, name, len, 0))
		snprintf(meant, 64, "--%s", format);
	else if (is_format(p->command, format))
		snprintf(meant, 64, "-f %s", format);
	else if (is_format(p->command, "html") && (other = meant_by_others(name, len)))
		snprintf(meant, 64, "%s", other);
	else
		return false;
	return true;
}

static int mean(struct err *err, const char *prefix, const char *name,
		const struct command *command)
{
	char meant[64];

	if (name) {
		snprintf(meant, sizeof(meant), "%s%s", prefix, name);
		return err_advise(err, FIX_DID_YOU_MEAN, .command = meant);
	}
	if (command)
		return err_advise(err, FIX_SEE_COMMAND_HELP, .command = command->name);
	return err_advise(err, FIX_SEE_HELP);
}

int args_mean(struct err *err, const char *word, const char *const *names,
	      const struct command *command)
{
	struct text_near near;

	text_near_begin(&near, word);
	for (; names && *names; names++)
		text_near_try(&near, *names);
	return mean(err, "", near.best, command);
}

static void try_options(struct text_near *near, const struct option_def *o)
{
	for (; o && o->name; o++)
		text_near_try(near, o->name);
}

static int unknown_option(const struct parser *p, const char *word, struct err *err)
{
	char name[TEXT_DISTANCE_MAX + 1], meant[64];
	const char *at = word + 1;
	struct text_near near;

	err_raise(err, ERROR_OPTION_UNKNOWN, .name = word);
	at += word[1] == '-';
	if (p->command && guess(p, at, strcspn(at, "="), meant))
		return mean(err, "", meant, p->command);
	if (word[1] != '-')
		return mean(err, "", NULL, p->command);
	snprintf(name, sizeof(name), "%.*s", (int)strcspn(at, "="), at);
	text_near_begin(&near, name);
	try_options(&near, global_options);
	if (p->command)
		try_options(&near, p->command->options);
	return mean(err, "--", near.best, p->command);
}

/* "-qv" is two flags; "-p42" is an option and its argument; "-text" is one of pprof's. */
static int parse_short(struct parser *p, const char *word, struct err *err)
{
	size_t len = strcspn(word + 1, "=");
	char meant[64];

	if (len > 1 && p->command && guess(p, word + 1, len, meant))
		return unknown_option(p, word, err);
	for (const char *c = word + 1; *c; c++) {
		const struct option_def *o = find_option(p, NULL, 0, *c);

		if (!o)
			return unknown_option(p, word, err);
		if (o->type != OPTION_FLAG)
			return take_argument(p, o, c[1] ? c + 1 : NULL, err);
		if (set_value(o, NULL, p->args, err))
			return -1;
	}
	return 0;
}

static int parse_one(struct parser *p, const char *word, struct err *err)
{
	const struct option_def *o;
	size_t len;

	if (p->words_only || !is_option(word)) {
		if (p->args->n_words == WORDS_MAX)
			return err_raise(err, ERROR_TOO_MANY_WORDS, .limit = WORDS_MAX);
		p->args->words[p->args->n_words++] = word;
		return 0;
	}
	if (!strcmp(word, "--")) {
		p->words_only = true;
		return 0;
	}
	if (word[1] != '-')
		return parse_short(p, word, err);
	len = strcspn(word + 2, "=");
	o = find_option(p, word + 2, len, 0);
	if (!o)
		return unknown_option(p, word, err);
	return take_argument(p, o, word[2 + len] ? word + 2 + len + 1 : NULL, err);
}

const struct command *args_command(const char *name, struct err *err)
{
	struct text_near near;

	text_near_begin(&near, name);
	for (size_t i = 0; commands[i]; i++) {
		if (!strcmp(commands[i]->name, name))
			return commands[i];
		text_near_try(&near, commands[i]->name);
	}
	err_raise(err, ERROR_COMMAND_UNKNOWN, .name = name);
	mean(err, "", near.best, NULL);
	return NULL;
}

/*
 * Options may precede the command, but which words are arguments of options depends on the
 * command. So find the command first: the first word that is neither an option nor the argument
 * of a global option.
 */
static int find_command(struct parser *p, struct err *err)
{
	for (int i = 1; i < p->argc; i++) {
		const char *word = p->argv[i];
		const struct option_def *o;
		size_t len;

		if (!is_option(word)) {
			p->command = args_command(word, err);
			return p->command ? i : -1;
		}
		len = strcspn(word, "=");
		o = word[1] == '-' ? find_in(global_options, word + 2, len - 2, 0)
				   : find_in(global_options, NULL, 0, word[strlen(word) - 1]);
		if (o && o->type != OPTION_FLAG && !word[len] && (word[1] == '-' || !word[2]))
			i++;
	}
	return 0;
}

int args_no_pid(const struct command *command, struct err *err)
{
	err_raise(err, ERROR_NEEDS_PROCESS, .name = command->name);
	return err_advise(err, FIX_GIVE_A_PROCESS, .command = command->name,
			  .text = command->words);
}

static bool has_filter(const struct args *args)
{
	return args->comm || args->cgroup || args->children;
}

bool args_name_process(const struct args *args)
{
	return args->pid || has_filter(args);
}

bool args_word_is_process(const struct args *args, size_t i, int64_t *pid)
{
	const char *word = i < args->n_words ? args->words[i] : "";
	struct err ignored;

	/* Canonical numbers only: "0042" and "+42" are file names. */
	return *word >= '1' && *word <= '9' && !text_int_parse(word, 1, INT_MAX, pid, &ignored);
}

void args_warn_of_file(const struct args *args, int64_t pid)
{
	struct err warning = ERR_INIT;
	char path[32];

	snprintf(path, sizeof(path), "%" PRId64, pid);
	if (access(path, F_OK))
		return;
	err_raise(&warning, ERROR_PROCESS_NOT_FILE, .number = pid);
	err_advise(&warning, FIX_NAME_THE_FILE, .number = pid);
	out_warning(args, &warning);
}

/* Take the process that the command needs, or refuse one that it would ignore. */
static int take_pid(struct args *args, const struct command *command, struct err *err)
{
	char given[ARGS_FILTER_SIZE];

	if (!command->needs_pid) {
		if (command->pid_by_option || !args_name_process(args))
			return 0;
		err_raise(err, ERROR_TAKES_NO_PROCESS, .name = command->name);
		return err_advise(err, FIX_SEE_COMMAND_HELP, .command = command->name);
	}
	if (args->pid && has_filter(args))
		return err_raise(err, ERROR_EXCLUSIVE, .name = "--pid",
				 .what = args_filter_text(args, given, sizeof(given)));
	if (args_name_process(args))
		return 0;
	if (!args->n_words)
		return command->pid_optional ? 0 : args_no_pid(command, err);
	if (text_int_parse(args->words[0], 1, INT_MAX, &args->pid, err))
		return err_within(err, ERROR_IN_PID);
	args->n_words--;
	memmove(args->words, args->words + 1, args->n_words * sizeof(args->words[0]));
	return 0;
}

int args_parse(int argc, char **argv, struct args *args, const struct command **command,
	       struct err *err)
{
	struct parser p = { .argv = argv, .argc = argc, .next = 1, .args = args };
	int at;

	*args = (struct args){
		.lg_sample = -1,
		.format = FORMAT_DEFAULT,
		.nodecount = -1,
		.max_overhead = -1,
		.again = -1,
		.kept = -1,
	};
	/* Look for --json first: errors before it on the line are reported as JSON, too. */
	for (int i = 1; i < argc && strcmp(argv[i], "--"); i++)
		args->json |= !strcmp(argv[i], "--json");
	at = find_command(&p, err);
	if (at < 0)
		return -1;
	while (p.next < argc) {
		int i = p.next++;

		if (i != at && parse_one(&p, argv[i], err))
			return -1;
	}
	*command = p.command;
	if (!p.command || args->help || args->version)
		return 0;
	if (take_pid(args, p.command, err))
		return -1;
	if (args->n_words >= p.command->min_words && args->n_words <= p.command->max_words)
		return 0;
	if (args->n_words > p.command->max_words)
		err_raise(err, ERROR_WORD_TOO_MANY, .name = p.command->name,
			  .text = args->words[p.command->max_words]);
	else
		err_raise(err, ERROR_ARGUMENT_MISSING, .name = p.command->name);
	return err_advise(err, FIX_SEE_COMMAND_HELP, .command = p.command->name);
}

bool args_filter(const struct args *args, struct ops_filter *filter)
{
	*filter = (struct ops_filter){
		.comm = args->comm,
		.cgroup = args->cgroup,
		.children = (pid_t)args->children,
	};
	return has_filter(args);
}

/* "--comm redis-server --children 4242" */
const char *args_filter_text(const struct args *args, char *buf, size_t size)
{
	size_t n = 0;

	if (args->comm)
		n += (size_t)snprintf(buf, size, " --comm %.30s", args->comm);
	if (args->cgroup)
		n += (size_t)snprintf(buf + n, size - n, " --cgroup %.70s", args->cgroup);
	if (args->children)
		snprintf(buf + n, size - n, " --children %d", (int)args->children);
	return buf + 1;
}

#define SHOWN_MAX 8

int args_ambiguous(const struct args *args, const struct ops_matches *found, struct err *err)
{
	char list[SHOWN_MAX * 12] = "", given[ARGS_FILTER_SIZE];
	size_t used = 0;

	for (size_t i = 0; i < found->n && i < SHOWN_MAX; i++)
		used += (size_t)snprintf(list + used, sizeof(list) - used, "%s%d", i ? " " : "",
					 found->v[i].pid);
	err_raise(err, ERROR_NAME_AMBIGUOUS, .number = (int64_t)found->n,
		  .name = args_filter_text(args, given, sizeof(given)), .text = list);
	return err_advise(err, FIX_NAME_ONE_BY_PID);
}

int args_no_match(const struct args *args, struct err *err)
{
	char given[ARGS_FILTER_SIZE];

	err_raise(err, ERROR_NAME_NOT_THERE, .name = args_filter_text(args, given, sizeof(given)));
	return err_advise(err, FIX_SEE_LIST);
}

static void log_line(void *ctx, const char *line)
{
	char safe[1024];

	(void)ctx;
	fprintf(stderr, "jeprof-ctl: %s\n", output_safe(line, safe, sizeof(safe)));
}

static unsigned int clamp_ms(uint64_t ms)
{
	return ms < UINT_MAX ? (unsigned int)ms : UINT_MAX;
}

/* If several match, take the only one that uses jemalloc. */
static int only_user(const struct args *args, const struct ops_matches *all, struct ops_match *out,
		     struct err *err)
{
	_cleanup_(ops_match_fini) struct ops_matches users = { .v = calloc(all->n, sizeof(*all->v)),
							       .n = all->n };

	if (!users.v)
		return err_no_memory(err);
	memcpy(users.v, all->v, all->n * sizeof(*all->v));
	if (ops_match_jemalloc(&users, args->debuginfod, -1, err))
		return -1;
	if (users.n != 1)
		return args_ambiguous(args, users.n ? &users : all, err);
	*out = users.v[0];
	return 0;
}

int args_pid(const struct args *args, struct ops_options *options, pid_t *pid, struct err *err)
{
	_cleanup_(ops_match_fini) struct ops_matches all = { 0 };
	struct ops_filter filter;
	struct ops_match one;

	if (!args_filter(args, &filter)) {
		*pid = (pid_t)args->pid;
		return 0;
	}
	if (ops_match(&filter, &all, err))
		return -1;
	if (!all.n)
		return args_no_match(args, err);
	one = all.v[0];
	if (all.n > 1 && only_user(args, &all, &one, err))
		return -1;
	*pid = one.pid;
	options->start_time = one.start_time;
	return 0;
}

void args_options(const struct args *args, struct ops_options *options)
{
	*options = (struct ops_options){
		.mode = (enum injector_mode)args->mode,
		.timeout_ms = clamp_ms(args->timeout_ms),
		.max_pause_ms = clamp_ms(args->max_pause_ms),
		.wait_ms = clamp_ms(args->wait_ms),
		.max_bytes = args->max_size_bytes,
		.image = args->image,
		.debuginfod = args->debuginfod,
		.start_time = args->of_several.start_time,
		.turn_fd = args->of_several.turn_fd,
		.stop_fd = -1,
		.log = args->verbose ? log_line : NULL,
		.progress = args->quiet || args->json ? NULL : out_progress,
	};
}

int args_sample_rate(const struct args *args, int *lg, struct err *err)
{
	*lg = OPS_LG_KEEP;
	if (args->lg_sample >= 0 && args->sample_rate)
		return err_raise(err, ERROR_EXCLUSIVE, .name = "--lg-sample",
				 .what = "--sample-rate");
	if (args->lg_sample > 63)
		return err_raise(err, ERROR_LG_SAMPLE_RANGE);
	if (args->lg_sample >= 0)
		*lg = (int)args->lg_sample;
	if (!args->sample_rate)
		return 0;
	*lg = __builtin_ctzll(args->sample_rate);
	if (args->sample_rate != 1ULL << *lg) {
		err_raise(err, ERROR_SAMPLE_RATE_NO_POWER, .count = (int64_t)args->sample_rate);
		return err_advise(err, FIX_USE_A_POWER);
	}
	return 0;
}

#define OVERHEAD_ANY 10000 /* percent: no limit */

int args_check_overhead(const struct args *args, struct err *err)
{
	if (args->max_overhead)
		return 0;
	err_raise(err, ERROR_MUST_BE_MORE_THAN_0);
	return err_within(err, ERROR_IN_OPTION, .name = "max-overhead");
}

unsigned int args_max_overhead(const struct args *args)
{
	if (args->max_overhead < 0)
		return 0;
	return (unsigned int)(args->max_overhead < OVERHEAD_ANY ? args->max_overhead
								: OVERHEAD_ANY);
}
