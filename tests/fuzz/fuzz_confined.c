// SPDX-License-Identifier: Apache-2.0
/* An answer as a confined child may send it: pieces of any length, errors with any text. */
#include "sandbox/confined.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define ANSWER_MAX 4096
#define HEAD 8

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct confined c = { .what = "fuzz", .stop_fd = -1 };
	struct err err = ERR_INIT;
	size_t head = size < HEAD ? size : HEAD;
	char text[ERR_TEXT_SIZE];
	struct unpack u;
	int pair[2], fd;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair))
		return 0;
	if (send(pair[1], data, head, MSG_NOSIGNAL) < 0 ||
	    (size > head && send(pair[1], data + head, size - head, MSG_NOSIGNAL) < 0))
		size = 0;
	close(pair[1]);
	c.sock = pair[0];
	if (confined_answer(&c, 1000, ANSWER_MAX, &u, &fd, &err) == 0) {
		if (u.bad || u.end < u.at || u.end - u.at > ANSWER_MAX || fd != -1)
			abort();
	} else if (err.code == ERR_NONE || err.code >= ERR_CODES ||
		   !*err_text(&err, text, sizeof(text))) {
		abort();
	}
	confined_end(&c);
	return 0;
}
