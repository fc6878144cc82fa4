// SPDX-License-Identifier: Apache-2.0
/* What the command line said. Options are tables: parsing, help and completion derive from them. */
#ifndef CLI_ARGS_H
#define CLI_ARGS_H

#include "base/err.h"
#include "injector/injector.h"
#include "ops/ops.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/types.h>

#define WORDS_MAX 1024
#define PIDS_MAX (WORDS_MAX + 1)

enum color { COLOR_AUTO, COLOR_ALWAYS, COLOR_NEVER };

enum format { FORMAT_DEFAULT = -1, FORMAT_JSON, FORMAT_TEXT, FORMAT_PROM };

/* What an option was given that may be given several times. */
#define TEXTS_MAX 64
struct texts {
	const char *v[TEXTS_MAX];
	size_t n;
};

/* The values of all options of all commands. */
struct args {
	bool json, quiet, verbose, help, version;
	int color; /* enum color */
	int mode;  /* enum injector_mode */
	uint64_t timeout_ms, max_pause_ms, wait_ms;
	/* Which process: 0 and NULL where they are not given. */
	int64_t pid, children;
	const char *comm, *cgroup;
	struct { /* set by cli/several.c: one of several, worked on in its turn */
		uint64_t start_time;
		int turn_fd;
		bool one;
		const char *name; /* its comm, raw */
	} of_several;
	const char *image; /* NULL: not given */
	bool debuginfod;

	bool force;
	uint64_t max_size_bytes; /* 0: not given */
	const char *output;
	const char *in_target; /* "" without a path, NULL when not given */
	int format;	       /* enum format */
	int64_t lg_sample;     /* -1: not given */
	uint64_t sample_rate;  /* 0: not given */
	const char *uid;
	const char *columns;  /* list */
	int sort;	      /* enum sort of cli/cmd_list.c */
	const char *activate; /* threads: "all" or thread ids */
	const char *conf, *jemalloc;
	uint64_t duration_ms, interval_ms, progress_ms; /* record */
	const char *until;
	int64_t max_overhead;		   /* sites, sample: percent; -1: not given */
	uint64_t min_age_ms;		   /* sample */
	int64_t keep;			   /* 0: all */
	bool all, since_start, no_uprobes; /* watch */
	uint64_t for_ms;		   /* 0: not given */
	int64_t count;			   /* 0: not given */
	const char *on_event, *on_event_exec;
	struct texts when; /* guard */
	const char *action;
	uint64_t cooldown_ms, max_bytes; /* 0: not given */
	int64_t again, kept;		 /* -1: not given */
	bool turn_on;
	const char *socket, *group, *tokens, *new_token, *advertise, *node; /* serve */
	const char *runs, *rules;
	const char *tls_cert, *tls_key, *client_ca, *client_crl, *client_role, *compat;
	struct texts ports, hosts;
	bool read_only, watch;
	int64_t workers;	   /* 0: not given */
	uint64_t limit_bytes;	   /* leaks; 0: not given */
	const char *report_format; /* dump, report, convert */
	int64_t max_stacks;	   /* the same; 0: all */
	bool if_active;		   /* dump */
	int leaks_format;
	bool no_cache, trust_images;
	bool runtime, restart, yes, dry_run; /* enable, disable */

	/* report */
	const char *base, *peek, *thread, *nodefraction, *root;
	const char *focus, *ignore, *show, *hide, *retain, *exclude;
	bool inuse_space, inuse_objects, alloc_space, alloc_objects;
	bool by_function, by_line, by_file, by_address;
	bool tree, cum, show_bytes, drop_negative, keep_allocator, sum;
	bool traces, no_fold, no_pager;
	struct texts allocators;
	const char *list, *save;
	int64_t nodecount; /* -1: not given */
	int unit;	   /* enum profile_unit */

	const char *words[WORDS_MAX]; /* after the command and the pid */
	size_t n_words;
};

enum option_type {
	OPTION_FLAG,	 /* bool */
	OPTION_STRING,	 /* const char * */
	OPTION_OPTIONAL, /* const char *: "" when the next word is an option, a number or missing */
	OPTION_PID,	 /* int64_t, positive */
	OPTION_INT,	 /* int64_t, not negative */
	OPTION_DURATION, /* uint64_t, milliseconds, not 0 */
	OPTION_SIZE,	 /* uint64_t, bytes, not 0 */
	OPTION_CHOICE,	 /* int: the index in `choices` */
	OPTION_FILE,	 /* const char *, a path: completed as one */
	OPTION_TEXTS,	 /* struct texts */
};

/* What the value of each is in struct args. */
#define OPTION_TYPE_FLAG bool
#define OPTION_TYPE_STRING const char *
#define OPTION_TYPE_OPTIONAL const char *
#define OPTION_TYPE_PID int64_t
#define OPTION_TYPE_INT int64_t
#define OPTION_TYPE_DURATION uint64_t
#define OPTION_TYPE_SIZE uint64_t
#define OPTION_TYPE_CHOICE int
#define OPTION_TYPE_FILE const char *
#define OPTION_TYPE_TEXTS struct texts

/*
 * Of which type an option is, and where its value lies, for the tables: a field
 * of another type does not compile, as its neighbour would be overwritten.
 */
#define VALUE(kind, field)                                                                    \
	OPTION_##kind,                                                                        \
		offsetof(struct args, field) +                                                \
			0 * sizeof(struct {                                                   \
				_Static_assert(__builtin_types_compatible_p(                  \
						       __typeof__(((struct args *)0)->field), \
						       OPTION_TYPE_##kind),                   \
					       "the field " #field                            \
					       " is not of the type of OPTION_" #kind);       \
				char unused;                                                  \
			})

struct option_def {
	const char *name;      /* long name, without the dashes; NULL ends a table */
	char letter;	       /* short name, 0 if none */
	enum option_type type; /* this and the next by VALUE() */
	size_t offset;	       /* in struct args */
	const char *arg;       /* what its argument is called, NULL if it has none */
	const char *help;
	const char *const
		*choices; /* NULL at the end; but for OPTION_CHOICE, for completion only */
};

struct several;

struct command {
	const char *name;
	const char *words;		  /* its arguments after the options, as usage shows them */
	const char *help;		  /* one line */
	const struct option_def *options; /* its own, NULL if none */
	bool needs_pid;
	bool pid_optional;  /* run() can do without it under some options, and sees to that */
	bool pid_by_option; /* it needs none, but run() takes the one of --pid, --comm, ... */
	bool heading;	    /* of several, what it prints does not say of which it is */
	unsigned int min_words, max_words; /* the pid not counted */
	const char *const *choices;	   /* of its first word, for completion; NULL if free */
	/* 0; -1 with `err` set; or an exit status when the result tells of the failure itself. */
	int (*run)(const struct args *args, struct err *err);
	/* The same for several processes, see cli/several.h; NULL: it works on one. */
	int (*run_several)(const struct several *several, struct err *err);
};

/* For commands that take what a process hands over. */
#define OPTION_MAX_SIZE(what, size)                                         \
	{                                                                   \
		"max-size", 0, VALUE(SIZE, max_size_bytes), "SIZE",         \
			"refuse " what " larger than SIZE (" size ")", NULL \
	}

/* For commands that write formats. */
#define OPTION_MAX_STACKS                                                    \
	{                                                                    \
		"max-stacks", 0, VALUE(INT, max_stacks), "N",                \
			"of a format: at most N stacks, others as one", NULL \
	}

/* For commands that show who holds memory (profile/fold.h). */
#define OPTION_NO_FOLD                                                                     \
	{                                                                                  \
		"no-fold", 0, VALUE(FLAG, no_fold), NULL,                                  \
			"show functions that allocate for their callers, as zmalloc", NULL \
	}
#define OPTION_ALLOCATOR                                                        \
	{                                                                       \
		"allocator", 0, VALUE(TEXTS, allocators), "RE",                 \
			"those that match do as well; may be given again", NULL \
	}

extern const struct option_def global_options[];
extern const struct command *const commands[]; /* NULL at the end */

/* Fill `args` and `command` (NULL when the line names none). ERR_USAGE says what is wrong. */
int args_parse(int argc, char **argv, struct args *args, const struct command **command,
	       struct err *err) __must_check;

/* Does -o name a file? Else it goes to stdout. */
static inline bool args_to_file(const struct args *args)
{
	return args->output && strcmp(args->output, "-") != 0;
}

/* What --comm, --cgroup and --children say. False: none of them is given. */
#define ARGS_FILTER_SIZE 160
bool args_filter(const struct args *args, struct ops_filter *filter);

/* Does an option say which process, --pid or one of those? */
bool args_name_process(const struct args *args);

const char *args_filter_text(const struct args *args, char *buf, size_t size);

/*
 * The process the line means: its pid, the only one that matches, or of several the only one that
 * uses jemalloc. One that was found by its name goes into options->start_time, too: an operation
 * touches no other that was given its number since. After args_options().
 */
int args_pid(const struct args *args, struct ops_options *options, pid_t *pid, struct err *err)
	__must_check;

/*
 * Where a word may be a process or a file: a number as pids are written is a process; "./4242" is
 * a file. The second says so where there is a file of that name.
 */
bool args_word_is_process(const struct args *args, size_t i, int64_t *pid);
void args_warn_of_file(const struct args *args, int64_t pid);

/* Those that were found are too many, or none. */
int args_ambiguous(const struct args *args, const struct ops_matches *found, struct err *err);
int args_no_match(const struct args *args, struct err *err);

/* Advise which of the names was meant by `word`, or to see the help of the command (NULL: all). */
int args_mean(struct err *err, const char *word, const char *const *names,
	      const struct command *command);

/* The command of this name. NULL: there is none, and ERR_USAGE says which was meant. */
const struct command *args_command(const char *name, struct err *err);

/* ERR_USAGE: this command needs a process. */
int args_no_pid(const struct command *command, struct err *err);

/* The exponent of --sample-rate or --lg-sample; OPS_LG_KEEP without either. */
int args_sample_rate(const struct args *args, int *lg, struct err *err) __must_check;

/* --max-overhead: more than 0 (ERR_USAGE), and in percent, 0 if it was not given. */
int args_check_overhead(const struct args *args, struct err *err) __must_check;
unsigned int args_max_overhead(const struct args *args);

/* What the line says about how to do it. */
void args_options(const struct args *args, struct ops_options *options);

#endif
