// SPDX-License-Identifier: Apache-2.0
#include "ops/dump_file_name.h"

#include "base/text.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

/* The part after the last dot, which is cut off `name`; "" without a dot. */
static const char *cut(char *name)
{
	char *dot = strrchr(name, '.');

	if (!dot)
		return "";
	*dot = '\0';
	return dot + 1;
}

static bool is_number(const char *text)
{
	return *text && strlen(text) < 10 && text[strspn(text, "0123456789")] == '\0';
}

/* "20261122T111024Z" */
static int64_t time_in(const char *text)
{
	struct tm tm = { 0 };
	const char *end = strlen(text) == 16 ? strptime(text, "%Y%m%dT%H%M%SZ", &tm) : NULL;

	return end && !*end ? (int64_t)timegm(&tm) : 0;
}

bool dump_file_name_parse(const char *path, struct dump_file_name *n)
{
	const char *base = text_file_name(path), *last;
	char rest[sizeof(n->prefix)];
	bool by_jemalloc = false;

	if (strlen(base) >= sizeof(rest))
		return false;
	*n = (struct dump_file_name){ .number = DUMP_LAST };
	strcpy(rest, base);
	rest[text_stem(rest, ".gz")] = '\0';
	cut(rest);
	strcpy(n->prefix, rest);
	last = cut(rest);
	/* "f", "i3", "m3" or "u3": jemalloc's reason for the dump. */
	if (!strcmp(last, "f") || (*last && strchr("imu", *last) && is_number(last + 1))) {
		by_jemalloc = true;
		last = cut(rest);
	}
	if (is_number(last) || !strcmp(last, "base")) {
		n->number = is_number(last) ? atoi(last) : DUMP_FIRST;
		strcpy(n->prefix, rest);
		last = cut(rest);
	} else {
		by_jemalloc = false;
	}
	if (text_begins(last, &GUARD_PART[1]))
		last = cut(rest);
	n->seconds = time_in(last);
	if (n->seconds)
		strcpy(n->prefix, rest);
	/* The parts after it identify it as a pid. */
	last = strrchr(n->prefix, '.');
	if ((by_jemalloc || n->seconds) && last && is_number(last + 1))
		n->stem_len = (size_t)(base - path) + strlen(n->prefix);
	return true;
}
