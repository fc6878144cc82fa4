// SPDX-License-Identifier: Apache-2.0
#include "profile/parse.h"

#include <stdlib.h>
#include <string.h>

#define PIECE ((size_t)256 << 10) /* fits in a CPU's cache */
#define LINE_MAX_BYTES ((size_t)64 << 20)

void reader_pieces_fini(struct reader_pieces *pieces)
{
	free(pieces->buf);
	pieces->buf = NULL;
	pieces->room = 0;
}

/*
 * Append a piece to the unread part, which moves over the read part. The buffer grows for a longer
 * line. False at the end.
 */
static bool next_piece(struct reader *f)
{
	struct reader_pieces *p = f->pieces;
	size_t rest = (size_t)(f->end - f->next);
	ssize_t n;

	if (!p || p->err.code != ERR_NONE)
		return false;
	if (rest)
		memmove(p->buf, f->next, rest);
	f->before += (size_t)(f->next - f->start);
	f->start = f->next = p->buf;
	f->end = rest ? f->start + rest : f->start;
	if (rest == p->room) {
		size_t room = p->room ? 2 * p->room : PIECE;
		char *buf;

		if (room > LINE_MAX_BYTES) {
			err_raise(&p->err, ERROR_LINE_TOO_LONG);
			return false;
		}
		buf = realloc(p->buf, room);
		if (!buf) {
			err_no_memory(&p->err);
			return false;
		}
		f->end = buf + rest;
		f->start = f->next = p->buf = buf;
		p->room = room;
	}
	n = p->more(p->ctx, p->buf + rest, p->room - rest, &p->err);
	f->end += n > 0 ? n : 0;
	return n > 0;
}

/* The end of the next line; NULL: it ends with the file. */
static const char *line_end(struct reader *f)
{
	size_t seen = 0, n;
	const char *end;

	do {
		n = (size_t)(f->end - f->next);
		end = n > seen ? memchr(f->next + seen, '\n', n - seen) : NULL;
		seen = n;
	} while (!end && next_piece(f));
	return end;
}

bool reader_line(struct reader *f)
{
	const char *end = line_end(f);

	if (f->next == f->end)
		return false;
	f->whole = end != NULL;
	if (!end)
		end = f->end;
	f->line = (struct span){ f->next, end };
	f->byte = f->before + (size_t)(f->next - f->start);
	f->next = f->whole ? end + 1 : end;
	f->number++;
	while (f->line.end > f->line.at && (f->line.end[-1] == ' ' || f->line.end[-1] == '\r'))
		f->line.end--;
	return true;
}

int reader_fail(const struct reader *f, const char *what, struct err *err)
{
	return err_raise(err, f->whole ? ERROR_PROFILE_MALFORMED : ERROR_PROFILE_CUT_SHORT,
			 .number = (int64_t)f->number, .count = (int64_t)f->byte, .text = what);
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

/* The value of a hex digit + 1; 0: not a digit. A table, as profiles consist mostly of these. */
static const unsigned char digits[256] = {
	['0'] = 1,  ['1'] = 2,	['2'] = 3,  ['3'] = 4,	['4'] = 5,  ['5'] = 6,
	['6'] = 7,  ['7'] = 8,	['8'] = 9,  ['9'] = 10, ['a'] = 11, ['b'] = 12,
	['c'] = 13, ['d'] = 14, ['e'] = 15, ['f'] = 16, ['A'] = 11, ['B'] = 12,
	['C'] = 13, ['D'] = 14, ['E'] = 15, ['F'] = 16,
};

bool reader_hex(struct span *s, uint64_t *n)
{
	uint64_t value = 0;
	const char *at;
	unsigned int d;

	if (s->end - s->at >= 2 && s->at[0] == '0' && s->at[1] == 'x')
		s->at += 2;
	for (at = s->at; at < s->end && (d = digits[(unsigned char)*at]); at++) {
		if (value >> 60)
			return false;
		value = value << 4 | (d - 1);
	}
	if (at == s->at)
		return false;
	s->at = at;
	*n = value;
	return true;
}
