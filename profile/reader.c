// SPDX-License-Identifier: Apache-2.0
#include "profile/reader.h"

#include <string.h>

bool reader_line(struct reader *f)
{
	const char *end;

	if (f->next == f->end)
		return false;
	end = memchr(f->next, '\n', (size_t)(f->end - f->next));
	f->whole = end != NULL;
	if (!end)
		end = f->end;
	f->line = (struct span){ f->next, end };
	f->next = f->whole ? end + 1 : end;
	f->number++;
	while (f->line.end > f->line.at && (f->line.end[-1] == ' ' || f->line.end[-1] == '\r'))
		f->line.end--;
	return true;
}

int reader_fail(const struct reader *f, const char *what, struct err *err)
{
	return err_set(err, ERR_FAILED, "line %zu, byte %zu: %s%s", f->number,
		       (size_t)(f->line.at - f->start), what, f->whole ? "" : " (it is cut short)");
}

bool reader_text(struct span *s, const char *text)
{
	size_t len = strlen(text);

	if ((size_t)(s->end - s->at) < len || memcmp(s->at, text, len) != 0)
		return false;
	s->at += len;
	return true;
}

bool reader_blank(struct span *s)
{
	while (s->at < s->end && (*s->at == ' ' || *s->at == '\t'))
		s->at++;
	return true;
}

bool reader_number(struct span *s, uint64_t *n)
{
	const char *at = s->at;
	uint64_t value = 0;

	for (; at < s->end && *at >= '0' && *at <= '9'; at++) {
		if (__builtin_mul_overflow(value, 10u, &value) ||
		    __builtin_add_overflow(value, (unsigned int)(*at - '0'), &value))
			return false;
	}
	if (at == s->at)
		return false;
	s->at = at;
	*n = value;
	return true;
}

static unsigned int digit(char c)
{
	if (c >= '0' && c <= '9')
		return (unsigned int)(c - '0');
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? (unsigned int)(c - 'a' + 10) : 16;
}

bool reader_hex(struct span *s, uint64_t *n)
{
	uint64_t value = 0;
	const char *at;
	unsigned int d;

	reader_text(s, "0x");
	for (at = s->at; at < s->end && (d = digit(*at)) < 16; at++) {
		if (value >> 60)
			return false;
		value = value << 4 | d;
	}
	if (at == s->at)
		return false;
	s->at = at;
	*n = value;
	return true;
}
