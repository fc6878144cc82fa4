// SPDX-License-Identifier: Apache-2.0
#include "ops/unit/text.h"

#include "base/text.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- names (systemd.unit(5)) --- */

static const char letters[] =
	"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789:-_.\\@";

static bool ends_in(const char *name, const char *suffix)
{
	return text_stem(name, suffix) < strlen(name);
}

int unit_name(const char *given, char name[UNIT_NAME_SIZE], struct err *err)
{
	static const char *const others[] = {
		".socket", ".device", ".mount", ".automount", ".swap",
		".target", ".path",   ".timer", ".slice",     ".scope"
	};
	const char *at;
	int len;

	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++) {
		if (!ends_in(given, others[i]))
			continue;
		err_raise(err, ERROR_UNIT_NO_SERVICE, .name = given);
		return err_advise(err, FIX_NAME_THE_SERVICE);
	}
	len = snprintf(name, UNIT_NAME_SIZE, "%s%s", given,
		       ends_in(given, ".service") ? "" : ".service");
	at = strchr(name, '@');
	if (!*given || len >= UNIT_NAME_SIZE || given[strspn(given, letters)] || *given == '@' ||
	    *given == '.') {
		err_raise(err, ERROR_UNIT_NAME_INVALID, .name = given);
		return err_advise(err, FIX_SEE_SERVICES);
	}
	if (!at || strcmp(at, "@.service") != 0)
		return 0;
	err_raise(err, ERROR_UNIT_IS_TEMPLATE, .name = name);
	return err_advise(err, FIX_NAME_AN_INSTANCE);
}

/* --- what systemctl shows --- */

/*
 * The end of a value: of its line, except that lists of words may have line ends in double quotes.
 */
static const char *value_end(const char *at, bool is_list)
{
	bool quoted = false;

	for (; *at && (*at != '\n' || quoted); at++) {
		if (is_list && *at == '"')
			quoted = !quoted;
		else if (is_list && *at == '\\' && at[1])
			at++;
	}
	return at;
}

bool unit_property_next(const char **at, const char *name, char *buf, size_t size)
{
	while (**at) {
		size_t len = strcspn(*at, "=\n");
		const char *value = *at + len + ((*at)[len] == '=');
		const char *end = value_end(value, len == strlen("Environment") &&
							   text_begins(*at, "Environment"));
		bool found = len == strlen(name) && !memcmp(*at, name, len);

		*at = end + (*end == '\n');
		if (!found)
			continue;
		if ((size_t)(end - value) >= size)
			return false;
		memcpy(buf, value, (size_t)(end - value));
		buf[end - value] = '\0';
		return true;
	}
	return false;
}

void unit_property(const char *shown, const char *name, char *buf, size_t size)
{
	if (!unit_property_next(&shown, name, buf, size))
		*buf = '\0';
}

/* --- lists of words --- */

/*
 * What a backslash and this character stand for; 0: a number, or a letter that is not known here.
 */
static char unescaped(char c)
{
	static const char known[][2] = { { 'n', '\n' }, { 't', '\t' }, { 's', ' ' } };

	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		if (known[i][0] == c)
			return known[i][1];
	return isalnum((unsigned char)c) ? 0 : c;
}

/*
 * The next word, unquoted; false after the last one. *cut is set if it does not fit, or holds an
 * escape that is not known here.
 */
static bool next_word(const char **at, char *buf, size_t size, bool *cut)
{
	size_t n = 0;
	char quote = 0;

	*cut = false;
	*at += strspn(*at, " \t\n");
	if (!**at)
		return false;
	for (; **at && (quote || !strchr(" \t\n", **at)); ++*at) {
		char c = **at;

		if (quote ? c == quote : c == '"' || c == '\'') {
			quote = quote ? 0 : c;
			continue;
		}
		if (c == '\\' && quote != '\'' && (*at)[1])
			c = unescaped(*++*at);
		if (c && n + 1 < size)
			buf[n++] = c;
		else
			*cut = true;
	}
	buf[n] = '\0';
	return true;
}

/* The value of "VARIABLE=value"; NULL: another variable. */
static const char *value_of(const char *word, const char *variable)
{
	size_t len = strlen(variable);

	return text_begins(word, variable) && word[len] == '=' ? word + len + 1 : NULL;
}

#define WORD_SIZE (UNIT_VARIABLE_SIZE + UNIT_VALUE_SIZE)

bool unit_list_get(const char *list, const char *variable, char *buf, size_t size)
{
	char word[WORD_SIZE];
	bool found = false, cut;

	while (next_word(&list, word, sizeof(word), &cut)) {
		const char *value = value_of(word, variable);

		if (value)
			found = !cut && (size_t)snprintf(buf, size, "%s", value) < size;
	}
	return found;
}

bool unit_list_names(const char *list, const char *variable)
{
	char word[WORD_SIZE];
	bool cut;

	while (next_word(&list, word, sizeof(word), &cut))
		if (!strcmp(word, variable) || value_of(word, variable))
			return true;
	return false;
}

/* --- EnvironmentFile= --- */

enum place { BEFORE_KEY, KEY, BEFORE_VALUE, VALUE, IN_SINGLE, IN_DOUBLE, COMMENT };

/* Reads like systemd's parse_env_file_internal(). Keys and values that do not fit are truncated. */
struct env_reader {
	enum place place;
	char key[UNIT_VARIABLE_SIZE], value[UNIT_VALUE_SIZE];
	size_t n_key, n_value, n_kept; /* n_kept: of the value, without trailing blanks */
	bool cut;
};

static void add_value(struct env_reader *r, char c)
{
	if (r->n_value + 1 < sizeof(r->value))
		r->value[r->n_value++] = c;
	else
		r->cut = true;
	if (r->place != VALUE || !strchr(" \t", c))
		r->n_kept = r->n_value;
}

/* `c` follows a backslash. */
static void escaped(struct env_reader *r, char c)
{
	if (r->place == BEFORE_VALUE)
		r->place = VALUE;
	if (c == '\n' || r->place == COMMENT)
		return;
	if (r->place == IN_DOUBLE && !strchr("\"\\`$", c))
		add_value(r, '\\');
	add_value(r, c);
	r->n_kept = r->n_value;
}

static void take(struct env_reader *r, char c)
{
	bool ends = c == '\n' || c == '\r';

	switch (r->place) {
	case BEFORE_KEY:
		if (strchr("#;", c)) {
			r->place = COMMENT;
		} else if (!ends && !strchr(" \t", c)) {
			r->place = KEY;
			r->key[0] = c;
			r->n_key = 1;
		}
		break;
	case KEY:
		if (ends) {
			r->place = BEFORE_KEY;
		} else if (c != '=') {
			if (r->n_key + 1 < sizeof(r->key))
				r->key[r->n_key++] = c;
		} else {
			while (r->n_key && strchr(" \t", r->key[r->n_key - 1]))
				r->n_key--;
			r->key[r->n_key] = '\0';
			r->place = BEFORE_VALUE;
			r->n_value = r->n_kept = 0;
			r->cut = false;
		}
		break;
	case BEFORE_VALUE:
	case VALUE:
		if (r->place == BEFORE_VALUE && (c == '\'' || c == '"')) {
			r->place = c == '"' ? IN_DOUBLE : IN_SINGLE;
		} else if (r->place == VALUE || !strchr(" \t", c)) {
			r->place = VALUE;
			add_value(r, c);
		}
		break;
	case IN_SINGLE:
	case IN_DOUBLE:
		if (c == (r->place == IN_DOUBLE ? '"' : '\''))
			r->place = BEFORE_VALUE;
		else
			add_value(r, c);
		break;
	case COMMENT:
		if (ends)
			r->place = BEFORE_KEY;
		break;
	}
}

bool unit_file_get(const char *text, const char *variable, char *buf, size_t size)
{
	struct env_reader r = { .place = BEFORE_KEY };
	bool found = false;

	for (;; text++) {
		bool ends = !*text || *text == '\n' || *text == '\r';

		if (ends && (r.place == BEFORE_VALUE || r.place == VALUE)) {
			r.value[r.n_kept] = '\0';
			r.place = BEFORE_KEY;
			if (!strcmp(r.key, variable))
				found = !r.cut && snprintf(buf, size, "%s", r.value) < (int)size;
		}
		if (!*text)
			return found;
		if (*text == '\\' && text[1] && r.place != BEFORE_KEY && r.place != KEY &&
		    r.place != IN_SINGLE)
			escaped(&r, *++text);
		else
			take(&r, *text);
	}
}

/* --- the drop-in --- */

#define MARK "# Written by jeprof-ctl enable"
#define WAS "# Without it: "
#define WAS_NOT "# Without it there is no "
#define ASSIGNS "Environment="

/* Escaped for Environment=: '%' begins a specifier, '$' has no meaning. */
static void put_assignment(FILE *f, const char *variable, const char *value)
{
	fprintf(f, ASSIGNS "\"%s=", variable);
	for (; *value; value++) {
		if (strchr("\"\\", *value))
			fputc('\\', f);
		else if (*value == '%')
			fputc('%', f);
		fputc(*value, f);
	}
	fputs("\"\n", f);
}

char *drop_in_make(const char *unit, const char *variable, const char *was, const char *value)
{
	char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);
	bool failed;

	if (!f)
		return NULL;
	fprintf(f, MARK "; \"jeprof-ctl disable %s\" removes it.\n", unit);
	if (was) {
		fputs(WAS, f);
		put_assignment(f, variable, was);
	} else {
		fprintf(f, WAS_NOT "%s.\n", variable);
	}
	fputs("[Service]\n", f);
	put_assignment(f, variable, value);
	failed = ferror(f);
	if (fclose(f) || failed) {
		free(text);
		return NULL;
	}
	return text;
}

bool drop_in_is_ours(const char *text)
{
	return text_begins(text, MARK);
}

bool drop_in_variable(const char *text, char *buf, size_t size)
{
	static const char before[] = "\n" ASSIGNS "\"";
	const char *at = strstr(text, before);
	size_t len;

	if (!at)
		return false;
	at += strlen(before);
	len = strcspn(at, "=\"\n");
	return at[len] == '=' && (size_t)snprintf(buf, size, "%.*s", (int)len, at) < size;
}

/* The value assigned in the line with this beginning. */
static bool get(const char *text, const char *start, const char *variable, char *buf, size_t size)
{
	char line[2 * WORD_SIZE], *to = buf;
	const char *at = strstr(text, start);

	if (!at)
		return false;
	at += strlen(start);
	snprintf(line, sizeof(line), "%.*s", (int)strcspn(at, "\n"), at);
	if (!unit_list_get(line, variable, buf, size))
		return false;
	for (const char *c = buf; *c; c++) {
		*to++ = *c;
		c += c[0] == '%' && c[1] == '%';
	}
	*to = '\0';
	return true;
}

bool drop_in_was(const char *text, const char *variable, bool *was_set, char *buf, size_t size)
{
	char line[sizeof(WAS_NOT) + UNIT_VARIABLE_SIZE + 2];

	snprintf(line, sizeof(line), "\n" WAS_NOT "%s.\n", variable);
	*was_set = get(text, "\n" WAS ASSIGNS, variable, buf, size);
	return *was_set || strstr(text, line);
}
