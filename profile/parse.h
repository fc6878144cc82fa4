// SPDX-License-Identifier: Apache-2.0
/* Private to profile/: the parts of profile_parse(). */
#ifndef PROFILE_PARSE_H
#define PROFILE_PARSE_H

#include "base/err.h"
#include "base/hashmap.h"
#include "base/intern.h"
#include "profile/profile.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Private to profile/: reads untrusted text, line by line. */

/* A part of one line: [at, end). The functions below step over what they match. */
struct span {
	const char *at, *end;
};

/* Reads the next bytes of a file, up to `room`. Returns how many; 0: end; -1: `err` is set. */
typedef ssize_t reader_more_fn(void *ctx, char *buf, size_t room, struct err *err);

/* A file that is held in memory one piece at a time. */
struct reader_pieces {
	reader_more_fn *more;
	void *ctx;
	char *buf;
	size_t room;
	struct err err; /* read error; ERR_NONE: end of file */
};

/* The lines of a file. */
struct reader {
	const char *start, *next, *end; /* the part in memory */
	struct reader_pieces *pieces;	/* NULL: all of it is in memory */
	size_t before;			/* bytes of the file before `start` */
	struct span line;		/* without trailing white space */
	size_t number, byte;		/* of `line`: number, from 1, and offset */
	bool whole;			/* `line` ends in a newline */
};

/* Read the next line; false: none. With pieces, `line` may move: keep no pointers into it. */
bool reader_line(struct reader *f);

/* Frees the buffer. */
void reader_pieces_fini(struct reader_pieces *pieces);

/* Raise "line N, byte N: what" for the last line read. Returns -1. */
int reader_fail(const struct reader *f, const char *what, struct err *err);

/* Does `text` come next? */
bool reader_text(struct span *s, const char *text);

/* Skip any number of blanks. Always true, for use in conditions. */
bool reader_blank(struct span *s);

/* A number that fits; reader_hex() also takes a "0x". If false, the position is undefined. */
bool reader_number(struct span *s, uint64_t *n);
bool reader_hex(struct span *s, uint64_t *n);

/* A profile being parsed. */
struct parse {
	struct profile *p;
	const struct profile_options *options;
	struct reader file;
	struct reader section; /* symbols of a symbolized file, in `symbols` */
	char *symbols;
	size_t n_symbols, symbols_room; /* bytes */
	struct intern *text;
	struct hashmap addresses, threads; /* pc, id: index in p->addresses, p->threads */
	struct hashmap called;		   /* pcs for which a line of Go was kept */
	size_t addresses_room, frames_room, stacks_room, threads_room;
	bool sampled;	   /* counts are sampled, and must be scaled */
	bool go;	   /* written by Go: lines after a stack name its calls */
	uint64_t go_first; /* of the last stack of Go: first frame not named yet */
	uint32_t go_depth; /* number of such frames */
	bool symbolized;   /* the file begins with symbols */
};

/*
 * The symbols at the beginning of a file, up to the line that ends them: first found and kept, then
 * read once the addresses are known.
 */
int parse_find_symbols(struct parse *ps, struct err *err) __must_check;
int parse_symbols(struct parse *ps, struct err *err) __must_check;

/*
 * A line that Go writes after a stack: "# 0xPLACE name+0xOFFSET file:line", separated by tabs. It
 * is kept as a symbol, once for each address; other lines are ignored.
 */
int parse_go_call(struct parse *ps, struct err *err) __must_check;

/*
 * The variances of a stack with `n` sampled objects of `size` bytes on average, each sampled with
 * the probability 1 / `factor`, at `period` bytes per sample.
 */
void parse_variance(double n, double size, double factor, double period, double *objects,
		    double *space);

#endif
