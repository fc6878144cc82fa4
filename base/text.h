// SPDX-License-Identifier: Apache-2.0
/* User input and output: sizes, durations, and untrusted names. */
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

/* An integer from min to max, in decimal. ERR_USAGE otherwise. */
int text_int_parse(const char *text, int64_t min, int64_t max, int64_t *n, struct err *err)
	__must_check;

/* "12.3M": at most one decimal place. Returns `buf`; 16 bytes always suffice. */
const char *text_size(uint64_t bytes, char *buf, size_t size);

/*
 * The number of insertions, deletions, replacements and swaps of adjacent letters to get from `a`
 * to `b` (optimal string alignment); INT_MAX when one is longer than TEXT_DISTANCE_MAX.
 */
#define TEXT_DISTANCE_MAX 48
int text_distance(const char *a, const char *b);

/* Finds the name most similar to an unknown word: try each candidate. */
struct text_near {
	const char *word;
	const char *best; /* NULL: none is similar enough */
	int least;	  /* private */
};
void text_near_begin(struct text_near *near, const char *word);
void text_near_try(struct text_near *near, const char *name);

/*
 * Make `raw` safe to print: control characters, invalid UTF-8, and bidirectional control characters
 * become \xNN, byte by byte. Truncated at a character boundary. Returns `buf`.
 */
const char *output_safe(const char *raw, char *buf, size_t size);

/*
 * The same for text in chunks, keeping newlines and tabs: `text` has `len` bytes, followed by '\0'.
 * An incomplete character at its end is left for the next chunk, unless this is the `end`. `safe`
 * has room for OUTPUT_SAFE_SIZE(len). Returns the number of bytes consumed.
 */
#define OUTPUT_SAFE_SIZE(len) (4 * (len) + 1)
size_t output_safe_lines(const char *text, size_t len, bool end, char *safe, size_t *safe_len);

/* As output_safe(), in place: truncated to `size` - 1 bytes, at most 4095. */
void output_make_safe(char *text, size_t size);

/* The number of terminal columns of UTF-8 text; wide East Asian characters count as one. */
size_t text_columns(const char *text);

/* The line after this one, which may be empty; NULL at the end. */
static inline const char *text_next_line(const char *line)
{
	const char *stop = strchr(line, '\n');

	return stop ? stop + 1 : NULL;
}

/* Does it begin with `start`? */
static inline bool text_begins(const char *text, const char *start)
{
	return strncmp(text, start, strlen(start)) == 0;
}

/* The last component of a path, after the last slash. */
const char *text_file_name(const char *path);

/* The length without `suffix`, if it ends in that and is longer. */
size_t text_stem(const char *path, const char *suffix);

/*
 * As memmem(3), but several times faster: memchr(3) searches for the last byte of `part` that is
 * not 0, many bytes at a time. NULL when all of them are 0.
 */
const char *text_search(const char *bytes, size_t len, const void *part, size_t part_len);

#endif
