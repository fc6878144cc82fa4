// SPDX-License-Identifier: Apache-2.0
/* Private to serve/: starts and ends the process that speaks HTTP. */
#ifndef SERVE_FRONT_H
#define SERVE_FRONT_H

#include "base/err.h"
#include "serve/serve.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct front {
	pid_t pid;
	int pidfd, channel; /* -1: none */
	bool ready;	    /* confined, and accepts connections */
	uint64_t begun_ms;  /* of now_ms() */
};
#define FRONT_INIT                         \
	{                                  \
		.pidfd = -1, .channel = -1 \
	}

/* ERR_FAILED: its program is missing or cannot be started. */
int front_start(struct front *f, const struct serve_request *request, struct err *err) __must_check;

/* Kill it unless it has exited; its status of waitpid(2). */
int front_end(struct front *f);

#endif
