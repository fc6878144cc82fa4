// SPDX-License-Identifier: Apache-2.0
/* Incremental parser of the body of a POST to pprof's symbol, "0xA+0xB", into a memory file. */
#ifndef FRONT_ADDRESSES_H
#define FRONT_ADDRESSES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct addresses {
	int fd;	  /* the memory file; -1: none yet */
	size_t n; /* addresses */
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
	ADDRESSES_FAILED, /* out of memory */
};

/* Parse the next piece. */
enum addresses_result addresses_add(struct addresses *a, const char *text, size_t len);

/* The end of the body. Seals `fd`, if there were any addresses. */
enum addresses_result addresses_end(struct addresses *a);

void addresses_fini(struct addresses *a);

#endif
