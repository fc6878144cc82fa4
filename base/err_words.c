// SPDX-License-Identifier: Apache-2.0
/* The messages of errors, and their names for programs. */
#include "base/err.h"
#include "base/text.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

static const struct {
	const char *name, *words;
} errors[ERRORS] = {
#define ERROR(id, code, words) [ERROR_##id] = { #id, words },
#include "base/errors.def"
#undef ERROR
};

static const struct {
	const char *name, *action;
} fixes[FIXES] = {
#define FIX(id, action) [FIX_##id] = { #id, action },
#include "base/fixes.def"
#undef FIX
};

static const char *in_small(const char *name, char buf[ERR_NAME_SIZE])
{
	size_t n = 0;

	for (; name[n] && n + 1 < ERR_NAME_SIZE; n++)
		buf[n] = (char)tolower((unsigned char)name[n]);
	buf[n] = '\0';
	return buf;
}

const char *err_name(enum error id, char buf[ERR_NAME_SIZE])
{
	return in_small(errors[id].name, buf);
}

const char *fix_name(enum fix fix, char buf[ERR_NAME_SIZE])
{
	return in_small(fixes[fix].name, buf);
}

const char *fix_action(enum fix fix)
{
	return fixes[fix].action;
}

/* --- arguments --- */

static const struct {
	const char *name;
	enum err_kind kind;
	size_t at;
} fields[] = {
#define FIELD(name, kind) { #name, ERR_##kind, offsetof(struct err_held, name) },
	ERR_NUMBERS(FIELD)
#undef FIELD
#define FIELD(name, size) { #name, ERR_TEXT, offsetof(struct err_held, name) },
		ERR_TEXTS(FIELD)
#undef FIELD
};
#define FIELDS (sizeof(fields) / sizeof(*fields))

bool err_field(const struct err *err, size_t i, struct err_field *field)
{
	const char *held = (const char *)&err->held;

	if (i >= FIELDS)
		return false;
	*field = (struct err_field){ .name = fields[i].name, .kind = fields[i].kind, .text = "" };
	if (field->kind == ERR_TEXT)
		field->text = held + fields[i].at;
	else
		memcpy(&field->number, held + fields[i].at, sizeof(field->number));
	return true;
}

/* --- messages --- */

struct writer {
	const struct err *err;
	size_t depth; /* the template is that of err->ids[depth] */
	char *buf;
	size_t size, used;
	bool missing;  /* a field within the brackets was not given */
	bool said_sys; /* the template has a {sys} */
};

static void write_error(struct writer *w);
static void write_words(struct writer *w, const char *words);

static void add(struct writer *w, const char *text, size_t len)
{
	if (len > w->size - 1 - w->used)
		len = w->size - 1 - w->used;
	memcpy(w->buf + w->used, text, len);
	w->used += len;
	w->buf[w->used] = '\0';
}

static void add_safe(struct writer *w, const char *raw)
{
	output_safe(raw, w->buf + w->used, w->size - w->used);
	w->used += strlen(w->buf + w->used);
}

static void add_number(struct writer *w, const struct err_field *arg)
{
	char text[64] = "";

	switch (arg->kind) {
	case ERR_NUMBER:
		snprintf(text, sizeof(text), "%lld", (long long)arg->number);
		break;
	case ERR_SIZE:
		text_size((uint64_t)arg->number, text, sizeof(text));
		break;
	case ERR_SECONDS:
		snprintf(text, sizeof(text), "%.1f", (double)arg->number / 1e3);
		break;
	case ERR_ADDRESS:
		snprintf(text, sizeof(text), "%#llx", (unsigned long long)arg->number);
		break;
	case ERR_SIGNAL:
		snprintf(text, sizeof(text), "%s", strsignal((int)arg->number));
		break;
	case ERR_TEXT:
		break;
	}
	add(w, text, strlen(text));
}

static bool has_cause(const struct writer *w)
{
	return w->depth + 1 < ERR_DEPTH && w->err->ids[w->depth + 1] != ERROR_NONE;
}

static void add_sys(struct writer *w)
{
	add_safe(w, strerror(w->err->sys));
	w->said_sys = true;
}

static void add_field(struct writer *w, const char *name, size_t len)
{
	struct err_field arg;

	for (size_t i = 0; err_field(w->err, i, &arg); i++) {
		if (strlen(arg.name) != len || memcmp(arg.name, name, len) != 0)
			continue;
		w->missing |= !(arg.number || *arg.text);
		if (arg.kind == ERR_TEXT)
			add_safe(w, arg.text);
		else
			add_number(w, &arg);
	}
}

static void add_named(struct writer *w, const char *name, size_t len)
{
	if (len == 5 && !memcmp(name, "cause", len)) {
		if (!has_cause(w))
			return;
		w->depth++;
		write_error(w);
		w->depth--;
	} else if (len == 3 && !memcmp(name, "sys", len)) {
		add_sys(w);
	} else if (len == 3 && !memcmp(name, "who", len)) {
		write_words(w, "{pid} ({comm})");
	} else {
		add_field(w, name, len);
	}
}

/* Write up to the end of the template or the brackets; returns that position. */
static const char *write_part(struct writer *w, const char *words)
{
	while (*words && *words != ']') {
		size_t len = strcspn(words, "{[]"), used;

		add(w, words, len);
		used = w->used;
		words += len;
		if (*words == '{') {
			len = strcspn(++words, "}");
			add_named(w, words, len);
			words += len + (words[len] == '}');
		} else if (*words == '[') {
			w->missing = false;
			words = write_part(w, words + 1);
			if (w->missing)
				w->buf[w->used = used] = '\0';
			words += *words == ']';
		}
	}
	return words;
}

static void write_words(struct writer *w, const char *words)
{
	while (*(words = write_part(w, words)) == ']')
		words++;
}

const char *err_fill(const struct err *err, const char *words, char *buf, size_t size)
{
	struct writer w = { .err = err, .buf = buf, .size = size };

	*buf = '\0';
	write_words(&w, words);
	return buf;
}

/* The innermost cause ends with the system's error message. */
static void write_error(struct writer *w)
{
	write_words(w, errors[w->err->ids[w->depth]].words);
	if (has_cause(w) || !w->err->sys || w->said_sys)
		return;
	add(w, ": ", 2);
	add_sys(w);
}

const char *err_text(const struct err *err, char *buf, size_t size)
{
	struct writer w = { .err = err, .buf = buf, .size = size };

	*buf = '\0';
	write_error(&w);
	return buf;
}

bool err_names(const struct err *err, pid_t pid)
{
	for (size_t i = 0; i < ERR_DEPTH && err->held.pid == pid; i++) {
		const char *words = errors[err->ids[i]].words;

		if (words && (strstr(words, "{pid}") || strstr(words, "{who}")))
			return true;
	}
	return false;
}
