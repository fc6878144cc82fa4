// SPDX-License-Identifier: Apache-2.0
/* Requests to the opener, from a child that breaks the rules. */
#include "sandbox/door.h"

#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct door_policy policy = { .pid = getpid(), .root = "/usr/lib" };
	int pair[2];

	if (size > 1u << 16 || socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair))
		return 0;
	if (send(pair[1], data, size, MSG_NOSIGNAL) == (ssize_t)size) {
		shutdown(pair[1], SHUT_WR);
		door_serve(pair[0], &policy);
	}
	close(pair[0]);
	close(pair[1]);
	return 0;
}
