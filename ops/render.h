// SPDX-License-Identifier: Apache-2.0
/* Writing a profile in another format. */
#ifndef OPS_RENDER_H
#define OPS_RENDER_H

#include "ops/target/session.h"
#include "profile/format/format.h"
#include "symbols/symbolize.h"

#include <stdint.h>
#include <stdio.h>

/* Of bytes in use, otherwise unchanged. */
extern const struct profile_format_options render_plain;

/*
 * Write a profile whose names were looked up, in `format`. `path`: of the destination file, or
 * NULL; a call graph is drawn by Graphviz if that ends in .svg, .png or .pdf (io/graphviz.h).
 */
int render_into(FILE *out, const struct profile *p, enum profile_format format,
		const struct profile_format_options *options, const char *path, struct err *err)
	__must_check;

/* The same, to a memfd, which the caller closes. */
int render_write(const struct profile *p, enum profile_format format,
		 const struct profile_format_options *options, const char *path, int *fd,
		 uint64_t *bytes, struct err *err) __must_check;

/* Conversion of a profile. */
struct render_request {
	enum profile_format format;
	const char *path;    /* as above */
	size_t max_stacks;   /* as in struct ops_dump_request */
	int base;	     /* a profile to subtract from it, */
	uint64_t base_bytes; /* of this length; 0: none */
};

/*
 * Look up the names for the profile in the first `bytes` of `fd`, unless it contains them, and
 * replace `fd` by a memfd with the requested output: in a confined child, until `deadline_ms`
 * (CLOCK_MONOTONIC) or stop_fd. ERR_FAILED, ERR_UNSAFE.
 */
int render_file(const struct render_request *request, const struct ops_symbolize_options *symbols,
		uint64_t deadline_ms, int stop_fd, int *fd, uint64_t *bytes, struct err *err)
	__must_check;

/* The same, in the time left to `s`. */
int render_profile(const struct session *s, const struct render_request *request,
		   const struct ops_symbolize_options *symbols, int *fd, uint64_t *bytes,
		   struct err *err) __must_check;

/* Work with names in such a child, which ends with errand_done(). */
struct render_apart {
	const char *what; /* as in struct confined_options, like the next members */
	const int *fds;
	size_t n_fds;
	uint64_t bytes; /* of the profiles that it reads */
	const struct ops_symbolize_options *symbols;
	confined_fn *fn;
	void *ctx;	      /* for fn */
	uint64_t deadline_ms; /* CLOCK_MONOTONIC */
	int stop_fd;	      /* as in struct ops_options */
};

/* Its output: a memfd, which the caller closes. */
int render_apart(const struct render_apart *apart, int *fd, uint64_t *bytes, struct err *err)
	__must_check;

#endif
