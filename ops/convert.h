// SPDX-License-Identifier: Apache-2.0
/* Profiles that are kept in files, in another format. No thread of any process is stopped. */
#ifndef OPS_CONVERT_H
#define OPS_CONVERT_H

#include "ops/ops.h"

struct ops_convert_request {
	int profile, base; /* to be read from their start; base: to be taken away; -1: nothing is */
	const char *format; /* "pprof", "raw": as profile/format/ names them */
	size_t max_stacks;  /* as in struct ops_dump_request */
	pid_t pid; /* what it is of, if that lives: names come from its files; 0: from here */
	int out;   /* where it goes */
};

/*
 * Names are looked up unless the profile brings them along. It is parsed in a confined child.
 * options: pid's start_time, timeout_ms, debuginfod and stop_fd count. ERR_FAILED: it is no
 * profile, or they do not belong together; ERR_NOPROC; ERR_OUTPUT; ERR_USAGE: unknown format.
 */
int ops_convert(const struct ops_convert_request *request, const struct ops_options *options,
		struct err *err) __must_check;

#endif
