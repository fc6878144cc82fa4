// SPDX-License-Identifier: Apache-2.0
#include "base/text.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct unit {
	const char *name;
	uint64_t factor;
};

static const struct unit durations[] = {
	{ "ms", 1 },	      { "msec", 1 },	    { "msecs", 1 },	{ "s", 1000 },
	{ "sec", 1000 },      { "secs", 1000 },	    { "second", 1000 }, { "seconds", 1000 },
	{ "m", 60000 },	      { "min", 60000 },	    { "mins", 60000 },	{ "minute", 60000 },
	{ "minutes", 60000 }, { "h", 3600000 },	    { "hr", 3600000 },	{ "hrs", 3600000 },
	{ "hour", 3600000 },  { "hours", 3600000 }, { "d", 86400000 },	{ "day", 86400000 },
	{ "days", 86400000 },
};

static int bad(const char *text, const char *what, struct err *err)
{
	return err_raise(err, ERROR_NOT_A_VALUE, .what = what, .text = text);
}

/* Digits at *at; moves past them. False if there are none or they are too many. */
static bool number(const char **at, uint64_t *n)
{
	char *end;

	if (!isdigit((unsigned char)**at))
		return false;
	errno = 0;
	*n = strtoull(*at, &end, 10);
	*at = end;
	return errno == 0;
}

int text_size_parse(const char *text, uint64_t *bytes, struct err *err)
{
	static const char letters[] = "KMGTPE";
	const char *at = text, *letter;
	unsigned int shift = 0;
	uint64_t n;

	if (!number(&at, &n))
		return bad(text, "a size such as 512K or 1M", err);
	if (*at && (letter = strchr(letters, toupper((unsigned char)*at)))) {
		shift = 10 * (unsigned int)(letter - letters + 1);
		at++;
		if (*at == 'i')
			at++;
	}
	if (*at == 'B' || *at == 'b')
		at++;
	if (*at || (n << shift) >> shift != n)
		return bad(text, "a size such as 512K or 1M", err);
	*bytes = n << shift;
	return 0;
}

/* More than any sensible value, but small enough to be added to any clock. */
#define DURATION_MAX_MS ((uint64_t)INT64_MAX)

static uint64_t duration_factor(const char *name, size_t len)
{
	if (len == 0)
		return 1000;
	for (size_t i = 0; i < sizeof(durations) / sizeof(durations[0]); i++) {
		if (strlen(durations[i].name) == len && !strncmp(durations[i].name, name, len))
			return durations[i].factor;
	}
	return 0;
}

int text_duration_parse(const char *text, uint64_t *ms, struct err *err)
{
	static const char what[] = "a duration such as 30s, 5m or 1h30m";
	uint64_t sum = 0, n, part;
	const char *at = text;

	do {
		const char *unit;
		uint64_t factor;

		if (!number(&at, &n))
			return bad(text, what, err);
		unit = at;
		while (isalpha((unsigned char)*at))
			at++;
		factor = duration_factor(unit, (size_t)(at - unit));
		if (!factor || __builtin_mul_overflow(n, factor, &part) ||
		    __builtin_add_overflow(sum, part, &sum) || sum > DURATION_MAX_MS)
			return bad(text, what, err);
	} while (*at);
	*ms = sum;
	return 0;
}

int text_int_parse(const char *text, int64_t min, int64_t max, int64_t *n, struct err *err)
{
	char *end;
	int64_t value;

	errno = 0;
	value = strtoll(text, &end, 10);
	if (errno || end == text || *end || isspace((unsigned char)*text) || value < min ||
	    value > max)
		return err_raise(err, ERROR_NOT_IN_RANGE, .number = min, .limit = max,
				 .text = text);
	*n = value;
	return 0;
}

const char *text_size(uint64_t bytes, char *buf, size_t size)
{
	static const char letters[] = "BKMGTPE";
	double n = (double)bytes;
	size_t i = 0;

	/* From 1023.5 on it would be rounded to 1024. */
	while (n >= (i ? 1023.5 : 1024) && letters[i + 1]) {
		n /= 1024;
		i++;
	}
	if (i == 0)
		snprintf(buf, size, "%llu", (unsigned long long)bytes);
	else
		snprintf(buf, size, n < 99.95 ? "%.1f%c" : "%.0f%c", n, letters[i]);
	return buf;
}

static int min3(int a, int b, int c)
{
	int m = a < b ? a : b;

	return m < c ? m : c;
}

int text_distance(const char *a, const char *b)
{
	/* Rows of the table for the first letters of `a`: this one and the two before it. */
	int rows[3][TEXT_DISTANCE_MAX + 1], len = (int)strnlen(b, TEXT_DISTANCE_MAX + 1), i;

	if (len > TEXT_DISTANCE_MAX || strnlen(a, TEXT_DISTANCE_MAX + 1) > TEXT_DISTANCE_MAX)
		return INT_MAX;
	for (int j = 0; j <= len; j++)
		rows[0][j] = j;
	for (i = 1; a[i - 1]; i++) {
		int *row = rows[i % 3], *before = rows[(i - 1) % 3], *swap = rows[(i + 1) % 3];

		row[0] = i;
		for (int j = 1; j <= len; j++) {
			row[j] = min3(before[j] + 1, row[j - 1] + 1,
				      before[j - 1] + (a[i - 1] != b[j - 1]));
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
			    swap[j - 2] + 1 < row[j])
				row[j] = swap[j - 2] + 1;
		}
	}
	return rows[(i - 1) % 3][len];
}

#define SHORT_WORD 6 /* letters: in shorter words one mistake is much */
#define NEAR_SHORT 2 /* and a word at this distance is not meant */
#define LONG_WORD 8  /* in words from this length on, three mistakes are acceptable */
#define NEAR 3
#define NEAR_LONG 4
#define BEGINNING_MIN 3

void text_near_begin(struct text_near *near, const char *word)
{
	size_t len = strlen(word);

	*near = (struct text_near){ .word = word };
	near->least = len < SHORT_WORD ? NEAR_SHORT : len < LONG_WORD ? NEAR : NEAR_LONG;
	if (len < 2)
		near->least = 0;
}

/* A name that begins with the word is as near as one with a single typo. */
void text_near_try(struct text_near *near, const char *name)
{
	int d = text_distance(near->word, name);

	if (d > 1 && strlen(near->word) >= BEGINNING_MIN && text_begins(name, near->word))
		d = 1;
	if (d < near->least) {
		near->least = d;
		near->best = name;
	}
}

/* The code point of the UTF-8 character at `s`, its length in *len; -1 if it is not well formed. */
static int32_t utf8_decode(const unsigned char *s, size_t *len)
{
	static const int32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
	int32_t c;

	*len = *s < 0x80 ? 1 : *s >= 0xf0 ? 4 : *s >= 0xe0 ? 3 : 2;
	if (*s < 0x80)
		return *s;
	if (*s < 0xc2 || *s > 0xf4)
		return -1;
	c = *s & (0xff >> (*len + 1));
	for (size_t i = 1; i < *len; i++) {
		if ((s[i] & 0xc0) != 0x80)
			return -1;
		c = c << 6 | (s[i] & 0x3f);
	}
	return c < least[*len] || c > 0x10ffff || (c >= 0xd800 && c < 0xe000) ? -1 : c;
}

static bool printable(int32_t c)
{
	bool control = c < 0x20 || (c >= 0x7f && c < 0xa0) || c == 0x2028 || c == 0x2029;
	bool bidi = c == 0x200e || c == 0x200f || c == 0x61c || (c >= 0x202a && c <= 0x202e) ||
		    (c >= 0x2066 && c <= 0x2069);

	return !control && !bidi;
}

const char *output_safe(const char *raw, char *buf, size_t size)
{
	const unsigned char *s = (const unsigned char *)raw;
	size_t at = 0, len;

	while (*s) {
		if (printable(utf8_decode(s, &len))) {
			if (at + len >= size)
				break;
			memcpy(buf + at, s, len);
			at += len;
			s += len;
		} else {
			if (at + 4 >= size)
				break;
			at += (size_t)snprintf(buf + at, size - at, "\\x%02x", *s++);
		}
	}
	if (size)
		buf[at] = '\0';
	return buf;
}

size_t output_safe_lines(const char *text, size_t len, bool end, char *safe, size_t *safe_len)
{
	const unsigned char *s = (const unsigned char *)text;
	size_t at = 0, out = 0, n;

	while (at < len) {
		bool fine = s[at] == '\n' || s[at] == '\t' || printable(utf8_decode(s + at, &n));

		n = s[at] < 0x80 ? 1 : n;
		if (n > len - at && !end)
			break;
		if (fine) {
			memcpy(safe + out, s + at, n);
			out += n;
			at += n;
		} else {
			out += (size_t)sprintf(safe + out, "\\x%02x", s[at++]);
		}
	}
	*safe_len = out;
	return at;
}

void output_make_safe(char *text, size_t size)
{
	char safe[4096];

	output_safe(text, safe, size < sizeof(safe) ? size : sizeof(safe));
	strcpy(text, safe);
}

const char *text_file_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

size_t text_stem(const char *path, const char *suffix)
{
	size_t len = strlen(path), n = strlen(suffix);

	return len > n && !strcmp(path + len - n, suffix) ? len - n : len;
}

const char *text_search(const char *bytes, size_t len, const void *part, size_t part_len)
{
	const char *p = part, *end = bytes + len, *at = bytes;
	size_t pivot = part_len;

	while (pivot && !p[pivot - 1])
		pivot--;
	if (!pivot || len < part_len)
		return NULL;
	pivot--;
	for (at += pivot; at < end && (at = memchr(at, p[pivot], (size_t)(end - at))); at++)
		if ((size_t)(end - at) >= part_len - pivot && !memcmp(at - pivot, part, part_len))
			return at - pivot;
	return NULL;
}

size_t text_columns(const char *text)
{
	size_t n = 0;

	for (; *text; text++)
		n += (*text & 0xc0) != 0x80;
	return n;
}
