// SPDX-License-Identifier: Apache-2.0
/* The reader of pprof's profiles. The first byte chooses the options. */
#include "tests/fuzz/fuzz_profile.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct profile_options options = { 0 };
	struct profile p = { 0 };
	struct err err = ERR_INIT;

	if (!size)
		return 0;
	options.by_thread = data[0] & 1;
	options.only_thread = data[0] & 2;
	options.thread = data[0] >> 2;
	if (profile_parse_pprof(&p, data + 1, size - 1, &options, &err) == 0)
		fuzz_check(&p);
	else if (err.code != ERR_FAILED || !err.ids[0])
		abort();
	profile_fini(&p);
	return 0;
}
