// SPDX-License-Identifier: Apache-2.0
/* Converting profiles in files to another format. No thread of any process is stopped. */
#ifndef OPS_CONVERT_H
#define OPS_CONVERT_H

#include "ops/ops.h"

struct ops_convert_request {
	int profile, base;  /* read from their beginning; base: to subtract, or -1 */
	const char *format; /* "pprof", "raw": as profile/format/ names them */
	size_t max_stacks;  /* as in struct ops_dump_request */
	pid_t pid; /* the profiled process, if alive: names come from its files; 0: from here */
	int out;   /* output */
};

/*
 * Names are looked up unless the profile contains them. It is parsed in a confined child. options:
 * pid's start_time, timeout_ms, debuginfod and stop_fd are used. ERR_FAILED: not a profile, or the
 * two do not match; ERR_NOPROC; ERR_OUTPUT; ERR_USAGE: unknown format.
 */
int ops_convert(const struct ops_convert_request *request, const struct ops_options *options,
		struct err *err) __must_check;

#endif
