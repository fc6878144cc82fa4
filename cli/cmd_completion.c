// SPDX-License-Identifier: Apache-2.0
/* Completion scripts for shells, from the tables. */
#include "cli/commands.h"
#include "cli/out.h"

#include <stdio.h>
#include <string.h>

static const char *const shells[] = { "bash", "zsh", "fish", NULL };

static void put_choices(const char *const *choices)
{
	for (; choices && *choices; choices++)
		printf("%s ", *choices);
}

static void put_commands(void)
{
	for (size_t i = 0; commands[i]; i++)
		printf("%s%s", i ? " " : "", commands[i]->name);
}

static void bash_names(const struct option_def *o)
{
	for (; o && o->name; o++) {
		printf(" --%s", o->name);
		if (o->letter)
			printf(" -%c", o->letter);
	}
}

/* One branch per option whose argument can be completed. */
static void bash_arguments(const struct option_def *o)
{
	for (; o && o->name; o++) {
		if (o->type == OPTION_FLAG)
			continue;
		printf("\t--%s", o->name);
		if (o->letter)
			printf(" | -%c", o->letter);
		printf(")\n");
		if (o->choices) {
			printf("\t\tmapfile -t COMPREPLY < <(compgen -W '");
			put_choices(o->choices);
			printf("' -- \"$cur\")\n\t\treturn\n\t\t;;\n");
		} else if (o->type == OPTION_FILE) {
			printf("\t\tmapfile -t COMPREPLY < <(compgen -f -- \"$cur\")\n"
			       "\t\treturn\n\t\t;;\n");
		} else if (o->type == OPTION_OPTIONAL) {
			printf("\t\t;;\n");
		} else {
			printf("\t\treturn\n\t\t;;\n");
		}
	}
}

static void bash_command(const struct command *c)
{
	printf("\t%s)\n", c->name);
	if (c->options) {
		printf("\t\tcase $prev in\n");
		bash_arguments(c->options);
		printf("\t\tesac\n\t\toptions=\"$options");
		bash_names(c->options);
		printf("\"\n");
	}
	if (c->choices) {
		printf("\t\twords='");
		put_choices(c->choices);
		printf("'\n");
	}
	if (c->needs_pid)
		printf("\t\twords+=\" $(cd /proc && echo [0-9]*)\"\n");
	printf("\t\t;;\n");
}

static void bash(void)
{
	printf("# bash completion for jeprof-ctl\n_jeprof_ctl()\n{\n"
	       "\tlocal cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]}\n"
	       "\tlocal word command='' words='' commands='");
	put_commands();
	printf("' options='");
	bash_names(global_options);
	printf("'\n\tCOMPREPLY=()\n\tcase $prev in\n");
	bash_arguments(global_options);
	printf("\tesac\n\tfor word in \"${COMP_WORDS[@]:1:COMP_CWORD-1}\"; do\n"
	       "\t\tcase \" $commands \" in\n\t\t*\" $word "
	       "\"*)\n\t\t\tcommand=$word\n\t\t\tbreak\n\t\t\t;;\n"
	       "\t\tesac\n\tdone\n\tcase $command in\n");
	for (size_t i = 0; commands[i]; i++)
		bash_command(commands[i]);
	printf("\t*)\n\t\twords=$commands\n\t\t;;\n\tesac\n\t[[ $cur == -* ]] && words=$options\n"
	       "\tmapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$cur\")\n}\n"
	       "complete -F _jeprof_ctl jeprof-ctl\n");
}

/* What follows an option in zsh's _arguments: ":ARG:(choices)". */
static void zsh_argument(const struct option_def *o)
{
	if (o->type == OPTION_FLAG)
		return;
	printf("%s:%s:", o->type == OPTION_OPTIONAL ? ":" : "", o->arg);
	if (o->choices) {
		printf("(");
		put_choices(o->choices);
		printf(")");
	} else if (o->type == OPTION_FILE || o->type == OPTION_OPTIONAL) {
		printf("_files");
	}
}

/* Help as the text of a specification: brackets, colons and quotes mean something there. */
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
		printf(" \\\n\t\t'--%s[", o->name);
		zsh_help(o->help);
		printf("]");
		zsh_argument(o);
		printf("'");
	}
}

static void zsh_command(const struct command *c)
{
	printf("\t%s)\n\t\t_arguments", c->name);
	zsh_options(global_options);
	zsh_options(c->options);
	printf(" \\\n\t\t'1:command:'");
	if (c->needs_pid)
		printf(" \\\n\t\t'2:pid:_pids'");
	if (c->choices) {
		printf(" \\\n\t\t'%d:word:(", c->needs_pid ? 3 : 2);
		put_choices(c->choices);
		printf(")'");
	}
	printf("\n\t\t;;\n");
}

static void zsh(void)
{
	printf("#compdef jeprof-ctl\n_jeprof_ctl()\n{\n\tlocal word command=''\n"
	       "\tfor word in ${words[2,CURRENT-1]}; do\n\t\tcase ' ");
	put_commands();
	printf(" ' in\n\t\t*\" $word \"*) command=$word; break ;;\n\t\tesac\n\tdone\n"
	       "\tcase $command in\n");
	for (size_t i = 0; commands[i]; i++)
		zsh_command(commands[i]);
	printf("\t*)\n\t\t_arguments");
	zsh_options(global_options);
	printf(" \\\n\t\t'1:command:(");
	put_commands();
	printf(")'\n\t\t;;\n\tesac\n}\ncompdef _jeprof_ctl jeprof-ctl\n");
}

static void fish_options(const struct option_def *o, const char *condition)
{
	for (; o && o->name; o++) {
		printf("complete -c jeprof-ctl%s -l %s", condition, o->name);
		if (o->letter)
			printf(" -s %c", o->letter);
		if (o->choices) {
			printf(" -x -a '");
			put_choices(o->choices);
			printf("'");
		} else if (o->type == OPTION_FILE) {
			printf(" -r -F");
		} else if (o->type != OPTION_FLAG && o->type != OPTION_OPTIONAL) {
			printf(" -x");
		}
		printf(" -d '%s'\n", o->help);
	}
}

static void fish(void)
{
	printf("# fish completion for jeprof-ctl\ncomplete -c jeprof-ctl -f\n");
	fish_options(global_options, "");
	for (size_t i = 0; commands[i]; i++) {
		const struct command *c = commands[i];
		char condition[96];

		printf("complete -c jeprof-ctl -n __fish_use_subcommand -a %s -d '%s'\n", c->name,
		       c->help);
		snprintf(condition, sizeof(condition), " -n '__fish_seen_subcommand_from %s'",
			 c->name);
		fish_options(c->options, condition);
		if (c->needs_pid)
			printf("complete -c jeprof-ctl%s -a '(__fish_complete_pids)'\n", condition);
		if (c->choices) {
			printf("complete -c jeprof-ctl%s -a '", condition);
			put_choices(c->choices);
			printf("'\n");
		}
	}
}

static int run(const struct args *args, struct err *err)
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
	.min_words = 1,
	.max_words = 1,
	.choices = shells,
	.run = run,
};
