// SPDX-License-Identifier: Apache-2.0
#include "cli/rules.h"

#include "base/cleanup.h"
#include "cli/guarding.h"
#include "io/config.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-"
#define LINE_WORDS_MAX 256

/* Memory that a rule points to. */
struct owned {
	char *line; /* split into words in place */
	struct args args;
	struct guard_rule when[TEXTS_MAX];
	struct ops_filter filter;
};

struct rules {
	struct serve_rule v[SERVE_RULES_MAX];
	struct owned *of[SERVE_RULES_MAX];
	size_t n;
	bool read_only;
};

void rules_free(struct rules *rules)
{
	for (size_t i = 0; rules && i < SERVE_RULES_MAX; i++) {
		if (rules->of[i])
			free(rules->of[i]->line);
		free(rules->of[i]);
	}
	free(rules);
}

const struct serve_rule *rules_all(const struct rules *rules, size_t *n)
{
	*n = rules ? rules->n : 0;
	return rules ? rules->v : NULL;
}

/* --- words --- */

/* Split off the next word of *at in place; NULL: none, or `err` is set. */
static char *next_word(char **at, struct err *err)
{
	char *from = *at, *word, *to, quote = '\0';

	while (isspace((unsigned char)*from))
		from++;
	if (!*from || *from == '#') {
		*at = from + strlen(from);
		return NULL;
	}
	for (word = to = from; *from && (quote || !isspace((unsigned char)*from)); from++) {
		if (quote ? *from == quote : *from == '\'' || *from == '"')
			quote = quote ? '\0' : *from;
		else
			*to++ = *from;
	}
	if (quote)
		err_raise(err, ERROR_RULE_QUOTES);
	*at = *from ? from + 1 : from;
	*to = '\0';
	return word;
}

/* Split off "NAME:". False: malformed. */
static bool take_name(char **at, char name[SERVE_NAME_SIZE + 1])
{
	size_t len = strspn(*at, LETTERS);

	if (!len || len > SERVE_NAME_SIZE || (*at)[len] != ':')
		return false;
	memcpy(name, *at, len);
	name[len] = '\0';
	*at += len + 1;
	return true;
}

/* --- one rule --- */

static int senseless(const char *name, struct err *err)
{
	err_raise(err, ERROR_RULE_OPTION, .name = name);
	return err_advise(err, FIX_LEAVE_RULE_OPTION);
}

/* Options of guard that the service sets itself, or that are for a terminal. */
static int refuse_others(const struct args *a, struct err *err)
{
	const struct {
		bool given;
		const char *name;
	} others[] = {
		{ a->output, "--output" },
		{ a->for_ms, "--for" },
		{ a->count, "--count" },
		{ a->kept >= 0, "--keep" },
		{ a->max_bytes, "--max-bytes" },
		{ a->on_event, "--on-profile" },
		{ a->pid, "--pid" },
		{ a->n_words, a->n_words ? a->words[0] : "" },
		{ a->json, "--json" },
		{ a->quiet, "--quiet" },
		{ a->verbose, "--verbose" },
		{ a->no_pager, "--no-pager" },
		{ a->help, "--help" },
		{ a->version, "--version" },
		{ a->color, "--color" },
	};

	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++) {
		if (others[i].given)
			return senseless(others[i].name, err);
	}
	return 0;
}

static int check_read_only(const struct args *a, const struct ops_guard_request *r, struct err *err)
{
	if (a->turn_on)
		return err_raise(err, ERROR_EXCLUSIVE, .name = "--activate", .what = "--read-only");
	if (r->action != OPS_GUARD_DUMP)
		return err_raise(err, ERROR_EXCLUSIVE, .name = a->action, .what = "--read-only");
	return 0;
}

static int parse_options(const struct rules *rules, struct serve_rule *rule, struct owned *o,
			 char *at, struct err *err)
{
	char program[] = "jeprof-ctl", guard[] = "guard",
	     *argv[LINE_WORDS_MAX + 3] = { program, guard };
	const struct command *command;
	struct err why = ERR_INIT;
	int argc = 2;
	char *word;

	while (argc < LINE_WORDS_MAX + 2 && (word = next_word(&at, &why)))
		argv[argc++] = word;
	if (why.ids[0]) {
		*err = why;
		return -1;
	}
	if (argc == LINE_WORDS_MAX + 2)
		return err_raise(err, ERROR_TOO_MANY_WORDS, .limit = LINE_WORDS_MAX);
	if (args_parse(argc, argv, &o->args, &command, err) || refuse_others(&o->args, err) ||
	    guard_request(&o->args, o->when, &rule->guard, err) ||
	    guard_processes(&o->args, &o->filter, &rule->guard, err))
		return -1;
	args_options(&o->args, &rule->options);
	rule->options.progress = NULL;
	rule->by_default = !o->args.when.n;
	return rules->read_only ? check_read_only(&o->args, &rule->guard, err) : 0;
}

static int add_rule(struct rules *rules, const char *line, struct err *err)
{
	struct serve_rule *rule = &rules->v[rules->n];
	struct owned *o;
	char *at;

	if (rules->n == SERVE_RULES_MAX)
		return err_raise(err, ERROR_TOO_MANY_RULES, .limit = SERVE_RULES_MAX);
	o = rules->of[rules->n] = calloc(1, sizeof(*o));
	if (!o || !(o->line = strdup(line)))
		return err_no_memory(err);
	at = o->line;
	if (!take_name(&at, rule->name)) {
		err_raise(err, ERROR_RULE_MALFORMED, .limit = SERVE_NAME_SIZE);
		return err_advise(err, FIX_WRITE_A_RULE);
	}
	for (size_t i = 0; i < rules->n; i++) {
		if (!strcmp(rules->v[i].name, rule->name))
			return err_raise(err, ERROR_RULE_TWICE, .name = rule->name);
	}
	if (parse_options(rules, rule, o, at, err))
		return -1;
	rules->n++;
	return 0;
}

/* --- the file --- */

static int read_lines(FILE *f, const char *path, struct rules *rules, struct err *err)
{
	_cleanup_(cleanup_free) char *line = NULL;
	size_t room = 0;
	ssize_t len;

	for (int n = 1; (len = getline(&line, &room, f)) >= 0; n++) {
		const char *at = line + strspn(line, " \t\r\n");
		bool whole = strlen(line) == (size_t)len;

		if (((*at && *at != '#') || !whole) && add_rule(rules, whole ? at : "", err))
			return err_within(err, ERROR_IN_RULES_LINE, .path = path, .number = n);
	}
	if (ferror(f))
		return err_raise_sys(err, ERROR_RULES_UNREADABLE, EIO, .path = path);
	if (rules->n)
		return 0;
	err_raise(err, ERROR_NO_RULES, .path = path);
	return err_advise(err, FIX_WRITE_A_RULE);
}

int rules_read(const char *path, bool read_only, struct rules **out, struct err *err)
{
	static const struct config_kind kind = { ERROR_RULES_UNREADABLE, ERROR_RULES_NOT_OURS,
						 FIX_CHMOD_CONFIG };
	_cleanup_(cleanup_fclose) FILE *f = config_fopen(path, &kind, err);
	struct rules *rules;

	if (!f)
		return -1;
	rules = calloc(1, sizeof(*rules));
	if (!rules)
		return err_no_memory(err);
	rules->read_only = read_only;
	if (read_lines(f, path, rules, err)) {
		rules_free(rules);
		return -1;
	}
	*out = rules;
	return 0;
}
