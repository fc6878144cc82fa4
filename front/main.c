// SPDX-License-Identifier: Apache-2.0
#include "wire/wire.h"

#include <stdlib.h>

int main(void)
{
	const struct wire_to_broker ready = { .version = WIRE_VERSION, .kind = WIRE_READY };

	return wire_send(WIRE_FD, &ready, sizeof(ready), -1) ? EXIT_FAILURE : EXIT_SUCCESS;
}
