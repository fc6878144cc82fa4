// SPDX-License-Identifier: Apache-2.0
/* The evaluation of seccomp filters: any program ends, with an answer. */
#include "injector/filters.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct seccomp_data sd = { 0 };
	struct sock_filter *prog;
	size_t n;

	if (size < sizeof(sd))
		return 0;
	memcpy(&sd, data, sizeof(sd));
	n = (size - sizeof(sd)) / sizeof(*prog);
	prog = malloc(n * sizeof(*prog) + 1);
	if (!prog)
		return 0;
	memcpy(prog, data + sizeof(sd), n * sizeof(*prog));
	seccomp_filter_run(prog, n, &sd);
	free(prog);
	return 0;
}
