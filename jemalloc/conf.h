// SPDX-License-Identifier: Apache-2.0
/*
 * MALLOC_CONF strings, read as each version of jemalloc reads them (malloc_conf_init() in its
 * src/jemalloc.c, src/conf.c from 5.3.1 on), on a 64-bit machine with pages of 4 KiB. Pure
 * functions over text. The strings are untrusted.
 */
#ifndef JEMALLOC_CONF_H
#define JEMALLOC_CONF_H

#include "jemalloc/jemalloc.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* 5.3.0 is CONF_VERSION(5, 3, 0). These numbers can be compared. */
#define CONF_VERSION(major, minor, patch) ((major)*10000 + (minor)*100 + (patch))

/* One version of each family with the same parser, oldest first, terminated by 0. */
extern const int conf_versions[];
#define CONF_VERSIONS 10

/* Parse "5.3.0" or "5.3.0-0-g54eaed1d"; 0 if it is not a version, or older than 3.0. */
int conf_version_parse(const char *text);

/* Write "5.3.0" to `buf`, and return that. */
const char *conf_version_text(int version, char *buf, size_t size);

enum conf_type {
	CONF_BOOL,
	CONF_UNSIGNED,
	CONF_SIGNED,
	CONF_WORD,	/* one of the words, unabbreviated */
	CONF_WORD_CUT,	/* the first of the words that starts with the value */
	CONF_NARENAS,	/* "default", or as CONF_UNSIGNED */
	CONF_RATIO,	/* 0.25 */
	CONF_RATIO_OFF, /* -1, or as CONF_RATIO */
	CONF_RANGES,	/* 1-128:2|129-1024:4 */
	CONF_TEXT,	/* truncated to `max` bytes */
};

enum conf_flags {
	CONF_CLIP = 1,	    /* values out of range are clamped */
	CONF_CUT_KEY = 2,   /* any prefix of the name is accepted */
	CONF_PROFILING = 4, /* only in a jemalloc built with --enable-prof */
	CONF_SPECIAL = 8,   /* only in builds with an option that distributions do not use */
};

/* Options whose values are interpreted. */
enum conf_id {
	CONF_OTHER,
	CONF_PROF,
	CONF_PROF_ACTIVE,
	CONF_THREAD_INIT,
	CONF_LG_SAMPLE,
	CONF_LG_INTERVAL,
	CONF_GDUMP,
	CONF_FINAL,
	CONF_LEAK,
	CONF_LEAK_ERROR,
	CONF_PREFIX, /* its value is the length */
	CONF_ABORT_CONF,
	CONF_CONFIRM,
	CONF_LG_TCACHE_MAX, /* before 5.3.0 */
	CONF_IDS
};

/* An option in versions from `since` to before `until` (0: all later ones). */
struct conf_option {
	const char *name;
	enum conf_type type;
	unsigned int flags; /* enum conf_flags */
	int since, until;
	int64_t min, max;  /* INT64_MAX: limited only by the type */
	const char *words; /* CONF_WORD, CONF_WORD_CUT: "a b c" */
	enum conf_id id;
};

extern const struct conf_option conf_options[]; /* terminated by a NULL name */

/* The newest option with exactly this name in any version; NULL if there is none. */
const struct conf_option *conf_option_named(const char *key, size_t len);

/* The option name most similar to `key`; NULL when none is similar. */
const char *conf_option_near(const char *key, size_t len);

/* A pair as jemalloc parses it, the same in every version. */
struct conf_pair {
	const char *key, *value; /* into the string */
	size_t key_len, value_len;
	bool last_comma; /* a comma follows, and nothing after it */
};

enum conf_step {
	CONF_END,
	CONF_PAIR,
	CONF_MALFORMED,	    /* nothing from here on is parsed */
	CONF_ENDS_WITH_KEY, /* likewise, without a bad character: ':' is missing */
};

/*
 * Parse the pair at *at, and advance *at past it. When the string is malformed, *at does not move
 * and *bad is the offending character.
 */
enum conf_step conf_next(const char **at, struct conf_pair *pair, const char **bad);

enum conf_outcome {
	CONF_TAKEN,
	CONF_CLIPPED,
	CONF_CUT,
	CONF_INVALID_PAIR,
	CONF_INVALID_VALUE,
	CONF_OUT_OF_RANGE,
	CONF_INVALID_SETTINGS,
};

/* jemalloc's message for it ("Invalid conf pair"); NULL when it prints none. */
const char *conf_outcome_message(enum conf_outcome outcome);

/* How a version interprets a pair. */
struct conf_verdict {
	enum conf_outcome outcome;
	const struct conf_option *option; /* NULL: CONF_INVALID_PAIR */
	int64_t n;			  /* the value: a number, 0 or 1, or the length of a text */
	const char *word;		  /* CONF_WORD*: the word accepted, of `word_len` bytes */
	size_t word_len;
};

/* `with_prof`: was it built with --enable-prof? Unknown counts as yes. */
struct conf_verdict conf_judge(const struct conf_pair *pair, int version, enum tristate with_prof);

/*
 * Write the pairs of `had` whose options `wanted` does not name, followed by `wanted`, so that both
 * take effect. False when they do not fit, or when jemalloc does not parse `had` to its end: then
 * it would ignore anything after it.
 */
bool conf_merge(const char *had, const char *wanted, char *buf, size_t size);

/* Sources of the configuration, in the order in which jemalloc reads them: the last one wins. */
enum conf_source {
	CONF_FROM_DEFAULT,
	CONF_FROM_BUILD,  /* --with-malloc-conf; 4.1.0 and newer */
	CONF_FROM_SYMBOL, /* the variable malloc_conf */
	CONF_FROM_LINK,	  /* the target of the symbolic link /etc/malloc.conf */
	CONF_FROM_ENVIRONMENT,
	CONF_FROM_HARDER, /* the variable malloc_conf_2_conf_harder; 5.3.0 and newer */
	CONF_SOURCES
};

/* The settings in effect after the sources read so far. */
struct conf_state {
	int version;
	enum tristate with_prof;
	struct {
		enum conf_source source;
		int64_t n;
	} v[CONF_IDS];
	bool had_error; /* in the sense of abort_conf */
	bool aborts;	/* the program aborts here */
};

void conf_state_init(struct conf_state *state, int version, enum tristate with_prof);
void conf_state_apply(struct conf_state *state, const char *text, enum conf_source source);

/* After the last source: apply jemalloc's final checks and derived values. */
void conf_state_finish(struct conf_state *state);

#endif
