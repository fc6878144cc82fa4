// SPDX-License-Identifier: Apache-2.0
/* The command line. Options are tables, from which parsing, help and completion derive. */
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

/* The values of an option that may be repeated. */
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
	/* Selected processes; 0 or NULL: not given. */
	int64_t pid, children;
	const char *comm, *cgroup;
	struct { /* set by cli/several.c for one of several processes */
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
	const char *in_target; /* "": without a path; NULL: not given */
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
	bool tree, emitters, cum, show_bytes, drop_negative, keep_allocator, sum;
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
	OPTION_FILE,	 /* const char *, completed as a path */
	OPTION_TEXTS,	 /* struct texts */
};

/* The C type of each in struct args. */
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
 * The type of an option and the offset of its value, for the tables. A field of another type
 * does not compile: storing the value would overwrite its neighbor.
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
	const char *arg;       /* name of its argument; NULL: takes none */
	const char *help;
	/* NULL-terminated; only for completion, except with OPTION_CHOICE. */
	const char *const *choices;
};

struct several;

struct command {
	const char *name;
	const char *words;		  /* its arguments, as shown in the usage line */
	const char *help;		  /* one line */
	const struct option_def *options; /* its own options; NULL: none */
	bool needs_pid;
	bool pid_optional;  /* not needed with some options; run() checks that */
	bool pid_by_option; /* needs none, but run() handles --pid, --comm, ... */
	bool only_prints;   /* what it was compiled with: it looks at nothing, and needs no room */
	bool stays;	    /* it serves or watches others until it is stopped */
	bool heading;	    /* its output does not name the process: print a heading with several */
	unsigned int min_words, max_words; /* not counting the pid */
	const char *const *choices; /* for its first word, used for completion; NULL: any word */
	/* 0; -1 with `err` set; or an exit status, if the output already shows the failure. */
	int (*run)(const struct args *args, struct err *err);
	/* The same for several processes (cli/several.h); NULL: it works on one only. */
	int (*run_several)(const struct several *several, struct err *err);
};

/* For commands that receive data from a process. */
#define OPTION_MAX_SIZE(what, size)                                         \
	{                                                                   \
		"max-size", 0, VALUE(SIZE, max_size_bytes), "SIZE",         \
			"refuse " what " larger than SIZE (" size ")", NULL \
	}

/* For commands that write formats. */
#define OPTION_MAX_STACKS                                                                  \
	{                                                                                  \
		"max-stacks", 0, VALUE(INT, max_stacks), "N",                              \
			"in a format: write at most N stacks, and all others as one", NULL \
	}

/* For commands that write one file. */
#define OPTION_FORCE                                                                   \
	{                                                                              \
		"force", 0, VALUE(FLAG, force), NULL, "replace an existing file", NULL \
	}

/* For commands that look up names (symbols/symbolize.h). */
#define OPTION_ROOT                                                                               \
	{                                                                                         \
		"root", 0, VALUE(FILE, root), "DIR", "look for programs and libraries below DIR", \
			NULL                                                                      \
	}
#define OPTION_TRUST_IMAGES                                                                    \
	{                                                                                      \
		"trust-images", 0, VALUE(FLAG, trust_images), NULL,                            \
			"take names from files that cannot be verified to be the mapped ones", \
			NULL                                                                   \
	}
#define OPTION_NO_CACHE                                                                     \
	{                                                                                   \
		"no-cache", 0, VALUE(FLAG, no_cache), NULL, "look up all names again", NULL \
	}

/* For commands that show what holds memory (profile/fold.h). */
#define OPTION_NO_FOLD                                                                          \
	{                                                                                       \
		"no-fold", 0, VALUE(FLAG, no_fold), NULL,                                       \
			"show functions that allocate for their callers, such as zmalloc", NULL \
	}
#define OPTION_ALLOCATOR                                                           \
	{                                                                          \
		"allocator", 0, VALUE(TEXTS, allocators), "RE",                    \
			"fold functions that match RE, too; may be repeated", NULL \
	}

extern const struct option_def global_options[];
extern const struct command *const commands[]; /* NULL-terminated */

/* Fill in `args` and `command` (NULL if the line names none). Fails with ERR_USAGE. */
int args_parse(int argc, char **argv, struct args *args, const struct command **command,
	       struct err *err) __must_check;

/* Whether -o names a file; otherwise output goes to stdout. */
static inline bool args_to_file(const struct args *args)
{
	return args->output && strcmp(args->output, "-") != 0;
}

/* The filter set by --comm, --cgroup and --children. False: none of them was given. */
#define ARGS_FILTER_SIZE 160
bool args_filter(const struct args *args, struct ops_filter *filter);

/* Whether --pid or one of those was given. */
bool args_name_process(const struct args *args);

const char *args_filter_text(const struct args *args, char *buf, size_t size);

/*
 * The process that the line selects: by its pid, as the only match, or as the only match that uses
 * jemalloc. If it was found by a filter, options->start_time is set, too, so that an operation
 * does not touch another process that has since been given this pid. Call args_options() first.
 */
int args_pid(const struct args *args, struct ops_options *options, pid_t *pid, struct err *err)
	__must_check;

/*
 * For words that may be a process or a file: a pid in canonical form is a process, "./4242" is a
 * file. The second function warns if a file of that name exists.
 */
bool args_word_is_process(const struct args *args, size_t i, int64_t *pid);
void args_warn_of_file(const struct args *args, int64_t pid);

/* Raise the error for too many matches, or for none. */
int args_ambiguous(const struct args *args, const struct ops_matches *found, struct err *err);
int args_no_match(const struct args *args, struct err *err);

/* Suggest the name closest to `word`, or else the help of the command (NULL: general help). */
int args_mean(struct err *err, const char *word, const char *const *names,
	      const struct command *command);

/* The command of this name; NULL with ERR_USAGE, which suggests the closest: there is none. */
const struct command *args_command(const char *name, struct err *err);

/* ERR_USAGE: this command needs a process. */
int args_no_pid(const struct command *command, struct err *err);

/* The exponent of --sample-rate or --lg-sample; OPS_LG_KEEP without either. */
int args_sample_rate(const struct args *args, int *lg, struct err *err) __must_check;

/* --max-overhead: more than 0 (ERR_USAGE), and in percent, 0 if it was not given. */
int args_check_overhead(const struct args *args, struct err *err) __must_check;
unsigned int args_max_overhead(const struct args *args);

/* The options that all operations share. */
void args_options(const struct args *args, struct ops_options *options);

#endif
