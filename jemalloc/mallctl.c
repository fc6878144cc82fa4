// SPDX-License-Identifier: Apache-2.0
#include "jemalloc/mallctl.h"

#include "base/text.h"
#include "jemalloc/mallctl_table.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define INDEX_DIGITS_MAX 10

static bool is_number(const char *s, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (!isdigit((unsigned char)s[i]))
			return false;
	return len > 0 && len <= INDEX_DIGITS_MAX;
}

static bool part_matches(const char *pattern, size_t pattern_len, const char *s, size_t len)
{
	static const char number[] = "<i>", mutex[] = "<mutex>";

	if (pattern_len == strlen(number) && !memcmp(pattern, number, pattern_len))
		return is_number(s, len);
	if (pattern_len == strlen(mutex) && !memcmp(pattern, mutex, pattern_len))
		return mallctl_is_mutex(s, len);
	return pattern_len == len && !memcmp(pattern, s, len);
}

static bool name_matches(const char *pattern, const char *name)
{
	for (;;) {
		size_t pattern_len = strcspn(pattern, "."), len = strcspn(name, ".");

		if (!part_matches(pattern, pattern_len, name, len))
			return false;
		pattern += pattern_len;
		name += len;
		if (!*pattern || !*name)
			return *pattern == *name;
		pattern++;
		name++;
	}
}

const struct mallctl *mallctl_lookup(const char *name)
{
	for (size_t i = 0; i < mallctl_table_size; i++)
		if (name_matches(mallctl_table[i].name, name))
			return &mallctl_table[i];
	return NULL;
}

size_t mallctl_size(enum mallctl_type type)
{
	static const size_t sizes[] = {
		[MALLCTL_BOOL] = 1,  [MALLCTL_U32] = 4,	   [MALLCTL_U64] = 8,  [MALLCTL_SIZE] = 8,
		[MALLCTL_SSIZE] = 8, [MALLCTL_STRING] = 8, [MALLCTL_VOID] = 0,
	};

	return sizes[type];
}

static bool parse_bool(const char *text, bool *value)
{
	static const struct {
		const char *text;
		bool value;
	} words[] = { { "true", true },	  { "1", true },  { "on", true },   { "yes", true },
		      { "false", false }, { "0", false }, { "off", false }, { "no", false } };

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		if (strcasecmp(words[i].text, text) != 0)
			continue;
		*value = words[i].value;
		return true;
	}
	return false;
}

/* Hexadecimal here, everything else as any size. */
static bool parse_unsigned(const char *text, uint64_t max, uint64_t *value)
{
	struct err ignored;
	char *stop;

	if (text[0] == '0' && (text[1] == 'x' || text[1] == 'X') &&
	    isxdigit((unsigned char)text[2])) {
		errno = 0;
		*value = strtoull(text, &stop, 16);
		return !errno && !*stop && *value <= max;
	}
	return !text_size_parse(text, value, &ignored) && *value <= max;
}

static bool parse_signed(const char *text, int64_t *value)
{
	bool negative = *text == '-';
	uint64_t n;

	if (!parse_unsigned(text + negative, INT64_MAX, &n))
		return false;
	*value = negative ? -(int64_t)n : (int64_t)n;
	return true;
}

static bool parse_typed(enum mallctl_type type, const char *text, union mallctl_value *v)
{
	uint64_t n;

	switch (type) {
	case MALLCTL_BOOL:
		return parse_bool(text, &v->b);
	case MALLCTL_U32:
		if (!parse_unsigned(text, UINT32_MAX, &n))
			return false;
		v->u32 = (uint32_t)n;
		return true;
	case MALLCTL_U64:
	case MALLCTL_SIZE:
		return parse_unsigned(text, UINT64_MAX, &v->u64);
	case MALLCTL_SSIZE:
		return parse_signed(text, &v->i64);
	case MALLCTL_STRING:
	case MALLCTL_VOID:
		break;
	}
	return false;
}

int mallctl_parse(const struct mallctl *m, const char *text, union mallctl_value *v,
		  struct err *err)
{
	static const char *const wanted[] = {
		[MALLCTL_BOOL] = "true or false",
		[MALLCTL_U32] = "a whole number of 32 bits",
		[MALLCTL_U64] = "a whole number",
		[MALLCTL_SIZE] = "a size such as 4096, 512K or 0x1000",
		[MALLCTL_SSIZE] = "a whole number, negative ones included",
		[MALLCTL_STRING] = "text",
		[MALLCTL_VOID] = "no value",
	};
	union mallctl_value got = { 0 };
	char safe[128];

	if (!parse_typed(m->type, text, &got))
		return err_set(err, ERR_USAGE, "%s takes %s, not \"%s\"", m->name, wanted[m->type],
			       output_safe(text, safe, sizeof(safe)));
	*v = got;
	return 0;
}
