// SPDX-License-Identifier: Apache-2.0
#include "api/json.h"
#include "cli/commands.h"
#include "cli/out.h"

#include <stdio.h>
#include <string.h>

/* --- help --- */

static int run_help(const struct args *args, struct err *err)
{
	const struct command *command;

	if (!args->n_words)
		return help_all(err);
	command = args_command(args->words[0], err);
	return command ? help_command(command, err) : -1;
}

const struct command cmd_help = {
	.name = "help",
	.words = "[COMMAND]",
	.help = "show the options of a command, or all commands",
	.only_prints = true,
	.max_words = 1,
	.run = run_help,
};

/* --- version --- */

static int run_version(const struct args *args, struct err *err)
{
	if (!args->json)
		return out_line(err, "jeprof-ctl %s", JEPROF_CTL_VERSION);
	return out_json(api_version(), err);
}

const struct command cmd_version = {
	.name = "version",
	.words = "",
	.help = "show the version of jeprof-ctl",
	.only_prints = true,
	.run = run_version,
};

/* --- completion --- */

/*
 * Shell completion scripts, generated from the tables.
 *
 * Names of processes, units and containers are untrusted: a script takes each line of list as one
 * word, which the shell never evaluates (bash's compgen -W would).
 */

static const char *const shells[] = { "bash", "zsh", "fish", NULL };

/* Timeout for list, in seconds; when it expires, nothing is offered. */
#define PATIENCE "1"

/* Where the words for an argument come from. */
enum source { NOWHERE, CHOICES, FILES, PIDS, COMMS, GROUPS, USERS };

static enum source source_of(const struct option_def *o)
{
	static const struct {
		const char *name;
		enum source source;
	} named[] = { { "comm", COMMS }, { "cgroup", GROUPS }, { "uid", USERS } };

	for (size_t i = 0; i < sizeof(named) / sizeof(*named); i++) {
		if (!strcmp(o->name, named[i].name))
			return named[i].source;
	}
	if (o->choices)
		return CHOICES;
	if (o->type == OPTION_FILE || o->type == OPTION_OPTIONAL)
		return FILES;
	return o->type == OPTION_PID ? PIDS : NOWHERE;
}

/* The services that systemd has loaded, one per line. */
#define UNITS                                                                            \
	"timeout " PATIENCE " systemctl list-units --all --type=service --state=loaded " \
	"--plain --no-legend --no-pager 2>/dev/null | cut -d ' ' -f 1"

/* What a command takes, judged by the argument names in its usage. */
static bool takes_units(const struct command *c)
{
	return strstr(c->words, "UNIT");
}

static bool takes_pids(const struct command *c)
{
	return strstr(c->words, "PID");
}

static bool takes_files(const struct command *c)
{
	return strstr(c->words, "FILE") || strstr(c->words, "BEFORE") || strstr(c->words, "IN ");
}

static void put_words(const char *const *words)
{
	for (; words && *words; words++)
		printf("%s ", *words);
}

static void put_commands(void)
{
	for (size_t i = 0; commands[i]; i++)
		printf("%s%s", i ? " " : "", commands[i]->name);
}

/* Whether the words for its first argument are known; `help` takes a command. */
static bool has_choices(const struct command *c)
{
	return c->choices || c == &cmd_help;
}

static void put_choices(const struct command *c)
{
	if (c == &cmd_help)
		put_commands();
	else
		put_words(c->choices);
}

/* --- bash --- */

static const char bash_head[] =
	"# bash completion for jeprof-ctl\n"
	"_jeprof_ctl_lines() # each line of stdin is a word\n{\n\tlocal line word\n"
	"\twhile IFS= read -r line; do\n\t\tprintf -v word %q \"$line\"\n"
	"\t\t[[ $line != - && ($line == \"$cur\"* || $word == \"$cur\"*) ]] && "
	"COMPREPLY+=(\"$word\")\n"
	"\tdone\n}\n"
	"_jeprof_ctl_list() # COLUMN of list\n{\n"
	"\t_jeprof_ctl_lines < <(timeout " PATIENCE " \"${COMP_WORDS[0]}\" -q list -o \"$1\" "
	"2>/dev/null |\n\t\tsed 1d | sort -u)\n}\n"
	"_jeprof_ctl_units()\n{\n\t_jeprof_ctl_lines < <(" UNITS ")\n}\n"
	"_jeprof_ctl_files()\n{\n\tlocal files\n\tmapfile -t files < <(compgen -f -- \"$cur\")\n"
	"\tCOMPREPLY+=(\"${files[@]}\")\n\tcompopt -o filenames 2>/dev/null\n}\n"
	"_jeprof_ctl()\n{\n"
	"\tlocal cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]}\n"
	"\tlocal word command='' words='' files='' pids='' units=''\n"
	"\tif [[ $cur == = ]]; then\n\t\tcur=''\n"
	"\telif [[ $prev == = ]]; then\n\t\tprev=${COMP_WORDS[COMP_CWORD-2]}\n\tfi\n";

static const char bash_tail[] =
	"\t[[ $cur == -* ]] && words=$options files='' pids='' units=''\n"
	"\tmapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$cur\")\n"
	"\t[[ $files ]] && _jeprof_ctl_files\n\t[[ $pids ]] && _jeprof_ctl_list pid\n"
	"\t[[ $units ]] && _jeprof_ctl_units\n"
	"\treturn 0\n}\ncomplete -F _jeprof_ctl jeprof-ctl\n";

static void bash_names(const struct option_def *o)
{
	for (; o && o->name; o++) {
		printf(" --%s", o->name);
		if (o->letter)
			printf(" -%c", o->letter);
	}
}

static void bash_source(const struct option_def *o)
{
	switch (source_of(o)) {
	case NOWHERE:
		break;
	case CHOICES:
		printf("\t\tmapfile -t COMPREPLY < <(compgen -W '");
		put_words(o->choices);
		printf("' -- \"$cur\")\n");
		break;
	case FILES:
		printf("\t\t_jeprof_ctl_files\n");
		break;
	case PIDS:
		printf("\t\t_jeprof_ctl_list pid\n");
		break;
	case COMMS:
		printf("\t\t_jeprof_ctl_list comm\n");
		break;
	case GROUPS:
		printf("\t\t_jeprof_ctl_list unit\n\t\t_jeprof_ctl_list container\n");
		break;
	case USERS:
		printf("\t\tmapfile -t COMPREPLY < <(compgen -u -- \"$cur\")\n");
		break;
	}
}

/* One branch per option that has an argument. */
static void bash_arguments(const struct option_def *o)
{
	for (; o && o->name; o++) {
		if (o->type == OPTION_FLAG)
			continue;
		printf("\t--%s", o->name);
		if (o->letter)
			printf(" | -%c", o->letter);
		printf(")\n");
		/* An optional argument: the next word may be a different one. */
		if (o->type != OPTION_OPTIONAL) {
			bash_source(o);
			printf("\t\treturn\n");
		}
		printf("\t\t;;\n");
	}
}

static void bash(void)
{
	printf("%s\tlocal commands='", bash_head);
	put_commands();
	printf("' options='");
	bash_names(global_options);
	printf("'\n\tCOMPREPLY=()\n\tcase $prev in\n");
	bash_arguments(global_options);
	printf("\tesac\n\tfor word in \"${COMP_WORDS[@]:1:COMP_CWORD-1}\"; do\n"
	       "\t\tcase \" $commands \" in\n\t\t*\" $word "
	       "\"*)\n\t\t\tcommand=$word\n\t\t\tbreak\n\t\t\t;;\n"
	       "\t\tesac\n\tdone\n\tcase $command in\n");
	for (size_t i = 0; commands[i]; i++) {
		const struct command *c = commands[i];

		printf("\t%s)\n", c->name);
		if (c->options) {
			printf("\t\tcase $prev in\n");
			bash_arguments(c->options);
			printf("\t\tesac\n\t\toptions=\"$options");
			bash_names(c->options);
			printf("\"\n");
		}
		if (has_choices(c)) {
			printf("\t\twords='");
			put_choices(c);
			printf("'\n");
		}
		if (takes_pids(c))
			printf("\t\tpids=yes\n");
		if (takes_files(c))
			printf("\t\tfiles=yes\n");
		if (takes_units(c))
			printf("\t\tunits=yes\n");
		printf("\t\t;;\n");
	}
	printf("\t*)\n\t\twords=$commands\n\t\t;;\n\tesac\n%s", bash_tail);
}

/* --- zsh --- */

static const char zsh_head[] =
	"#compdef jeprof-ctl\n"
	"_jeprof_ctl_rows()\n{\n"
	"\trows=(\"${(@f)$(timeout " PATIENCE
	" ${(Q)words[1]} -q list -o $1 2>/dev/null | sed 1d)}\")\n"
	"\trows=(\"${(@u)rows:#(-|)}\")\n}\n"
	"_jeprof_ctl_column()\n{\n\tlocal -a rows\n\t_jeprof_ctl_rows $1\n"
	"\tcompadd -a rows\n}\n"
	"_jeprof_ctl_groups()\n{\n\t_jeprof_ctl_column unit\n\t_jeprof_ctl_column container\n}\n"
	"_jeprof_ctl_units()\n{\n\tlocal -a rows\n\trows=(\"${(@f)$(" UNITS ")}\")\n"
	"\tcompadd -a rows\n}\n"
	"_jeprof_ctl_pids()\n{\n\tlocal -a rows pids\n\t_jeprof_ctl_rows pid,comm\n"
	"\tpids=(\"${(@)rows%% *}\")\n\tcompadd -l -d rows -a pids\n}\n"
	"_jeprof_ctl()\n{\n\tlocal word command=''\n"
	"\tfor word in ${words[2,CURRENT-1]}; do\n\t\tcase ' ";

/* Autoloaded from $fpath, the file is the function body; when sourced, it defines a function. */
static const char zsh_tail[] = "\t\t;;\n\tesac\n}\n"
			       "if [[ $funcstack[1] == _jeprof-ctl ]]; then\n"
			       "\t_jeprof_ctl \"$@\"\nelse\n\tcompdef _jeprof_ctl jeprof-ctl\nfi\n";

/* The part after an option in zsh's _arguments: ":ARG:(choices)". */
static void zsh_argument(const struct option_def *o)
{
	if (o->type == OPTION_FLAG)
		return;
	printf("%s:%s:", o->type == OPTION_OPTIONAL ? ":" : "", o->arg);
	switch (source_of(o)) {
	case NOWHERE:
		break;
	case CHOICES:
		printf("(");
		put_words(o->choices);
		printf(")");
		break;
	case FILES:
		printf("_files");
		break;
	case PIDS:
		printf(" _jeprof_ctl_pids");
		break;
	case COMMS:
		printf(" _jeprof_ctl_column comm");
		break;
	case GROUPS:
		printf(" _jeprof_ctl_groups");
		break;
	case USERS:
		printf("_users");
		break;
	}
}

/* Help inside a specification, where brackets, colons and quotes are special. */
static void zsh_help(const char *help)
{
	for (; *help; help++) {
		if (*help == '\'')
			printf("'\\''");
		else if (strchr("[]:\\", *help))
			printf("\\%c", *help);
		else
			putchar(*help);
	}
}

static void zsh_options(const struct option_def *o)
{
	for (; o && o->name; o++) {
		if (o->letter) {
			printf(" \\\n\t\t'-%c[", o->letter);
			zsh_help(o->help);
			printf("]");
			zsh_argument(o);
			printf("'");
		}
		/* "--name=" takes "--name ARG" and "--name=ARG". */
		printf(" \\\n\t\t'--%s%s[", o->name, o->type == OPTION_FLAG ? "" : "=");
		zsh_help(o->help);
		printf("]");
		zsh_argument(o);
		printf("'");
	}
}

static void zsh(void)
{
	printf("%s", zsh_head);
	put_commands();
	printf(" ' in\n\t\t*\" $word \"*) command=$word; break ;;\n\t\tesac\n\tdone\n"
	       "\tcase $command in\n");
	for (size_t i = 0; commands[i]; i++) {
		const struct command *c = commands[i];

		printf("\t%s)\n\t\t_arguments", c->name);
		zsh_options(global_options);
		zsh_options(c->options);
		printf(" \\\n\t\t'1:command:'");
		if (has_choices(c)) {
			printf(" \\\n\t\t'%d:word:(", takes_pids(c) ? 3 : 2);
			put_choices(c);
			printf(")'");
		}
		if (takes_pids(c) && takes_files(c))
			printf(" \\\n\t\t'*:process or file:{ _jeprof_ctl_pids; _files }'");
		else if (takes_pids(c))
			printf(" \\\n\t\t'%s:process: _jeprof_ctl_pids'",
			       c->max_words == WORDS_MAX ? "*" : "2");
		else if (takes_files(c))
			printf(" \\\n\t\t'*:file:_files'");
		else if (takes_units(c))
			printf(" \\\n\t\t'2:service: _jeprof_ctl_units'");
		printf("\n\t\t;;\n");
	}
	printf("\t*)\n\t\t_arguments");
	zsh_options(global_options);
	printf(" \\\n\t\t'1:command:(");
	put_commands();
	printf(")'\n%s", zsh_tail);
}

/* --- fish --- */

static const char fish_head[] =
	"# fish completion for jeprof-ctl\n"
	"function __jeprof_ctl_list\n\tset -l words (commandline -opc)\n"
	"\ttimeout " PATIENCE " $words[1] -q list -o $argv[1] 2>/dev/null | sed 1d | "
	"string match -v -- -\nend\n"
	"function __jeprof_ctl_pids\n"
	"\t__jeprof_ctl_list pid,comm | string replace -r '^(\\d+) +' '$1\\t'\nend\n"
	"function __jeprof_ctl_units\n\t" UNITS "\nend\n"
	"complete -c jeprof-ctl -f\n";

static void fish_text(const char *text)
{
	putchar('\'');
	for (; *text; text++)
		printf(strchr("'\\", *text) ? "\\%c" : "%c", *text);
	putchar('\'');
}

static void fish_argument(const struct option_def *o)
{
	switch (source_of(o)) {
	case NOWHERE:
		printf(" -x");
		break;
	case CHOICES:
		printf(" -x -a '");
		put_words(o->choices);
		printf("'");
		break;
	case FILES:
		if (o->type != OPTION_OPTIONAL)
			printf(" -r -F");
		break;
	case PIDS:
		printf(" -x -a '(__jeprof_ctl_pids)'");
		break;
	case COMMS:
		printf(" -x -a '(__jeprof_ctl_list comm)'");
		break;
	case GROUPS:
		printf(" -x -a '(__jeprof_ctl_list unit; __jeprof_ctl_list container)'");
		break;
	case USERS:
		printf(" -x -a '(__fish_complete_users)'");
		break;
	}
}

static void fish_options(const struct option_def *o, const char *condition)
{
	for (; o && o->name; o++) {
		printf("complete -c jeprof-ctl%s -l %s", condition, o->name);
		if (o->letter)
			printf(" -s %c", o->letter);
		if (o->type != OPTION_FLAG)
			fish_argument(o);
		printf(" -d ");
		fish_text(o->help);
		putchar('\n');
	}
}

static void fish(void)
{
	printf("%s", fish_head);
	fish_options(global_options, "");
	for (size_t i = 0; commands[i]; i++) {
		const struct command *c = commands[i];
		char condition[96];

		printf("complete -c jeprof-ctl -n __fish_use_subcommand -a %s -d ", c->name);
		fish_text(c->help);
		snprintf(condition, sizeof(condition), " -n '__fish_seen_subcommand_from %s'",
			 c->name);
		putchar('\n');
		fish_options(c->options, condition);
		if (takes_pids(c))
			printf("complete -c jeprof-ctl%s -a '(__jeprof_ctl_pids)'\n", condition);
		if (takes_files(c))
			printf("complete -c jeprof-ctl%s -F\n", condition);
		if (takes_units(c))
			printf("complete -c jeprof-ctl%s -a '(__jeprof_ctl_units)'\n", condition);
		if (has_choices(c)) {
			printf("complete -c jeprof-ctl%s -a '", condition);
			put_choices(c);
			printf("'\n");
		}
	}
}

static int run_completion(const struct args *args, struct err *err)
{
	static void (*const writers[])(void) = { bash, zsh, fish };

	for (size_t i = 0; shells[i]; i++) {
		if (!strcmp(args->words[0], shells[i])) {
			writers[i]();
			return 0;
		}
	}
	err_raise(err, ERROR_NO_COMPLETION, .name = args->words[0]);
	return err_advise(err, FIX_CHOOSE_SHELL);
}

const struct command cmd_completion = {
	.name = "completion",
	.words = "SHELL",
	.help = "print a completion script for bash, zsh or fish",
	.only_prints = true,
	.min_words = 1,
	.max_words = 1,
	.choices = shells,
	.run = run_completion,
};
