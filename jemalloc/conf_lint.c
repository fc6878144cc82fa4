// SPDX-License-Identifier: Apache-2.0
#include "jemalloc/conf_lint.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#define SHOWN 60 /* bytes of the string that a finding quotes */

struct conf_finding *conf_lint_add(struct conf_lint *lint, enum conf_level level, size_t at,
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

void conf_lint_fix(struct conf_finding *finding, const char *fmt, ...)
{
	va_list ap;

	if (!finding)
		return;
	va_start(ap, fmt);
	vsnprintf(finding->fix, sizeof(finding->fix), fmt, ap);
	va_end(ap);
}

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
	int versions[CONF_VERSIONS + 1]; /* oldest first; 0 ends it */
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

/* --- a string that cannot be cut into pairs --- */

static const char *hint_for(char bad)
{
	switch (bad) {
	case '=':
		return "write ':' between an option and its value";
	case ' ':
	case '\t':
	case '\n':
		return "take the blank out: options are separated by ',' alone";
	case '"':
	case '\'':
		return "take the quotes out: they have become part of the string";
	case ';':
	case '|':
		return "separate options by ','";
	case ',':
		return "every option is a NAME:VALUE; between two of them stands one ','";
	case '-':
		return "write names with '_'";
	case '.':
		return "write names without \"opt.\"";
	default:
		return "write NAME:VALUE,NAME:VALUE; names are of letters, digits and '_'";
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
			  "'%c' cannot stand in a name: \"%.*s\" is dropped, and all that follows "
			  "(%zu bytes)",
			  *bad, shown(strcspn(at, ",")), at, rest);
	if (!strncmp(at, "MALLOC_CONF=", 12) && *bad == '=')
		conf_lint_fix(f, "leave \"MALLOC_CONF=\" out: it is the variable's name");
	else
		conf_lint_fix(f, "%s", hint_for(*bad));
}

/* --- one pair --- */

/* What all the versions looked at make of it. */
struct tally {
	size_t taken, refused;
	int first, last;	  /* the versions that take it */
	bool modern;		  /* all from 4.0 on take it */
	struct conf_verdict best; /* of the newest that takes it, else that knows it */
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

/* "from 5.3.0 on", "before 5.0.0", "from 4.1.0 to before 5.0.0": when this name was known. */
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
				  "%s is not known: this jemalloc was built without profiling",
				  o->name);
		conf_lint_fix(f, "run it with a jemalloc built with --enable-prof");
		return;
	}
	if (o) {
		f = conf_lint_add(
			l->out, CONF_ERROR, at,
			"%s is not known to this version, and ignored: jemalloc knows it %s",
			o->name, known_when(pair->key, pair->key_len, when, sizeof(when)));
		conf_lint_fix(f, "take it out");
		return;
	}
	f = conf_lint_add(l->out, CONF_ERROR, at, "there is no option \"%.*s\": it is ignored",
			  shown(pair->key_len), pair->key);
	if (!f)
		return;
	near = conf_option_near(pair->key, pair->key_len);
	if (near)
		conf_lint_fix(f, "did you mean %s?", near);
	else
		conf_lint_fix(f, "take it out; jemalloc(3) lists the options as opt.NAME");
}

/* What a value that is no bool may have meant; NULL if that is not known. */
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

static void fix_by_type(struct conf_finding *f, const struct conf_option *o,
			const struct conf_pair *pair)
{
	const char *meant = meant_bool(pair);

	if (o->type == CONF_BOOL && meant)
		conf_lint_fix(f, "write %s:%s", o->name, meant);
	else if (o->type == CONF_BOOL)
		conf_lint_fix(f, "write %s:true or %s:false", o->name, o->name);
	else if (o->type == CONF_WORD || o->type == CONF_WORD_CUT)
		conf_lint_fix(f, "one of: %s", o->words);
	else if (o->type == CONF_RATIO || o->type == CONF_RATIO_OFF)
		conf_lint_fix(f, "write a number such as 0.25");
	else if (o->type == CONF_RANGES)
		conf_lint_fix(f, "write FROM-TO:N, several of them with '|' between");
	else if (!strncmp(o->name, "lg_", 3))
		conf_lint_fix(f, "write the power of two alone: 19 is 512 KiB, 30 is 1 GiB");
	else
		conf_lint_fix(f, "write a whole number, without a unit");
}

static void find_bad_value(struct linter *l, const struct conf_pair *pair, size_t at,
			   const struct conf_option *o)
{
	char wrong = '\0';
	struct conf_finding *f =
		conf_lint_add(l->out, CONF_ERROR, at,
			      "%s: \"%.*s\" is no value for it; the option is ignored", o->name,
			      shown(pair->value_len), pair->value);

	for (size_t i = 0; i < pair->value_len && !wrong; i++)
		if (strchr("\"' \t\n;|", pair->value[i]) && pair->value[i])
			wrong = pair->value[i];
	if (wrong && o->type != CONF_RANGES)
		conf_lint_fix(f, "%s", hint_for(wrong));
	else if (f)
		fix_by_type(f, o, pair);
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
		conf_lint_fix(f, "it is the power of two: write %s:%d for %lld", o->name,
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

/* Some versions take it and some do not: then it is no error, but not safe either. */
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
			      "%s: only jemalloc %s and newer take it; older ones ignore it",
			      t->best.option->name, from);
	else
		conf_lint_add(l->out, CONF_WARNING, at,
			      "%s: only jemalloc up to %s takes it; newer ones ignore it",
			      t->best.option->name, to);
}

static void find_taken(struct linter *l, const struct conf_pair *pair, size_t at,
		       const struct tally *t)
{
	const struct conf_option *o = t->best.option;
	struct conf_finding *f;

	if (t->best.outcome == CONF_CLIPPED) {
		f = conf_lint_add(l->out, CONF_WARNING, at,
				  "%s: %.*s is out of range; jemalloc takes %lld", o->name,
				  shown(pair->value_len), pair->value, (long long)t->best.n);
		if (f)
			fix_range(f, o, pair);
	}
	if (t->best.outcome == CONF_CUT)
		conf_lint_add(l->out, CONF_WARNING, at, "%s: cut to its first %lld bytes", o->name,
			      (long long)t->best.n);
	if (pair->key_len < strlen(o->name)) {
		f = conf_lint_add(l->out, CONF_WARNING, at, "\"%.*s\" is taken for %s",
				  shown(pair->key_len), pair->key, o->name);
		conf_lint_fix(f, "write %s:%.*s", o->name, (int)t->best.word_len, t->best.word);
	} else if (t->best.word && pair->value_len < t->best.word_len) {
		f = conf_lint_add(l->out, CONF_WARNING, at, "%s: \"%.*s\" is taken for %.*s",
				  o->name, shown(pair->value_len), pair->value,
				  (int)t->best.word_len, t->best.word);
		conf_lint_fix(f, "write %s:%.*s", o->name, (int)t->best.word_len, t->best.word);
	}
	if (o->type == CONF_SIGNED && !pair->value_len)
		conf_lint_add(l->out, CONF_WARNING, at, "%s: no value is taken for 0", o->name);
	if (o->flags & CONF_SPECIAL)
		conf_lint_add(l->out, CONF_WARNING, at,
			      "%s: only special builds of jemalloc have it; others ignore it",
			      o->name);
}

static bool same_key(const struct conf_pair *a, const struct conf_pair *b)
{
	return a->key_len == b->key_len && !memcmp(a->key, b->key, a->key_len);
}

static void find_again(struct linter *l, const struct conf_pair *pair, const char *rest, size_t at)
{
	struct conf_pair other;
	const char *bad;

	while (conf_next(&rest, &other, &bad) == CONF_PAIR) {
		if (!same_key(pair, &other))
			continue;
		conf_lint_add(l->out, CONF_WARNING, at, "%.*s is given again later, which counts",
			      shown(pair->key_len), pair->key);
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
		conf_lint_fix(conf_lint_add(l->out, CONF_WARNING, strlen(l->text) - 1,
					    "the string ends with a comma, which jemalloc reports"),
			      "take the comma out");
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
	conf_readings(text, l.versions, with_prof, out);
}
