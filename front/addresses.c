// SPDX-License-Identifier: Apache-2.0
#include "front/addresses.h"

#include "wire/wire.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#define DIGITS_MAX 16
#define BATCH 256

enum { BEGINNING, ZERO, X, DIGITS, LINE_END };

/* Parsed addresses, not yet written. */
struct batch {
	uint64_t v[BATCH];
	size_t n;
};

static int digit_of(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

static enum addresses_result flush(struct addresses *a, struct batch *b)
{
	const char *at = (const char *)b->v;
	size_t left = b->n * sizeof(b->v[0]);

	b->n = 0;
	if (left && a->fd < 0)
		a->fd = memfd_create("addresses", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	while (left) {
		ssize_t n = write(a->fd, at, left);

		if (n <= 0)
			return ADDRESSES_FAILED;
		at += n;
		left -= (size_t)n;
	}
	return ADDRESSES_GOOD;
}

static enum addresses_result keep(struct addresses *a, struct batch *b)
{
	if (a->n == WIRE_ADDRESSES_MAX)
		return ADDRESSES_MANY;
	a->n++;
	b->v[b->n++] = a->value;
	a->value = 0;
	a->digits = 0;
	return b->n == BATCH ? flush(a, b) : ADDRESSES_GOOD;
}

static enum addresses_result step(struct addresses *a, struct batch *b, char c)
{
	int digit;

	switch (a->state) {
	case BEGINNING:
		a->state = ZERO;
		return c == '0' ? ADDRESSES_GOOD : ADDRESSES_MALFORMED;
	case ZERO:
		a->state = X;
		return c == 'x' || c == 'X' ? ADDRESSES_GOOD : ADDRESSES_MALFORMED;
	case X:
	case DIGITS:
		digit = digit_of(c);
		if (digit >= 0 && a->digits < DIGITS_MAX) {
			a->value = a->value << 4 | (unsigned int)digit;
			a->digits++;
			a->state = DIGITS;
			return ADDRESSES_GOOD;
		}
		if (!a->digits || (c != '+' && c != '\r' && c != '\n'))
			return ADDRESSES_MALFORMED;
		a->state = c == '+' ? BEGINNING : LINE_END;
		return keep(a, b);
	default:
		return c == '\r' || c == '\n' ? ADDRESSES_GOOD : ADDRESSES_MALFORMED;
	}
}

enum addresses_result addresses_add(struct addresses *a, const char *text, size_t len)
{
	struct batch b = { .n = 0 };

	for (size_t i = 0; i < len; i++) {
		enum addresses_result result = step(a, &b, text[i]);

		if (result)
			return result;
	}
	return flush(a, &b);
}

enum addresses_result addresses_end(struct addresses *a)
{
	struct batch b = { .n = 0 };
	enum addresses_result result = ADDRESSES_GOOD;

	if (a->state == DIGITS)
		result = keep(a, &b);
	else if (a->state != LINE_END && (a->state != BEGINNING || a->n))
		result = ADDRESSES_MALFORMED;
	if (!result)
		result = flush(a, &b);
	if (!result && a->fd >= 0 &&
	    fcntl(a->fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL))
		result = ADDRESSES_FAILED;
	return result;
}

void addresses_fini(struct addresses *a)
{
	if (a->fd >= 0)
		close(a->fd);
	*a = (struct addresses)ADDRESSES_INIT;
}
