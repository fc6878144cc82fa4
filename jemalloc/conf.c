// SPDX-License-Identifier: Apache-2.0
#include "jemalloc/conf.h"

#include <ctype.h>
#include <string.h>

static bool in_name(char c)
{
	return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ||
	       c == '_';
}

enum conf_step conf_next(const char **at, struct conf_pair *pair, const char **bad)
{
	const char *c = *at;

	*pair = (struct conf_pair){ .key = c };
	*bad = NULL;
	if (!*c)
		return CONF_END;
	while (in_name(*c))
		c++;
	if (!*c)
		return CONF_ENDS_WITH_KEY;
	if (*c != ':') {
		*bad = c;
		return CONF_MALFORMED;
	}
	pair->key_len = (size_t)(c - pair->key);
	pair->value = c + 1;
	pair->value_len = strcspn(pair->value, ",");
	*at = pair->value + pair->value_len;
	if (**at == ',') {
		++*at;
		pair->last_comma = !**at;
	}
	return CONF_PAIR;
}

static int digit_value(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'z')
		return c - 'a' + 10;
	return c >= 'A' && c <= 'Z' ? c - 'A' + 10 : 99;
}

/*
 * A number as malloc_strtoumax() reads it with base 0: blanks and a sign in
 * front, 0x and 0, and its own idea of an overflow, which misses some. Returns
 * where it ends: `text` when there is none, NULL when it is too large.
 */
static const char *read_number(const char *text, uint64_t *n)
{
	const char *c = text, *first;
	bool negative = false;
	unsigned int base = 10;

	while (*c && strchr("\t\n\v\f\r ", *c))
		c++;
	if (*c == '-' || *c == '+')
		negative = *c++ == '-';
	first = c;
	*n = 0;
	if (*c == '0') {
		if ((c[1] == 'x' || c[1] == 'X') && isxdigit((unsigned char)c[2])) {
			base = 16;
			c += 2;
		} else if (c[1] >= '0' && c[1] <= '7') {
			base = 8;
			c++;
		} else if (c[1] != 'x' && c[1] != 'X') {
			return c + 1;
		}
	}
	for (; digit_value(*c) < (int)base; c++) {
		uint64_t next = *n * base + (uint64_t)digit_value(*c);

		if (next < *n)
			return NULL;
		*n = next;
	}
	if (negative)
		*n = -*n;
	return c == first ? text : c;
}

static struct conf_verdict verdict(enum conf_outcome outcome, const struct conf_option *o,
				   int64_t n)
{
	return (struct conf_verdict){ .outcome = outcome, .option = o, .n = n };
}

static struct conf_verdict ranged(const struct conf_option *o, int64_t n, bool low, bool high)
{
	if (!low && !high)
		return verdict(CONF_TAKEN, o, n);
	if (!(o->flags & CONF_CLIP))
		return verdict(CONF_OUT_OF_RANGE, o, 0);
	return verdict(CONF_CLIPPED, o, low ? o->min : o->max);
}

static struct conf_verdict judge_unsigned(const struct conf_option *o, const struct conf_pair *pair)
{
	uint64_t n;

	if (read_number(pair->value, &n) != pair->value + pair->value_len || !pair->value_len)
		return verdict(CONF_INVALID_VALUE, o, 0);
	return ranged(o, (int64_t)n, n < (uint64_t)o->min,
		      o->max != INT64_MAX && n > (uint64_t)o->max);
}

/*
 * Up to 5.2.1 it was strtol(3), which takes no digits at all for 0 without an
 * error, and knows where a signed number ends.
 */
static struct conf_verdict judge_signed(const struct conf_option *o, const struct conf_pair *pair,
					int version)
{
	bool by_strtol = version < CONF_VERSION(5, 3, 0);
	uint64_t n = 0;

	if (!pair->value_len)
		return by_strtol ? ranged(o, 0, o->min > 0, false)
				 : verdict(CONF_INVALID_VALUE, o, 0);
	if (read_number(pair->value, &n) != pair->value + pair->value_len)
		return verdict(CONF_INVALID_VALUE, o, 0);
	if (by_strtol && n > INT64_MAX && !memchr(pair->value, '-', pair->value_len))
		return verdict(CONF_INVALID_VALUE, o, 0);
	return ranged(o, (int64_t)n, (int64_t)n<o->min, (int64_t)n> o->max);
}

static struct conf_verdict judge_word(const struct conf_option *o, const struct conf_pair *pair)
{
	const char *word = o->words;

	for (int64_t i = 0; *word; i++) {
		size_t len = strcspn(word, " ");
		bool fits = o->type == CONF_WORD ? len == pair->value_len : len >= pair->value_len;

		if (fits && !memcmp(word, pair->value, pair->value_len)) {
			struct conf_verdict v = verdict(CONF_TAKEN, o, i);

			v.word = word;
			v.word_len = len;
			return v;
		}
		word += len + strspn(word + len, " ");
	}
	return verdict(CONF_INVALID_VALUE, o, 0);
}

static bool value_is(const struct conf_pair *pair, const char *text)
{
	return strlen(text) == pair->value_len && !memcmp(text, pair->value, pair->value_len);
}

/* 16 bits before the point, any number of digits after it: fxp_parse(). */
static struct conf_verdict judge_ratio(const struct conf_option *o, const struct conf_pair *pair)
{
	const char *c = pair->value;
	bool fraction = false;
	uint32_t whole = 0;

	if (o->type == CONF_RATIO_OFF && value_is(pair, "-1"))
		return verdict(CONF_TAKEN, o, -1);
	if (*c != '.' && !isdigit((unsigned char)*c))
		return verdict(CONF_INVALID_VALUE, o, 0);
	for (; isdigit((unsigned char)*c); c++) {
		whole = whole * 10 + (uint32_t)(*c - '0');
		if (whole >= 1u << 16)
			return verdict(CONF_INVALID_VALUE, o, 0);
	}
	if (*c == '.') {
		if (!isdigit((unsigned char)*++c))
			return verdict(CONF_INVALID_VALUE, o, 0);
		for (; isdigit((unsigned char)*c); c++)
			fraction |= *c != '0';
	}
	if (c != pair->value + pair->value_len || whole > o->max || (whole == o->max && fraction))
		return verdict(CONF_INVALID_VALUE, o, 0);
	return verdict(CONF_TAKEN, o, whole);
}

/* "FROM-TO:N", separated by "|". What the numbers may be depends on the size classes. */
static struct conf_verdict judge_ranges(const struct conf_option *o, const struct conf_pair *pair)
{
	static const char marks[] = { '-', ':', '|' };
	const char *c = pair->value, *end = pair->value + pair->value_len;

	if (o->words && value_is(pair, o->words))
		return verdict(CONF_TAKEN, o, 0);
	do {
		for (size_t i = 0; i < sizeof(marks); i++) {
			uint64_t n;
			const char *stop = read_number(c, &n);

			if (!stop || stop == c || (i < 2 && *stop != marks[i]))
				return verdict(CONF_INVALID_SETTINGS, o, 0);
			c = i < 2 || *stop == marks[i] ? stop + 1 : stop;
		}
	} while (c < end);
	return verdict(CONF_TAKEN, o, 0);
}

static struct conf_verdict judge_value(const struct conf_option *o, const struct conf_pair *pair,
				       int version)
{
	int64_t len = (int64_t)pair->value_len;

	switch (o->type) {
	case CONF_BOOL:
		if (value_is(pair, "true") || value_is(pair, "false"))
			return verdict(CONF_TAKEN, o, value_is(pair, "true"));
		return verdict(CONF_INVALID_VALUE, o, 0);
	case CONF_NARENAS:
		if (value_is(pair, "default"))
			return verdict(CONF_TAKEN, o, 0);
		return judge_unsigned(o, pair);
	case CONF_UNSIGNED:
		return judge_unsigned(o, pair);
	case CONF_SIGNED:
		return judge_signed(o, pair, version);
	case CONF_WORD:
	case CONF_WORD_CUT:
		return judge_word(o, pair);
	case CONF_RATIO:
	case CONF_RATIO_OFF:
		return judge_ratio(o, pair);
	case CONF_RANGES:
		return judge_ranges(o, pair);
	case CONF_TEXT:
		break;
	}
	return len <= o->max ? verdict(CONF_TAKEN, o, len) : verdict(CONF_CUT, o, o->max);
}

struct conf_verdict conf_judge(const struct conf_pair *pair, int version, enum tristate with_prof)
{
	const struct conf_option *o = conf_option_find(pair->key, pair->key_len, version);

	if (!o || ((o->flags & CONF_PROFILING) && with_prof == TRI_NO))
		return verdict(CONF_INVALID_PAIR, NULL, 0);
	return judge_value(o, pair, version);
}

const char *conf_outcome_message(enum conf_outcome outcome)
{
	static const char *const messages[] = {
		[CONF_TAKEN] = NULL,
		[CONF_CLIPPED] = NULL,
		[CONF_CUT] = NULL,
		[CONF_INVALID_PAIR] = "Invalid conf pair",
		[CONF_INVALID_VALUE] = "Invalid conf value",
		[CONF_OUT_OF_RANGE] = "Out-of-range conf value",
		[CONF_INVALID_SETTINGS] = "Invalid settings",
	};

	return messages[outcome];
}

void conf_state_init(struct conf_state *state, int version, enum tristate with_prof)
{
	*state = (struct conf_state){ .version = version, .with_prof = with_prof };
	state->v[CONF_PROF_ACTIVE].n = 1;
	state->v[CONF_THREAD_INIT].n = 1;
	state->v[CONF_LG_SAMPLE].n = 19;
	state->v[CONF_LG_INTERVAL].n = -1;
	state->v[CONF_PREFIX].n = sizeof("jeprof") - 1;
	state->v[CONF_FINAL].n = version < CONF_VERSION(4, 0, 0);
}

static bool key_starts(const struct conf_pair *pair, const char *text)
{
	return pair->key_len >= strlen(text) && !memcmp(pair->key, text, strlen(text));
}

/* Options that come and go are no reason to end a program. */
static bool tolerated(const struct conf_pair *pair, int version)
{
	return (version >= CONF_VERSION(5, 2, 0) && key_starts(pair, "experimental_")) ||
	       (version >= CONF_VERSION(5, 3, 1) && key_starts(pair, "hpa_sec_bytes_after_flush"));
}

/*
 * 5.0 ended the program at the pair that is wrong, or at the next one but for
 * those that set the switches; later versions when a source has been read.
 * Older ones have no abort_conf.
 */
static void abort_at_pair(struct conf_state *state, const struct conf_pair *pair, bool wrong)
{
	bool is_switch = key_starts(pair, "abort") && (pair->key_len == 5 || pair->key_len == 10);

	if (state->version < CONF_VERSION(5, 1, 0) && state->v[CONF_ABORT_CONF].n)
		state->aborts |= wrong || (state->had_error && !is_switch);
}

static void apply_pair(struct conf_state *state, const struct conf_pair *pair,
		       enum conf_source source)
{
	struct conf_verdict v = conf_judge(pair, state->version, state->with_prof);
	bool wrong = conf_outcome_message(v.outcome) && !tolerated(pair, state->version);

	state->had_error |= wrong;
	if (!conf_outcome_message(v.outcome)) {
		state->v[v.option->id].source = source;
		state->v[v.option->id].n = v.n;
	}
	if (state->version >= CONF_VERSION(5, 3, 0))
		state->had_error |= pair->last_comma;
	abort_at_pair(state, pair, wrong);
}

void conf_state_apply(struct conf_state *state, const char *text, enum conf_source source)
{
	struct conf_pair pair;
	enum conf_step step;
	const char *bad;

	while (!state->aborts && (step = conf_next(&text, &pair, &bad)) != CONF_END) {
		if (step != CONF_PAIR) {
			state->had_error |= state->version >= CONF_VERSION(5, 3, 0);
			break;
		}
		apply_pair(state, &pair, source);
	}
	if (state->version >= CONF_VERSION(5, 1, 0) && state->v[CONF_ABORT_CONF].n)
		state->aborts |= state->had_error;
}

void conf_state_finish(struct conf_state *state)
{
	bool leak_error = state->v[CONF_LEAK_ERROR].n;

	if (leak_error && !state->v[CONF_FINAL].n && state->v[CONF_ABORT_CONF].n)
		state->aborts = true;
	if (leak_error)
		state->v[CONF_LEAK].n = 1;
	if (state->v[CONF_LEAK].n && !state->v[CONF_PROF].n) {
		state->v[CONF_PROF].n = 1;
		state->v[CONF_PROF].source = state->v[CONF_LEAK].source;
		state->v[CONF_GDUMP].n = 0;
		state->v[CONF_LG_INTERVAL].n = -1;
	}
}
