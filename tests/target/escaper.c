// SPDX-License-Identifier: Apache-2.0
/*
 * A fake jemalloc instead of tests/target/liar.c's library: its calls create the folder that ESCAPE
 * names, which a filter may forbid the program to do.
 */
#include "tests/target/pretended.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

int mallctl(const char *name, void *oldp, size_t *oldlenp, void *newp, size_t newlen)
{
	const char *text = release;

	(void)name, (void)newp, (void)newlen;
	mkdir(getenv("ESCAPE"), 0777);
	if (oldp && *oldlenp == sizeof(text))
		memcpy(oldp, &text, sizeof(text));
	return 0;
}

int mallctlnametomib(const char *name, size_t *mib, size_t *len)
{
	(void)name, (void)mib, (void)len;
	return ENOENT;
}

int mallctlbymib(const size_t *mib, size_t len, void *oldp, size_t *oldlenp, void *newp,
		 size_t newlen)
{
	(void)mib, (void)len, (void)oldp, (void)oldlenp, (void)newp, (void)newlen;
	return ENOENT;
}

void malloc_stats_print(void (*write_cb)(void *, const char *), void *opaque, const char *opts)
{
	(void)write_cb, (void)opaque, (void)opts;
}
