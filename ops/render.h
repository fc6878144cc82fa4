// SPDX-License-Identifier: Apache-2.0
/* A profile in another format. */
#ifndef OPS_RENDER_H
#define OPS_RENDER_H

#include "ops/target/session.h"
#include "profile/format/format.h"
#include "symbols/symbolize.h"

#include <stdint.h>
#include <stdio.h>

/* Of bytes in use, and otherwise as it is. */
extern const struct profile_format_options render_plain;

/*
 * A profile whose names were looked up, in `format`. `path`: of the file that it is for, or NULL;
 * a graph of calls is drawn by Graphviz where that ends in .svg, .png or .pdf (io/graphviz.h).
 */
int render_into(FILE *out, const struct profile *p, enum profile_format format,
		const struct profile_format_options *options, const char *path, struct err *err)
	__must_check;

/* The same: a memfd, which the caller closes. */
int render_write(const struct profile *p, enum profile_format format,
		 const struct profile_format_options *options, const char *path, int *fd,
		 uint64_t *bytes, struct err *err) __must_check;

/* What a profile is to become. */
struct render_request {
	enum profile_format format;
	const char *path;    /* as above */
	size_t max_stacks;   /* as in struct ops_dump_request */
	int base;	     /* a profile to be taken away from it, */
	uint64_t base_bytes; /* of this length; 0: none is */
};

/*
 * Look the names up for the profile in the first `bytes` of `fd`, unless it brings them along, and
 * put a memfd with what is wanted of it in its place: in a confined child, until `deadline_ms`
 * (CLOCK_MONOTONIC) or stop_fd. ERR_FAILED, ERR_UNSAFE.
 */
int render_file(const struct render_request *request, const struct ops_symbolize_options *symbols,
		uint64_t deadline_ms, int stop_fd, int *fd, uint64_t *bytes, struct err *err)
	__must_check;

/* The same, in the time that `s` has. */
int render_profile(const struct session *s, const struct render_request *request,
		   const struct ops_symbolize_options *symbols, int *fd, uint64_t *bytes,
		   struct err *err) __must_check;

/* Work with names in such a child, which ends with errand_done(). */
struct render_apart {
	const char *what; /* as in struct confined_options, as all of these */
	const int *fds;
	size_t n_fds;
	uint64_t bytes; /* of the profiles that it reads */
	const struct ops_symbolize_options *symbols;
	confined_fn *fn;
	void *ctx;	      /* of fn */
	uint64_t deadline_ms; /* CLOCK_MONOTONIC */
	int stop_fd;	      /* as in struct ops_options */
};

/* What it made: a memfd, which the caller closes. */
int render_apart(const struct render_apart *apart, int *fd, uint64_t *bytes, struct err *err)
	__must_check;

#endif
