// SPDX-License-Identifier: Apache-2.0
/*
 * For programs that are taken for jemalloc: its strings, and its functions, of which each program
 * defines those that it needs. Included by one file of a program.
 */
#ifndef TESTS_TARGET_PRETENDED_H
#define TESTS_TARGET_PRETENDED_H

#include <stddef.h>

/* jeprof-ctl looks for these in the file. */
__attribute__((used)) static const char mark[] = "<jemalloc>: ";
__attribute__((used)) static const char trace[] = "heap_v2/%zu";
__attribute__((used)) static const char release[] =
	"5.3.0-0-g54eaed1d8b56b1aa528be3bdd1877e59c56fa90c";

void (*malloc_message)(void *, const char *);
int mallctl(const char *name, void *oldp, size_t *oldlenp, void *newp, size_t newlen);
int mallctlnametomib(const char *name, size_t *mib, size_t *len);
int mallctlbymib(const size_t *mib, size_t len, void *oldp, size_t *oldlenp, void *newp,
		 size_t newlen);
void malloc_stats_print(void (*write_cb)(void *, const char *), void *opaque, const char *opts);

#endif
