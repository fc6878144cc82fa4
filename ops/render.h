// SPDX-License-Identifier: Apache-2.0
/* A profile that was just dumped, in another format. */
#ifndef OPS_RENDER_H
#define OPS_RENDER_H

#include "ops/symbolise.h"
#include "profile/format.h"

#include <stdint.h>

/*
 * Look the names up for the profile in the first `bytes` of `fd`, and put a
 * memfd with the profile in `format` in its place. ERR_FAILED.
 */
int render_profile(int *fd, uint64_t *bytes, enum profile_format format,
		   const struct ops_symbolise_options *symbols, struct err *err) __must_check;

/* A profile whose names were looked up, in `format`: a memfd, which the caller closes. */
int render_write(const struct profile *p, enum profile_format format, int *fd, uint64_t *bytes,
		 struct err *err) __must_check;

#endif
