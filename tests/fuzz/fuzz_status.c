// SPDX-License-Identifier: Apache-2.0
/* The parser of /proc/PID/status, whose first line the target writes. */
#include "process/proc.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1);
	struct proc_status st;

	if (!text)
		return 0;
	memcpy(text, data, size);
	text[size] = '\0';
	if (proc_status_parse(&st, text) && strnlen(st.comm, sizeof(st.comm)) == sizeof(st.comm))
		abort();
	free(text);
	return 0;
}
