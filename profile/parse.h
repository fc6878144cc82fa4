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

/* Private to profile/: reading text that somebody else wrote, line by line. */

/* A part of one line: [at, end). The functions below step over what they found. */
struct span {
	const char *at, *end;
};

/* Up to `room` bytes of a file, the next ones: how many, 0 at its end, -1 with `err` set. */
typedef ssize_t reader_more_fn(void *ctx, char *buf, size_t room, struct err *err);

/* A file of which a piece at a time is in memory. */
struct reader_pieces {
	reader_more_fn *more;
	void *ctx;
	char *buf;
	size_t room;
	struct err err; /* why there was no more; ERR_NONE: it ended */
};

/* The lines of a file. */
struct reader {
	const char *start, *next, *end; /* what of it is in memory */
	struct reader_pieces *pieces;	/* NULL: that is all of it */
	size_t before;			/* bytes of the file before `start` */
	struct span line;		/* without its end and the white space before that */
	size_t number, byte;		/* of `line`: from 1, and where it begins */
	bool whole;			/* it ends in a newline */
};

/* To the next line; false when there is none. With pieces, `line` moves: keep no part of it. */
bool reader_line(struct reader *f);

/* Frees the buffer. */
void reader_pieces_fini(struct reader_pieces *pieces);

/* Set the error "line N, byte N: what" for the line that was read last. Returns -1. */
int reader_fail(const struct reader *f, const char *what, struct err *err);

/* Does it go on with `text`? */
bool reader_text(struct span *s, const char *text);

/* Blanks, any number of them. Always true, so that it can stand in a condition. */
bool reader_blank(struct span *s);

/* A number that fits. reader_hex() takes "0x" before it as well. False leaves `s` anywhere. */
bool reader_number(struct span *s, uint64_t *n);
bool reader_hex(struct span *s, uint64_t *n);

/* A profile in the making. */
struct parse {
	struct profile *p;
	const struct profile_options *options;
	struct reader file;
	struct reader section; /* of a symbolized file: its symbols, in `symbols` */
	char *symbols;
	size_t n_symbols, symbols_room; /* bytes */
	struct intern *text;
	struct hashmap addresses, threads; /* pc, id: index in p->addresses, p->threads */
	struct hashmap called;		   /* pc: those of which a line of Go's was kept */
	size_t addresses_room, frames_room, stacks_room, threads_room;
	bool sampled;	   /* the counts are those of a sample, to be scaled */
	bool go;	   /* it is Go's: lines behind a stack name its calls */
	uint64_t go_first; /* of its last stack: the frames that no line has named yet, */
	uint32_t go_depth; /* and how many */
	bool symbolized;   /* it begins with symbols */
};

/*
 * The symbols that a file begins with, up to the line that ends them: found
 * first and kept, and read when the addresses are known.
 */
int parse_find_symbols(struct parse *ps, struct err *err) __must_check;
int parse_symbols(struct parse *ps, struct err *err) __must_check;

/*
 * A line of Go's, behind the stack that it is of: "# 0xPLACE name+0xOFFSET file:line", with tabs
 * between. Kept as a symbol, once for each address; what is none is left out.
 */
int parse_go_call(struct parse *ps, struct err *err) __must_check;

/*
 * The variances of a stack of which `n` objects of `size` bytes on average were sampled, each with
 * the probability 1 / `factor`, `period` bytes from one sample to the next.
 */
void parse_variance(double n, double size, double factor, double period, double *objects,
		    double *space);

#endif
