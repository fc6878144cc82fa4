// SPDX-License-Identifier: Apache-2.0
/*
 * Looks like jemalloc at a superficial glance: built with OWN_MALLCTL, it exports its own function
 * called mallctl, which ends the program when it is called; built without, it only contains
 * jemalloc's texts.
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#ifdef OWN_MALLCTL
int mallctl(const char *name, void *old, size_t *old_len, void *new, size_t new_len);

int mallctl(const char *name, void *old, size_t *old_len, void *new, size_t new_len)
{
	(void)name, (void)old, (void)old_len, (void)new, (void)new_len;
	abort();
}
#endif

static const char *const texts[] = { "<jemalloc>: Malformed conf string\n",
				     "5.3.0-0-g54eaed1d8b56b1aa528be3bdd1877e59c56fa90c",
				     "heap_v2/",
				     "MALLOC_CONF",
				     "prof.active",
				     "mallctl" };

int main(void)
{
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		fputs(texts[i], stderr);
	for (;;)
		pause();
}
