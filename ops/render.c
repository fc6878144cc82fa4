// SPDX-License-Identifier: Apache-2.0
#include "ops/render.h"

#include "base/cleanup.h"
#include "ops/profile_file.h"

#include <errno.h>
#include <sys/mman.h>
#include <sys/stat.h>

int render_write(const struct profile *p, enum profile_format format, int *fd, uint64_t *bytes,
		 struct err *err)
{
	const struct profile_format_options options = { .type = PROFILE_INUSE_SPACE };
	_cleanup_(cleanup_close) int memory = memfd_create("profile", MFD_CLOEXEC);
	_cleanup_(cleanup_fclose) FILE *out = NULL;
	int copy = memory < 0 ? -1 : dup(memory);
	struct stat st;

	out = copy < 0 ? NULL : fdopen(copy, "w");
	if (!out) {
		cleanup_close(&copy);
		return err_sys(err, ERR_FAILED, errno, "cannot make a memory file");
	}
	if (profile_write(p, format, &options, out, err))
		return -1;
	if (fflush(out) || fstat(memory, &st))
		return err_sys(err, ERR_FAILED, errno, "cannot write the profile");
	*fd = take_fd(memory);
	*bytes = (uint64_t)st.st_size;
	return 0;
}

int render_profile(int *fd, uint64_t *bytes, enum profile_format format,
		   const struct ops_symbolise_options *symbols, struct err *err)
{
	static const struct profile_options options = { 0 };
	_cleanup_(profile_fini) struct profile p = { 0 };
	int rendered = -1;

	if (profile_file_read_fd(*fd, *bytes, &options, &p, err) ||
	    ops_symbolise(&p, symbols, err) || render_write(&p, format, &rendered, bytes, err))
		return -1;
	close(*fd);
	*fd = rendered;
	return 0;
}
