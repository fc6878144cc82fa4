// SPDX-License-Identifier: Apache-2.0
/* Text from and for people: sizes, durations, and names that others chose. */
#ifndef BASE_TEXT_H
#define BASE_TEXT_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* "512K", "1M", "4096", "2GiB": bytes, in powers of 1024. ERR_USAGE otherwise. */
int text_size_parse(const char *text, uint64_t *bytes, struct err *err) __must_check;

/* "30", "30s", "250ms", "5mins", "1h30m": seconds when there is no unit. ERR_USAGE otherwise. */
int text_duration_parse(const char *text, uint64_t *ms, struct err *err) __must_check;

/* A whole number from min to max, in decimal. ERR_USAGE otherwise. */
int text_int_parse(const char *text, int64_t min, int64_t max, int64_t *n, struct err *err)
	__must_check;

/* "12.3M": at most one decimal place. Returns `buf`; 16 bytes always do. */
const char *text_size(uint64_t bytes, char *buf, size_t size);

/*
 * How many letters to insert, drop or replace, or to swap with the next, to get from `a` to `b`
 * (optimal string alignment); INT_MAX when one is longer than TEXT_DISTANCE_MAX.
 */
#define TEXT_DISTANCE_MAX 48
int text_distance(const char *a, const char *b);

/* Which of some names was meant by a word that is none of them: try each. */
struct text_near {
	const char *word;
	const char *best; /* NULL: none is near enough */
	int least;	  /* private */
};
void text_near_begin(struct text_near *near, const char *word);
void text_near_try(struct text_near *near, const char *name);

/*
 * `raw` made safe to print: control characters, what is no UTF-8, and
 * characters that turn the direction of text become \xNN, byte by byte. What
 * does not fit is cut at a whole character. Returns `buf`.
 */
const char *output_safe(const char *raw, char *buf, size_t size);

/*
 * The same for whole lines, whose ends and tabs stay, piece by piece: `text` has `len` bytes, and a
 * '\0' behind them. A character that is cut at its end is left for the next piece, unless this is
 * the `end`. `safe` has room for OUTPUT_SAFE_SIZE(len). Returns how many bytes were taken.
 */
#define OUTPUT_SAFE_SIZE(len) (4 * (len) + 1)
size_t output_safe_lines(const char *text, size_t len, bool end, char *safe, size_t *safe_len);

/*
 * As output_safe(), in place: what makes it longer than `size` - 1 bytes, at most 4095, is cut.
 */
void output_make_safe(char *text, size_t size);

/* How many columns of a terminal UTF-8 takes; the wide characters of Asia count as one. */
size_t text_columns(const char *text);

/* Does it begin with `start`? */
static inline bool text_begins(const char *text, const char *start)
{
	return strncmp(text, start, strlen(start)) == 0;
}

/* The last part of a path: what is behind its last slash. */
const char *text_file_name(const char *path);

/* How long it is without `suffix`, if it ends in that and is more than that. */
size_t text_stem(const char *path, const char *suffix);

/*
 * As memmem(3), several times faster: memchr(3) looks for the last byte of
 * `part` that is not 0, many bytes at a time. NULL when all of them are 0.
 */
const char *text_search(const char *bytes, size_t len, const void *part, size_t part_len);

#endif
