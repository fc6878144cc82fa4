// SPDX-License-Identifier: Apache-2.0
/* Responses, with the headers that all of them have. */
#ifndef FRONT_REPLY_H
#define FRONT_REPLY_H

#include "front/route.h"
#include "wire/wire.h"

#include <microhttpd.h>
#include <stdbool.h>

struct reply_to {
	struct MHD_Connection *connection;
	const struct route *route;
	bool last; /* the connection ends with it */
};

/* An error of the front's own. */
enum MHD_Result reply_error(const struct reply_to *to, unsigned int status, const char *text);

/* What the front answers by itself. */
enum MHD_Result reply_own(const struct reply_to *to);
enum MHD_Result reply_text(const struct reply_to *to, const char *text);

/* What the broker answered. `fd` goes with it, or is -1. */
enum MHD_Result reply_answer(const struct reply_to *to, const struct wire_to_front *answer, int fd);

#endif
