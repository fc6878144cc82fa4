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

/*
 * Look the names up for the profile in the first `bytes` of `fd`, and put a
 * memfd with the profile in `format` in its place, as above: in a confined child, in the time
 * that `s` has. ERR_FAILED, ERR_UNSAFE.
 */
int render_profile(const struct session *s, int *fd, uint64_t *bytes, enum profile_format format,
		   const char *path, const struct ops_symbolize_options *symbols, struct err *err)
	__must_check;

#endif
