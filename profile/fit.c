// SPDX-License-Identifier: Apache-2.0
#include "profile/fit.h"

#include "base/text.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static const char nameless[] = "(anonymous namespace)";
static const char dots[] = "...";
#define FILE_MAX 255 /* bytes, NAME_MAX */

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

/* Past the bracket that matches the opening one here; NULL: none does. */
static char *behind_pair(char *at, char open, char close)
{
	size_t depth = 0;

	for (; *at; at++) {
		if (*at == open)
			depth++;
		else if (*at == close && at[-1] != '-' && !--depth) /* not in "->" */
			return at + 1;
	}
	return NULL;
}

static void drop(char *from, const char *to)
{
	memmove(from, to, strlen(to) + 1);
}

/*
 * "f(int) const" becomes "f"; "operator()", "(anonymous namespace)::f", "f (a.c)" and Go's
 * "main.(*T).f" stay.
 */
static void drop_arguments(char *s)
{
	for (char *at = s; (at = strchr(at, '(')); at++) {
		char *end;

		if (is_behind(s, at, "operator") || at == s || at[-1] == ' ' || at[-1] == '.' ||
		    text_begins(at, nameless))
			continue;
		end = behind_pair(at, '(', ')');
		if (!end)
			return;
		drop(at, text_begins(end, " const") ? end + strlen(" const") : end);
		at--;
	}
}

/* "f<int>" becomes "f", and Rust's "<T<U> as V>::f" "<T as V>::f"; "operator<" stays. */
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

/* Drop all before the last blank that is neither in "operator new" nor within brackets. */
static void drop_type(char *s)
{
	const char *end = end_of_name(s), *begin = s;
	int depth = 0;

	for (const char *at = s; at < end; at++) {
		depth += (*at == '(' || *at == '<') - (*at == ')' || *at == '>');
		if (*at == ' ' && !depth && !is_behind(s, at, "operator"))
			begin = at + 1;
	}
	if (begin > s && isalpha((unsigned char)*begin) && !strchr(begin, '/'))
		drop(s, begin);
}

/* Drop the outermost namespace. False: there is none. */
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

/* Cut out the middle, at character boundaries. */
static void cut(char *s, size_t width)
{
	size_t columns = text_columns(s), half = (width - (sizeof(dots) - 1)) / 2, n = 0;
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

/* The part after the name, " src/a.c:12"; the end of `s` if there is none. */
static const char *place_of(const char *s)
{
	const char *blank = strrchr(s, ' '), *line = blank ? strrchr(blank, ':') : NULL;

	return line && line[1] && !line[1 + strspn(line + 1, "0123456789")] ? blank : s + strlen(s);
}

const char *profile_name_fit(const char *name, size_t width, char *buf, size_t size)
{
	/* An address before the name: "0x401136 ". */
	size_t n = text_begins(name, "0x") ? 2 + strspn(name + 2, "0123456789abcdef") : 0;
	const char *begin = n && name[n] == ' ' ? name + n + 1 : name, *place = place_of(begin);
	char file[FILE_MAX + 1] = "";
	size_t used, left;

	if (width < PROFILE_FIT_MIN)
		width = PROFILE_FIT_MIN;
	if (text_columns(name) <= width) {
		snprintf(buf, size, "%s", name);
		return buf;
	}
	if (*place)
		snprintf(file, sizeof(file), " %s", text_file_name(place + 1));
	used = (size_t)(begin - name) + text_columns(file);
	snprintf(buf, size, "%.*s", (int)(place - begin), begin);
	left = width > used ? width - used : 0;
	if (text_columns(buf) > left) {
		drop_arguments(buf);
		drop_type(buf);
	}
	if (text_columns(buf) > left)
		drop_template_arguments(buf);
	while (text_columns(buf) > left && drop_namespace(buf))
		;
	if (strlen(buf) + (size_t)(begin - name) + strlen(file) < size) {
		memmove(buf + (begin - name), buf, strlen(buf) + 1);
		memcpy(buf, name, (size_t)(begin - name));
		strcat(buf, file);
	}
	if (text_columns(buf) > width)
		cut(buf, width);
	return buf;
}

const char *profile_name_bare(const char *name, char *buf, size_t size)
{
	/* A compiler's suffixes for parts of a C function. Go has "package.Function". */
	static const char *const pieces[] = { ".part.", ".constprop.", ".isra.",     ".cold",
					      ".llvm.", ".lto_priv.",  ".localalias" };
	size_t len;
	bool piece;

	snprintf(buf, size, "%s", name);
	/* The ABI tags of libc++ and libstdc++: "f[abi:cxx11]" becomes "f". */
	for (char *at = buf, *end; (at = strstr(at, "[abi:")) && (end = strchr(at, ']'));)
		drop(at, end + 1);
	drop_arguments(buf);
	drop_template_arguments(buf);
	drop_type(buf);
	buf[end_of_name(buf) - buf] = '\0';
	len = strspn(buf, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_");
	piece = buf[len] == '.' && isdigit((unsigned char)buf[len + 1]);
	for (size_t i = 0; i < sizeof(pieces) / sizeof(*pieces); i++)
		piece |= text_begins(buf + len, pieces[i]);
	if (len && piece)
		buf[len] = '\0';
	return buf;
}
