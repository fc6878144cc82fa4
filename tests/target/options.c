// SPDX-License-Identifier: Apache-2.0
/*
 * Prints options as the jemalloc that it was started with sees them: each argument is a name after
 * "b:" (bool), "u:" (unsigned), "n:" (signed 64-bit number) or "s:" (text). The output is "NAME
 * VALUE", or "NAME ?ERRNO".
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

__attribute__((weak)) int mallctl(const char *name, void *old, size_t *len, void *new,
				  size_t new_len);

static void print_option(char type, const char *name)
{
	union {
		bool b;
		unsigned int u;
		int64_t n;
		const char *s;
	} v = { .n = 0 };
	size_t len = type == 'b' ? sizeof(v.b) : type == 'u' ? sizeof(v.u) : sizeof(v.n);
	int ret = mallctl(name, &v, &len, NULL, 0);

	if (ret)
		printf("%s ?%d\n", name, ret);
	else if (type == 'b')
		printf("%s %s\n", name, v.b ? "true" : "false");
	else if (type == 'u')
		printf("%s %u\n", name, v.u);
	else if (type == 'n')
		printf("%s %" PRId64 "\n", name, v.n);
	else
		printf("%s %s\n", name, v.s);
}

int main(int argc, char **argv)
{
	if (!mallctl)
		return 2;
	for (int i = 1; i < argc; i++) {
		if (strlen(argv[i]) > 2)
			print_option(argv[i][0], argv[i] + 2);
	}
	/* With prof_leak_error, jemalloc exits before stdio would flush. */
	return fflush(stdout) ? 1 : 0;
}
