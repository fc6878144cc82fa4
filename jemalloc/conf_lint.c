// SPDX-License-Identifier: Apache-2.0
#include "jemalloc/conf_lint.h"

#include "base/text.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

/*
 * Describes how each family of versions interprets a string, so that the texts differ where the
 * effects do.
 */

#define SHOWN 60 /* bytes of a name that are shown */

struct writer {
	char *buf;
	size_t size, at;
};

static void put(struct writer *w, const char *fmt, ...) __printf_like(2, 3);
static void put(struct writer *w, const char *fmt, ...)
{
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(w->buf + w->at, w->size - w->at, fmt, ap);
	va_end(ap);
	if (n > 0)
		w->at += (size_t)n < w->size - w->at ? (size_t)n : w->size - w->at - 1;
}

static void describe(const char *text, int version, enum tristate with_prof, char *buf, size_t size)
{
	struct writer w = { .buf = buf, .size = size };
	struct conf_state state;
	const char *at = text, *bad;
	struct conf_pair pair;
	enum conf_step step;

	conf_state_init(&state, version, with_prof);
	conf_state_apply(&state, text, CONF_FROM_ENVIRONMENT);
	conf_state_finish(&state);
	put(&w, "opt.prof %s",
	    with_prof == TRI_NO	   ? "does not exist"
	    : state.v[CONF_PROF].n ? "true"
				   : "false");
	while ((step = conf_next(&at, &pair, &bad)) == CONF_PAIR) {
		struct conf_verdict v = conf_judge(&pair, version, with_prof);
		const char *message = conf_outcome_message(v.outcome);

		/* Only pairs that this version does not use exactly as written. */
		if (message)
			put(&w, "; %.*s ignored (%s)",
			    (int)(pair.key_len < SHOWN ? pair.key_len : SHOWN), pair.key, message);
		else if (v.word &&
			 (v.word_len != pair.value_len || pair.key_len < strlen(v.option->name)))
			put(&w, "; %s:%.*s", v.option->name, (int)v.word_len, v.word);
		else if (v.outcome != CONF_TAKEN ||
			 (v.option->type == CONF_SIGNED && !pair.value_len))
			put(&w, "; %s:%lld", v.option->name, (long long)v.n);
	}
	if (step != CONF_END)
		put(&w, "; the rest dropped");
	if (state.aborts)
		put(&w, "; the program aborts");
}

/* --- findings --- */

/* Add a finding; NULL when the array is full. */
__printf_like(4, 5) static struct conf_finding *conf_lint_add(struct conf_lint *lint,
							      enum conf_level level, size_t at,
							      const char *fmt, ...)
{
	struct conf_finding *f;
	va_list ap;

	if (lint->n == CONF_FINDINGS_MAX) {
		lint->dropped++;
		return NULL;
	}
	f = &lint->v[lint->n++];
	f->level = level;
	f->at = at;
	f->fix[0] = '\0';
	va_start(ap, fmt);
	vsnprintf(f->text, sizeof(f->text), fmt, ap);
	va_end(ap);
	return f;
}

__printf_like(2, 3) static void conf_lint_fix(struct conf_finding *finding, const char *fmt, ...)
{
	va_list ap;

	if (!finding)
		return;
	va_start(ap, fmt);
	vsnprintf(finding->fix, sizeof(finding->fix), fmt, ap);
	va_end(ap);
}

/* --- rules --- */

/*
 * Effects of correctly written options. Sources: jemalloc's prof.c of each version, and its manual.
 */

#define LG_GIB 30
#define LG_SAMPLE_LOW 12
#define LG_SAMPLE_HIGH 30
#define NAME_LEN_MAX 200 /* of a prefix, to which jemalloc appends the pid, a number and ".heap" */

struct rules {
	const struct conf_state *state;
	bool all;     /* the state stands for all versions */
	bool on;      /* opt.prof is true in the end */
	bool by_leak; /* only because of prof_leak, which disables automatic dumps */
	struct conf_lint *out;
};

static bool given(const struct rules *r, enum conf_id id)
{
	return r->state->v[id].source != CONF_FROM_DEFAULT;
}

static int64_t value(const struct rules *r, enum conf_id id)
{
	return r->state->v[id].n;
}

static const char *bytes_of(int64_t lg, char *buf, size_t size)
{
	return text_size(1ull << (lg & 63), buf, size);
}

static void rule_prof(const struct rules *r)
{
	bool others = false;

	if (r->on || r->state->with_prof == TRI_NO)
		return;
	for (enum conf_id id = CONF_PROF_ACTIVE; id <= CONF_PREFIX; id++)
		others |= given(r, id);
	if (given(r, CONF_PROF) && !others) {
		conf_lint_add(r->out, CONF_NOTE, 0,
			      "prof:false: this process cannot be profiled while it runs");
		return;
	}
	if (others)
		conf_lint_fix(conf_lint_add(r->out, CONF_WARNING, 0,
					    "prof:true is missing: without it the other profiling "
					    "options have no effect"),
			      "add prof:true; profiling cannot be enabled later");
	else
		conf_lint_fix(conf_lint_add(r->out, CONF_NOTE, 0,
					    "without prof:true the process cannot be profiled"),
			      "add prof:true,prof_active:false; activate switches sampling on "
			      "later");
}

static void rule_leak(const struct rules *r)
{
	bool reported = value(r, CONF_FINAL);

	if (r->by_leak)
		conf_lint_add(
			r->out, CONF_NOTE, 0,
			"prof_leak:true implies opt.prof, with no dumps except the final one");
	if (value(r, CONF_LEAK_ERROR) && !reported)
		conf_lint_fix(conf_lint_add(r->out, CONF_WARNING, 0,
					    "prof_leak_error:true without prof_final:true has no "
					    "effect except a message of jemalloc's"),
			      "add prof_final:true");
	else if (r->on && value(r, CONF_LEAK) && !reported)
		conf_lint_fix(conf_lint_add(r->out, CONF_WARNING, 0,
					    "prof_leak:true reports nothing without "
					    "prof_final:true"),
			      "add prof_final:true");
}

static void rule_active(const struct rules *r)
{
	bool stale = r->state->version >= CONF_VERSION(5, 2, 0) &&
		     r->state->version < CONF_VERSION(5, 3, 0);
	char size[16];

	if (!r->on)
		return;
	if (value(r, CONF_PROF_ACTIVE))
		conf_lint_fix(conf_lint_add(r->out, CONF_NOTE, 0,
					    "sampling starts with the program: a stack is walked "
					    "every %s allocated, in each thread",
					    bytes_of(value(r, CONF_LG_SAMPLE), size, sizeof(size))),
			      "prof_active:false leaves it off until activate");
	else if (stale || r->all)
		conf_lint_add(r->out, CONF_NOTE, 0,
			      "prof_active:false: in jemalloc 5.2.0 and 5.2.1, threads that "
			      "allocated before it becomes true are not sampled until a call is "
			      "made in each of them");
}

static void rule_thread_init(const struct rules *r)
{
	if (!r->on || value(r, CONF_THREAD_INIT))
		return;
	conf_lint_fix(
		conf_lint_add(r->out, CONF_WARNING, 0,
			      value(r, CONF_PROF_ACTIVE)
				      ? "prof_thread_active_init:false: no thread is sampled until "
					"each of them sets thread.prof.active itself"
				      : "prof_thread_active_init:false: threads that once "
					"allocated while it was false are never sampled"),
		"leave it out; prof_active:false alone keeps sampling off");
}

static void rule_sample(const struct rules *r)
{
	int64_t lg = value(r, CONF_LG_SAMPLE);
	char size[16];

	if (!r->on || !given(r, CONF_LG_SAMPLE))
		return;
	bytes_of(lg, size, sizeof(size));
	if (lg == 0)
		conf_lint_fix(
			conf_lint_add(
				r->out, CONF_WARNING, 0,
				"lg_prof_sample:0: a stack is walked for every single allocation"),
			"19, the default, is a sample every 512 KiB");
	else if (lg < LG_SAMPLE_LOW)
		conf_lint_fix(conf_lint_add(r->out, CONF_WARNING, 0,
					    "lg_prof_sample:%lld: a stack is walked every %s "
					    "allocated, which slows the program down",
					    (long long)lg, size),
			      "19, the default, is a sample every 512 KiB");
	else if (lg > LG_SAMPLE_HIGH)
		conf_lint_fix(conf_lint_add(r->out, CONF_WARNING, 0,
					    "lg_prof_sample:%lld: one sample every %s allocated; "
					    "profiles will be empty",
					    (long long)lg, size),
			      "19, the default, is a sample every 512 KiB");
}

static void rule_interval(const struct rules *r)
{
	int64_t lg = value(r, CONF_LG_INTERVAL);
	struct conf_finding *f;
	char size[16];

	if (!r->on || r->by_leak || lg < 0)
		return;
	bytes_of(lg, size, sizeof(size));
	if (lg >= LG_GIB) {
		conf_lint_add(r->out, CONF_NOTE, 0,
			      "lg_prof_interval:%lld: a file is written every %s allocated",
			      (long long)lg, size);
		return;
	}
	f = conf_lint_add(r->out, CONF_WARNING, 0,
			  "lg_prof_interval:%lld is a power of two, in bytes: a file is written "
			  "every %s allocated, %llu for each GiB",
			  (long long)lg, size, 1ull << (LG_GIB - lg));
	conf_lint_fix(f, "leave it out and take dumps with jeprof-ctl, or write at least 34 (one "
			 "for 16 GiB)");
}

static void rule_files(const struct rules *r)
{
	if (!r->on)
		return;
	if (value(r, CONF_GDUMP))
		conf_lint_fix(
			conf_lint_add(
				r->out, CONF_WARNING, 0,
				"prof_gdump:true: a file is written whenever the memory "
				"in use reaches a new maximum, and the program may hang in it"),
			"leave it out: dumps can be taken at intervals while the program runs");
	if (value(r, CONF_FINAL))
		conf_lint_add(r->out, CONF_NOTE, 0,
			      "prof_final%s: a file is written when the program exits",
			      given(r, CONF_FINAL) ? ":true" : " is true before 4.0");
}

static void rule_prefix(const struct rules *r)
{
	int64_t len = value(r, CONF_PREFIX);

	if (!given(r, CONF_PREFIX) || !r->on)
		return;
	if (len == 0)
		conf_lint_add(r->out, CONF_NOTE, 0,
			      "prof_prefix is empty: jemalloc writes no automatic dumps");
	else if (len > NAME_LEN_MAX)
		conf_lint_fix(conf_lint_add(r->out, CONF_WARNING, 0,
					    "prof_prefix has %lld bytes: a file name may have 255, "
					    "a path 4095, including what jemalloc appends",
					    (long long)len),
			      "choose a shorter one");
}

/* Seen with 5.2.1 of Debian 11; 62 is harmless. */
static void rule_tcache(const struct rules *r)
{
	if (value(r, CONF_LG_TCACHE_MAX) == 63)
		conf_lint_fix(
			conf_lint_add(r->out, CONF_WARNING, 0,
				      "lg_tcache_max:63: jemalloc before 5.3.0 may crash when "
				      "the program starts"),
			"use a value from 12 to 23");
}

static void rule_build(const struct rules *r)
{
	bool any = false;

	for (enum conf_id id = CONF_PROF; id <= CONF_PREFIX; id++)
		any |= given(r, id);
	if (any && r->state->with_prof == TRI_UNKNOWN)
		conf_lint_add(r->out, CONF_NOTE, 0,
			      "prof and its options exist only in a jemalloc built with "
			      "--enable-prof; any other ignores them%s",
			      value(r, CONF_ABORT_CONF) ? " and aborts the program" : "");
}

static void rule_whole(const struct rules *r)
{
	if (r->state->aborts)
		conf_lint_fix(conf_lint_add(r->out, CONF_ERROR, 0,
					    "abort_conf:true: because of these errors the program "
					    "aborts at its start"),
			      "fix them, or remove abort_conf");
	if (value(r, CONF_CONFIRM))
		conf_lint_add(r->out, CONF_NOTE, 0,
			      "confirm_conf:true: each program prints its options to stderr when "
			      "it starts");
}

void conf_rules(const struct conf_state *state, bool all, struct conf_lint *out)
{
	static void (*const rules[])(const struct rules *r) = {
		rule_prof,  rule_leak,	 rule_active, rule_thread_init, rule_sample, rule_interval,
		rule_files, rule_prefix, rule_build,  rule_tcache,	rule_whole,
	};
	struct conf_state last = *state;
	struct rules r = { .state = &last, .all = all, .out = out };

	conf_state_finish(&last);
	r.on = last.v[CONF_PROF].n && last.with_prof != TRI_NO;
	r.by_leak = r.on && !state->v[CONF_PROF].n;
	for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++)
		rules[i](&r);
}

/* --- one string --- */

size_t conf_lint_count(const struct conf_lint *lint, enum conf_level level)
{
	size_t n = 0;

	for (size_t i = 0; i < lint->n; i++)
		n += lint->v[i].level == level;
	return n;
}

/* One string, for one version or for all. */
struct linter {
	const char *text;
	int versions[CONF_VERSIONS + 1]; /* oldest first, terminated by 0 */
	enum tristate with_prof;
	struct conf_lint *out;
};

static int newest(const struct linter *l)
{
	const int *v = l->versions;

	while (v[1])
		v++;
	return *v;
}

static bool is_all(const struct linter *l)
{
	return l->versions[1] != 0;
}

static int shown(size_t len)
{
	return len < SHOWN ? (int)len : SHOWN;
}

/* --- a string that cannot be parsed into pairs --- */

static const char *hint_for(char bad)
{
	switch (bad) {
	case '=':
		return "write ':' between an option and its value";
	case ' ':
	case '\t':
	case '\n':
		return "remove the blank: options are separated by ',' only";
	case '"':
	case '\'':
		return "remove the quotes: they are part of the string";
	case ';':
	case '|':
		return "separate options by ','";
	case ',':
		return "every option is NAME:VALUE, with one ',' between two of them";
	case '-':
		return "write names with '_'";
	case '.':
		return "write names without \"opt.\"";
	default:
		return "write NAME:VALUE,NAME:VALUE; names consist of letters, digits and '_'";
	}
}

static void find_malformed(struct linter *l, const char *at, const char *bad)
{
	size_t rest = strlen(at), offset = (size_t)(at - l->text);
	struct conf_finding *f;

	if (!bad) {
		f = conf_lint_add(
			l->out, CONF_ERROR, offset,
			"the string ends with a name: \"%.*s\" has no value and is dropped",
			shown(rest), at);
		conf_lint_fix(f, "write %.*s:VALUE", shown(rest), at);
		return;
	}
	f = conf_lint_add(l->out, CONF_ERROR, offset,
			  "'%c' is not allowed in a name: \"%.*s\" is dropped, and everything "
			  "after it (%zu bytes)",
			  *bad, shown(strcspn(at, ",")), at, rest);
	if (!strncmp(at, "MALLOC_CONF=", 12) && *bad == '=')
		conf_lint_fix(f, "remove \"MALLOC_CONF=\": it is the variable's name");
	else
		conf_lint_fix(f, "%s", hint_for(*bad));
}

/* --- one pair --- */

/* How all the versions checked interpret a pair. */
struct tally {
	size_t taken, refused;
	int first, last;	  /* versions that accept it */
	bool modern;		  /* all from 4.0 on accept it */
	struct conf_verdict best; /* of the newest that accepts it, else that knows it */
	struct conf_verdict late; /* of the newest version */
};

static void count_verdicts(const struct linter *l, const struct conf_pair *pair, struct tally *t)
{
	int before = 0;

	*t = (struct tally){ .modern = true };
	for (const int *v = l->versions; *v; v++) {
		t->late = conf_judge(pair, *v, l->with_prof);
		if (conf_outcome_message(t->late.outcome)) {
			t->refused++;
			t->modern &= is_all(l) && *v < CONF_VERSION(4, 0, 0);
			if (!t->taken && t->late.option)
				t->best = t->late;
			before = *v;
			continue;
		}
		if (!t->taken++)
			t->first = t->late.option->since > before ? t->late.option->since : *v;
		t->last = *v;
		t->best = t->late;
	}
}

/* The versions with this name: "from 5.3.0 on", "before 5.0.0", "from 4.1.0 to before 5.0.0". */
static const char *known_when(const char *key, size_t len, char *buf, size_t size)
{
	int since = INT32_MAX, until = 0;
	bool now = false;
	char from[16], to[16];

	for (const struct conf_option *o = conf_options; o->name; o++) {
		if (strlen(o->name) != len || memcmp(o->name, key, len))
			continue;
		since = o->since < since ? o->since : since;
		until = o->until > until ? o->until : until;
		now |= !o->until;
	}
	conf_version_text(since, from, sizeof(from));
	conf_version_text(until, to, sizeof(to));
	if (now)
		snprintf(buf, size, "from %s on", from);
	else if (!since)
		snprintf(buf, size, "before %s", to);
	else
		snprintf(buf, size, "from %s to before %s", from, to);
	return buf;
}

static void find_unknown(struct linter *l, const struct conf_pair *pair, size_t at)
{
	const struct conf_option *o = conf_option_named(pair->key, pair->key_len);
	struct conf_finding *f;
	const char *near;
	char when[64];

	if (o && (o->flags & CONF_PROFILING) && l->with_prof == TRI_NO) {
		f = conf_lint_add(l->out, CONF_ERROR, at,
				  "unknown option %s: this jemalloc was built without profiling",
				  o->name);
		conf_lint_fix(f, "use a jemalloc built with --enable-prof");
		return;
	}
	if (o) {
		f = conf_lint_add(
			l->out, CONF_ERROR, at,
			"%s does not exist in this version, and is ignored: jemalloc has it %s",
			o->name, known_when(pair->key, pair->key_len, when, sizeof(when)));
		conf_lint_fix(f, "remove it");
		return;
	}
	f = conf_lint_add(l->out, CONF_ERROR, at, "unknown option \"%.*s\": it is ignored",
			  shown(pair->key_len), pair->key);
	if (!f)
		return;
	near = conf_option_near(pair->key, pair->key_len);
	if (near)
		conf_lint_fix(f, "did you mean %s?", near);
	else
		conf_lint_fix(f, "remove it; jemalloc(3) lists the options as opt.NAME");
}

/* What an invalid bool probably means; NULL if unknown. */
static const char *meant_bool(const struct conf_pair *pair)
{
	static const char *const words[][2] = {
		{ "1", "true" },    { "0", "false" },	   { "yes", "true" },
		{ "no", "false" },  { "on", "true" },	   { "off", "false" },
		{ "y", "true" },    { "n", "false" },	   { "t", "true" },
		{ "f", "false" },   { "enabled", "true" }, { "disabled", "false" },
		{ "true", "true" }, { "false", "false" },
	};

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		if (strlen(words[i][0]) == pair->value_len &&
		    !strncasecmp(words[i][0], pair->value, pair->value_len))
			return words[i][1];
	}
	return NULL;
}

static void find_bad_value(struct linter *l, const struct conf_pair *pair, size_t at,
			   const struct conf_option *o)
{
	const char *meant = meant_bool(pair);
	char wrong = '\0';
	struct conf_finding *f = conf_lint_add(l->out, CONF_ERROR, at,
					       "%s: invalid value \"%.*s\"; the option is ignored",
					       o->name, shown(pair->value_len), pair->value);

	for (size_t i = 0; i < pair->value_len && !wrong; i++)
		if (strchr("\"' \t\n;|", pair->value[i]) && pair->value[i])
			wrong = pair->value[i];
	if (wrong && o->type != CONF_RANGES)
		conf_lint_fix(f, "%s", hint_for(wrong));
	else if (o->type == CONF_BOOL && meant)
		conf_lint_fix(f, "write %s:%s", o->name, meant);
	else if (o->type == CONF_BOOL)
		conf_lint_fix(f, "write %s:true or %s:false", o->name, o->name);
	else if (o->type == CONF_WORD || o->type == CONF_WORD_CUT)
		conf_lint_fix(f, "one of: %s", o->words);
	else if (o->type == CONF_RATIO || o->type == CONF_RATIO_OFF)
		conf_lint_fix(f, "write a number such as 0.25");
	else if (o->type == CONF_RANGES)
		conf_lint_fix(f, "write FROM-TO:N, separated by '|'");
	else if (!strncmp(o->name, "lg_", 3))
		conf_lint_fix(f, "write only the exponent of two: 19 is 512 KiB, 30 is 1 GiB");
	else
		conf_lint_fix(f, "write a whole number, without a unit");
}

/* The exponent of a power of two from 2^10 on, else -1. */
static int exponent(int64_t n)
{
	return n >= 1024 && !(n & (n - 1)) ? __builtin_ctzll((uint64_t)n) : -1;
}

static void fix_range(struct conf_finding *f, const struct conf_option *o,
		      const struct conf_pair *pair)
{
	long long n = 0;
	char digits[24];

	snprintf(digits, sizeof(digits), "%.*s", (int)(pair->value_len < 20 ? pair->value_len : 20),
		 pair->value);
	if (sscanf(digits, "%18lld", &n) == 1 && exponent(n) >= 0 && !strncmp(o->name, "lg_", 3))
		conf_lint_fix(f, "it is an exponent of two: write %s:%d for %lld", o->name,
			      exponent(n), n);
	else if (o->max == INT64_MAX)
		conf_lint_fix(f, "from %lld on", (long long)o->min);
	else
		conf_lint_fix(f, "from %lld to %lld", (long long)o->min, (long long)o->max);
}

static void find_refused(struct linter *l, const struct conf_pair *pair, size_t at,
			 const struct tally *t)
{
	const struct conf_option *o = t->best.option;
	struct conf_finding *f;

	if (!o) {
		find_unknown(l, pair, at);
	} else if (t->best.outcome == CONF_OUT_OF_RANGE) {
		f = conf_lint_add(l->out, CONF_ERROR, at,
				  "%s: %.*s is out of range; the option is ignored", o->name,
				  shown(pair->value_len), pair->value);
		if (f)
			fix_range(f, o, pair);
	} else {
		find_bad_value(l, pair, at, o);
	}
}

/* Accepted by some versions only: not an error, but not safe either. */
static void find_partly(struct linter *l, size_t at, const struct tally *t)
{
	bool now = !conf_outcome_message(t->late.outcome);
	char from[16], to[16];

	if (!t->refused || t->modern)
		return;
	conf_version_text(t->first, from, sizeof(from));
	conf_version_text(t->last, to, sizeof(to));
	if (now)
		conf_lint_add(l->out, CONF_NOTE, at,
			      "%s: only jemalloc %s and newer accept it; older ones ignore it",
			      t->best.option->name, from);
	else
		conf_lint_add(l->out, CONF_WARNING, at,
			      "%s: only jemalloc up to %s accepts it; newer ones ignore it",
			      t->best.option->name, to);
}

static void find_taken(struct linter *l, const struct conf_pair *pair, size_t at,
		       const struct tally *t)
{
	const struct conf_option *o = t->best.option;
	struct conf_finding *f;

	if (t->best.outcome == CONF_CLIPPED) {
		f = conf_lint_add(l->out, CONF_WARNING, at,
				  "%s: %.*s is out of range; jemalloc uses %lld", o->name,
				  shown(pair->value_len), pair->value, (long long)t->best.n);
		if (f)
			fix_range(f, o, pair);
	}
	if (t->best.outcome == CONF_CUT)
		conf_lint_add(l->out, CONF_WARNING, at, "%s: truncated to its first %lld bytes",
			      o->name, (long long)t->best.n);
	if (pair->key_len < strlen(o->name)) {
		f = conf_lint_add(l->out, CONF_WARNING, at, "\"%.*s\" is accepted as %s",
				  shown(pair->key_len), pair->key, o->name);
		conf_lint_fix(f, "write %s:%.*s", o->name, (int)t->best.word_len, t->best.word);
	} else if (t->best.word && pair->value_len < t->best.word_len) {
		f = conf_lint_add(l->out, CONF_WARNING, at, "%s: \"%.*s\" is accepted as %.*s",
				  o->name, shown(pair->value_len), pair->value,
				  (int)t->best.word_len, t->best.word);
		conf_lint_fix(f, "write %s:%.*s", o->name, (int)t->best.word_len, t->best.word);
	}
	if (o->type == CONF_SIGNED && !pair->value_len)
		conf_lint_add(l->out, CONF_WARNING, at, "%s: a missing value is read as 0",
			      o->name);
	if (o->flags & CONF_SPECIAL)
		conf_lint_add(l->out, CONF_WARNING, at,
			      "%s: only special builds of jemalloc have it; others ignore it",
			      o->name);
}

static void find_again(struct linter *l, const struct conf_pair *pair, const char *rest, size_t at)
{
	struct conf_pair other;
	const char *bad;

	while (conf_next(&rest, &other, &bad) == CONF_PAIR) {
		if (pair->key_len != other.key_len ||
		    memcmp(pair->key, other.key, pair->key_len) != 0)
			continue;
		conf_lint_add(l->out, CONF_WARNING, at,
			      "%.*s is given again later; the last one wins", shown(pair->key_len),
			      pair->key);
		return;
	}
}

static void lint_pair(struct linter *l, const struct conf_pair *pair, const char *rest)
{
	size_t at = (size_t)(pair->key - l->text);
	struct tally t;

	count_verdicts(l, pair, &t);
	if (!t.taken) {
		find_refused(l, pair, at, &t);
	} else {
		find_taken(l, pair, at, &t);
		find_partly(l, at, &t);
		find_again(l, pair, rest, at);
	}
	if (pair->last_comma)
		conf_lint_fix(
			conf_lint_add(l->out, CONF_WARNING, strlen(l->text) - 1,
				      "the string ends with a comma, of which jemalloc warns"),
			"remove the comma");
}

static void linter_init(struct linter *l, const char *text, int version, enum tristate with_prof,
			struct conf_lint *out)
{
	*l = (struct linter){ .text = text, .with_prof = with_prof, .out = out };
	if (version)
		l->versions[0] = version;
	else
		memcpy(l->versions, conf_versions, sizeof(l->versions));
}

static void lint_pairs(struct linter *l)
{
	const char *at = l->text, *bad;
	struct conf_pair pair;
	enum conf_step step;

	while ((step = conf_next(&at, &pair, &bad)) == CONF_PAIR)
		lint_pair(l, &pair, at);
	if (step != CONF_END)
		find_malformed(l, at, bad);
}

void conf_lint_pairs(const char *text, int version, enum tristate with_prof, struct conf_lint *out)
{
	struct linter l;

	linter_init(&l, text, version, with_prof, out);
	lint_pairs(&l);
}

void conf_lint(const char *text, int version, enum tristate with_prof, struct conf_lint *out)
{
	struct conf_state state;
	struct linter l;

	memset(out, 0, sizeof(*out));
	linter_init(&l, text, version, with_prof, out);
	lint_pairs(&l);
	conf_state_init(&state, newest(&l), with_prof);
	conf_state_apply(&state, text, CONF_FROM_ENVIRONMENT);
	conf_rules(&state, is_all(&l), out);
	for (const int *v = l.versions; *v; v++) {
		struct conf_reading *r = &out->readings[out->n_readings];

		describe(text, *v, with_prof, r->text, sizeof(r->text));
		if (out->n_readings && !strcmp(r[-1].text, r->text)) {
			r[-1].to = *v;
			continue;
		}
		r->from = r->to = *v;
		out->n_readings++;
	}
}
