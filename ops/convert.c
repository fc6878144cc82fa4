// SPDX-License-Identifier: Apache-2.0
#include "ops/convert.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "io/memory_file.h"
#include "io/output.h"
#include "ops/render.h"

#include <errno.h>
#include <fcntl.h>

int ops_convert(const struct ops_convert_request *request, const struct ops_options *options,
		struct err *err)
{
	_cleanup_(proc_close) struct proc p = { 0 };
	_cleanup_(cleanup_close) int fd = -1;
	struct render_request render = {
		.format = profile_format_by_name(request->format),
		.max_stacks = request->max_stacks,
		.base = request->base,
	};
	struct ops_symbolize_options symbols = {
		.pid = request->pid,
		.debuginfod = options->debuginfod,
	};
	uint64_t deadline_ms = now_ms() + ops_timeout_ms(options), bytes;

	if (render.format == PROFILE_FORMAT_NONE)
		return profile_format_unknown(request->format, "", err);
	if (request->pid && proc_open_at(&p, request->pid, options->start_time, err))
		return -1;
	symbols.pidfd = request->pid ? p.pidfd : -1;
	if (request->base >= 0 && memory_file_size(request->base, &render.base_bytes, err))
		return -1;
	fd = fcntl(request->profile, F_DUPFD_CLOEXEC, 3);
	if (fd < 0)
		return err_raise_sys(err, ERROR_FILE_UNOPENED, errno);
	return memory_file_size(fd, &bytes, err) ||
			       render_file(&render, &symbols, deadline_ms, options->stop_fd, &fd,
					   &bytes, err) ||
			       output_copy(request->out, "the profile", fd, bytes, deadline_ms, err)
		       ? -1
		       : 0;
}
