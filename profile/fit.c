// SPDX-License-Identifier: Apache-2.0
#include "profile/fit.h"

#include "base/text.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static const char nameless[] = "(anonymous namespace)";
static const char dots[] = "...";

size_t profile_columns(const char *text)
{
	size_t n = 0;

	for (; *text; text++)
		n += (*text & 0xc0) != 0x80;
	return n;
}

size_t profile_name_untold(const char *name)
{
	size_t len = strlen(name);
	const char *open = len && name[len - 1] == ')' ? strrchr(name, '(') : NULL;

	return open && open > name + 1 && open[-1] == ' ' && strcmp(open, nameless) != 0
		       ? (size_t)(open - 1 - name)
		       : len;
}

static bool is_behind(const char *start, const char *at, const char *word)
{
	size_t len = strlen(word);

	return (size_t)(at - start) >= len && !memcmp(at - len, word, len);
}

/* Behind what closes what opens here; NULL where nothing does. */
static char *behind_pair(char *at, char open, char close)
{
	size_t depth = 0;

	for (; *at; at++) {
		if (*at == open)
			depth++;
		else if (*at == close && at[-1] != '-' && !--depth) /* and no "->" */
			return at + 1;
	}
	return NULL;
}

static void drop(char *from, const char *to)
{
	memmove(from, to, strlen(to) + 1);
}

/* "f(int) const" is "f"; "operator()", "(anonymous namespace)::f" and "f (a.c)" stay. */
static void drop_arguments(char *s)
{
	for (char *at = s; (at = strchr(at, '(')); at++) {
		char *end;

		if (is_behind(s, at, "operator") || at == s || at[-1] == ' ' ||
		    text_begins(at, nameless))
			continue;
		end = behind_pair(at, '(', ')');
		if (!end)
			return;
		drop(at, text_begins(end, " const") ? end + strlen(" const") : end);
		at--;
	}
}

/* "f<int>" is "f"; "operator<" stays, and of "<T<U> as V>::f", as Rust has it, "<T as V>::f". */
static void drop_template_arguments(char *s)
{
	for (char *at = s; (at = strchr(at, '<')); at++) {
		char *end;

		if (is_behind(s, at, "operator")) {
			at += strspn(at, "<=>") - 1;
			continue;
		}
		if (at == s || at[-1] == ' ')
			continue;
		end = behind_pair(at, '<', '>');
		if (!end)
			return;
		drop(at, end);
		at--;
	}
}

/* The end of the name in "void* a::f (a.c)". */
static const char *end_of_name(const char *s)
{
	const char *told = s + profile_name_untold(s), *clone = strstr(s, " [clone");

	return clone && clone < told ? clone : told;
}

/* What stands before the last blank that is none of "operator new" or within brackets. */
static void drop_type(char *s)
{
	const char *end = end_of_name(s), *begin = s;
	int depth = 0;

	for (const char *at = s; at < end; at++) {
		depth += (*at == '(' || *at == '<') - (*at == ')' || *at == '>');
		if (*at == ' ' && !depth && !is_behind(s, at, "operator"))
			begin = at + 1;
	}
	if (begin > s && isalpha((unsigned char)*begin))
		drop(s, begin);
}

/* The outermost one. False when there is none. */
static bool drop_namespace(char *s)
{
	const char *end = end_of_name(s);
	int depth = 0;

	for (const char *at = s; at + 2 < end; at++) {
		depth += (*at == '(' || *at == '<') - (*at == ')' || *at == '>');
		if (depth || at[0] != ':' || at[1] != ':')
			continue;
		drop(s, at + 2);
		return true;
	}
	return false;
}

/* Its middle, at whole characters. */
static void cut(char *s, size_t width)
{
	size_t columns = profile_columns(s), half = (width - (sizeof(dots) - 1)) / 2, n = 0;
	size_t tail = columns - (width - (sizeof(dots) - 1) - half);
	char *from = NULL, *to = NULL;

	for (char *at = s; *at && !to; at++) {
		if ((*at & 0xc0) == 0x80)
			continue;
		if (n == half)
			from = at;
		if (n++ == tail)
			to = at;
	}
	if (!from || !to || to - from < (ptrdiff_t)sizeof(dots) - 1)
		return;
	memcpy(from, dots, sizeof(dots) - 1);
	drop(from + sizeof(dots) - 1, to);
}

const char *profile_name_fit(const char *name, size_t width, char *buf, size_t size)
{
	if (width < PROFILE_FIT_MIN)
		width = PROFILE_FIT_MIN;
	snprintf(buf, size, "%s", name);
	if (profile_columns(buf) > width) {
		drop_arguments(buf);
		drop_type(buf);
	}
	if (profile_columns(buf) > width)
		drop_template_arguments(buf);
	while (profile_columns(buf) > width && drop_namespace(buf))
		;
	if (profile_columns(buf) > width)
		cut(buf, width);
	return buf;
}

const char *profile_name_bare(const char *name, char *buf, size_t size)
{
	size_t len;

	snprintf(buf, size, "%s", name);
	drop_arguments(buf);
	drop_template_arguments(buf);
	drop_type(buf);
	buf[end_of_name(buf) - buf] = '\0';
	/* Of C: the pieces that compilers make of functions. */
	len = strspn(buf, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_");
	if (len && buf[len] == '.')
		buf[len] = '\0';
	return buf;
}
