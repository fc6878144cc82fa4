// SPDX-License-Identifier: Apache-2.0
/* The body of a POST to pprof's symbol, "0xA+0xB": numbers in a memory file, as it comes in. */
#ifndef FRONT_ADDRESSES_H
#define FRONT_ADDRESSES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct addresses {
	int fd; /* -1: none yet */
	size_t n;
	uint64_t value;
	unsigned int digits;
	unsigned int state; /* private */
};
#define ADDRESSES_INIT   \
	{                \
		.fd = -1 \
	}

enum addresses_result {
	ADDRESSES_GOOD,
	ADDRESSES_MALFORMED,
	ADDRESSES_MANY,	  /* more than WIRE_ADDRESSES_MAX */
	ADDRESSES_FAILED, /* there is no memory */
};

/* The next piece of it. */
enum addresses_result addresses_add(struct addresses *a, const char *text, size_t len);

/* That was all; if there were any, `fd` is sealed. */
enum addresses_result addresses_end(struct addresses *a);

void addresses_fini(struct addresses *a);

#endif
