// SPDX-License-Identifier: Apache-2.0
/* Private to serve/: the process that speaks HTTP, as its parent sees it. */
#ifndef SERVE_FRONT_H
#define SERVE_FRONT_H

#include "base/err.h"
#include "serve/serve.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct front {
	pid_t pid;
	int pidfd, channel; /* -1: there is none */
	bool ready;	    /* it is confined, and takes connections */
	uint64_t begun_ms;  /* of now_ms() */
};
#define FRONT_INIT                         \
	{                                  \
		.pidfd = -1, .channel = -1 \
	}

/* Start it. ERR_FAILED: its program is not there, or cannot be started. */
int front_start(struct front *f, const struct serve_request *request, struct err *err) __must_check;

/* End it, if it has not ended; how it did, as waitpid(2) says. */
int front_end(struct front *f);

#endif
