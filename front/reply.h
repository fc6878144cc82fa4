// SPDX-License-Identifier: Apache-2.0
/* Sends responses, with their common headers. */
#ifndef FRONT_REPLY_H
#define FRONT_REPLY_H

#include "front/route.h"
#include "wire/wire.h"

#include <microhttpd.h>
#include <stdbool.h>

struct reply_to {
	struct MHD_Connection *connection;
	const struct route *route;
	bool last; /* close the connection afterwards */
};

/* An error that the front found. */
enum MHD_Result reply_error(const struct reply_to *to, unsigned int status, const char *text);

/* Requests that need no broker. */
enum MHD_Result reply_own(const struct reply_to *to);
enum MHD_Result reply_text(const struct reply_to *to, const char *text);

/* An answer of the broker. Takes `fd`, which may be -1. */
enum MHD_Result reply_answer(const struct reply_to *to, const struct wire_to_front *answer, int fd);

#endif
