// SPDX-License-Identifier: Apache-2.0
/* .eh_frame of a static program, from the target's memory. */
#include "injector/callsite.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct unwind_table t;

	unwind_table_make(&t, data, size, 0x400000);
	for (size_t i = 0; i < t.n; i++) {
		if (t.v[i].fde < 0 || (size_t)t.v[i].fde >= size)
			abort();
		if (i && t.v[i].start < t.v[i - 1].start)
			abort();
	}
	unwind_table_fini(&t);
	return 0;
}
