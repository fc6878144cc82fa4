// SPDX-License-Identifier: Apache-2.0
#include "symbols/demangle.h"

#include <libiberty/demangle.h>
#include <setjmp.h>
#include <string.h>

/* As binutils call it; its own limit of recursion holds. */
#define OPTIONS (DMGL_ANSI | DMGL_PARAMS)

struct out {
	char *buf;
	size_t len;
	jmp_buf too_long;
};

static void add(const char *text, size_t len, void *arg)
{
	struct out *out = arg;

	/* The demanglers keep all they need on the stack: there is nothing to free. */
	if (len >= SYMBOLS_NAME_MAX - out->len)
		longjmp(out->too_long, 1);
	memcpy(out->buf + out->len, text, len);
	out->len += len;
}

/* With callbacks: the other functions of libiberty have no limit for what they return. */
static bool demangle(const char *linkage, struct out *out)
{
	out->len = 0;
	if (rust_demangle_callback(linkage, OPTIONS, add, out) && out->len)
		return true;
	out->len = 0;
	return !strncmp(linkage, "_Z", 2) &&
	       cplus_demangle_v3_callback(linkage, OPTIONS, add, out) && out->len;
}

bool symbols_demangle(const char *linkage, char buf[SYMBOLS_NAME_MAX])
{
	struct out out = { .buf = buf };

	if (*linkage != '_' || strnlen(linkage, SYMBOLS_NAME_MAX) == SYMBOLS_NAME_MAX)
		return false;
	if (setjmp(out.too_long) || !demangle(linkage, &out))
		return false;
	buf[out.len] = '\0';
	return memchr(buf, '\0', out.len) == NULL;
}
