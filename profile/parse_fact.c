// SPDX-License-Identifier: Apache-2.0
/* What jeprof-ctl adds to a dump (doc/heap-format.md), in lines that jeprof(1) does not look at. */
#include "profile/mapping.h"
#include "profile/parse.h"

#include <ctype.h>
#include <stddef.h>
#include <string.h>

#define VALUE_MAX 4096
#define BUILD_ID_MAX 128 /* digits */

static const struct {
	const char *key;
	bool number; /* int64_t, else const char * */
	size_t offset;
} facts[] = {
	{ "pid", true, offsetof(struct profile_facts, pid) },
	{ "time_ns", true, offsetof(struct profile_facts, time_ns) },
	{ "duration_ns", true, offsetof(struct profile_facts, duration_ns) },
	{ "comm", false, offsetof(struct profile_facts, comm) },
	{ "host", false, offsetof(struct profile_facts, host) },
	{ "version", false, offsetof(struct profile_facts, version) },
};

/* Of one lower-case hex digit, -1 for any other character. */
static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Bytes that are no text are written as \xNN. Returns the length. */
static size_t unescape(const struct span *s, char out[VALUE_MAX])
{
	size_t n = 0;

	for (const char *at = s->at; at < s->end && n < VALUE_MAX; at++) {
		bool escaped = s->end - at >= 4 && at[0] == '\\' && at[1] == 'x';
		int high = escaped ? hex_digit(at[2]) : -1, low = escaped ? hex_digit(at[3]) : -1;

		if (high < 0 || low < 0 || (!high && !low)) {
			out[n++] = *at;
			continue;
		}
		out[n++] = (char)(high << 4 | low);
		at += 3;
	}
	return n;
}

static int set_text(struct parse *ps, const struct span *s, const char **to, struct err *err)
{
	char value[VALUE_MAX];
	size_t n = unescape(s, value);

	if (memchr(value, '\0', n))
		return reader_fail(&ps->file, "no text", err);
	*to = intern_add(ps->text, value, n);
	return *to ? 0 : err_set(err, ERR_FAILED, PARSE_NO_MEMORY);
}

/* "START-END HEX", for a mapping that was above. */
static int set_build_id(struct parse *ps, struct span s, struct err *err)
{
	uint64_t start, end;
	uint32_t m;
	size_t n = 0;

	if (!reader_hex(&s, &start) || !reader_text(&s, "-") || !reader_hex(&s, &end) ||
	    !reader_text(&s, " "))
		return reader_fail(&ps->file, "not the build id of a mapping", err);
	while (n < (size_t)(s.end - s.at) && isxdigit((unsigned char)s.at[n]))
		n++;
	if (!n || n > BUILD_ID_MAX || s.at + n != s.end)
		return reader_fail(&ps->file, "not a build id", err);
	m = mapping_find(ps->p, start);
	if (m == PROFILE_NONE || ps->p->mappings[m].start != start)
		return 0;
	ps->p->mappings[m].build_id = intern_add(ps->text, s.at, n);
	return ps->p->mappings[m].build_id ? 0 : err_set(err, ERR_FAILED, PARSE_NO_MEMORY);
}

int parse_fact(struct parse *ps, struct err *err)
{
	char *base = (char *)&ps->p->facts;
	struct span line = ps->file.line;

	reader_text(&line, "# ");
	for (size_t i = 0; i < sizeof(facts) / sizeof(facts[0]); i++) {
		struct span s = line;
		uint64_t n;

		if (!reader_text(&s, facts[i].key) || !reader_text(&s, " "))
			continue;
		if (!facts[i].number)
			return set_text(ps, &s, (const char **)(base + facts[i].offset), err);
		if (!reader_number(&s, &n) || n > INT64_MAX || s.at != s.end)
			return reader_fail(&ps->file, "not a number", err);
		*(int64_t *)(base + facts[i].offset) = (int64_t)n;
		return 0;
	}
	return reader_text(&line, "build-id ") ? set_build_id(ps, line, err) : 0;
}
