// SPDX-License-Identifier: Apache-2.0
/* The output of profile_write() for small profiles, for unit tests. */
#ifndef TESTS_UNIT_MADE_FORMAT_H
#define TESTS_UNIT_MADE_FORMAT_H

#include "profile/format/format.h"
#include "tests/unit/made_profile.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define N(a) (sizeof(a) / sizeof((a)[0]))

/* The output of profile_write() for these stacks. The caller frees it. */
static inline char *written(const struct made_stack *stacks, size_t n, enum profile_format format,
			    const struct profile_format_options *options)
{
	struct made_profile *made = made_profile(stacks, n);
	struct err err = ERR_INIT;
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	assert_non_null(out);
	assert_int_equal(profile_write(&made->profile, format, options, out, &err), 0);
	fclose(out);
	made_free(made);
	return text;
}

static const struct profile_format_options space = { .type = PROFILE_INUSE_SPACE };

static inline size_t count(const char *text, const char *part)
{
	size_t n = 0;

	for (; (text = strstr(text, part)); text++)
		n++;
	return n;
}

#endif
