// SPDX-License-Identifier: Apache-2.0
#include "ops/render.h"

#include "base/cleanup.h"
#include "ops/graphviz.h"
#include "ops/memory_file.h"
#include "ops/profile_file.h"

#include <unistd.h>

struct rendering {
	const struct profile *profile;
	enum profile_format format;
	const struct profile_format_options *options;
	const char *path;
};

static int write_plain(FILE *out, const void *ctx, struct err *err)
{
	const struct rendering *r = ctx;

	return profile_write(r->profile, r->format, r->options, out, err);
}

static int write_rendered(FILE *out, const void *ctx, struct err *err)
{
	const struct rendering *r = ctx;
	const char *picture = NULL;

	if (r->format == PROFILE_FORMAT_DOT && r->path)
		picture = graphviz_type(r->path);
	return picture ? graphviz_draw(picture, write_plain, r, out, err)
		       : write_plain(out, r, err);
}

int render_into(FILE *out, const struct profile *p, enum profile_format format,
		const struct profile_format_options *options, const char *path, struct err *err)
{
	const struct rendering r = { p, format, options, path };

	return write_rendered(out, &r, err);
}

int render_write(const struct profile *p, enum profile_format format, const char *path, int *fd,
		 uint64_t *bytes, struct err *err)
{
	static const struct profile_format_options options = { .type = PROFILE_INUSE_SPACE };
	const struct rendering r = { p, format, &options, path };

	return memory_file_write(write_rendered, &r, fd, bytes, err);
}

int render_profile(int *fd, uint64_t *bytes, enum profile_format format, const char *path,
		   const struct ops_symbolise_options *symbols, struct err *err)
{
	static const struct profile_options options = { 0 };
	_cleanup_(profile_fini) struct profile p = { 0 };
	int rendered = -1;

	if (profile_file_read_fd(*fd, *bytes, &options, &p, err) ||
	    ops_symbolise(&p, symbols, err) ||
	    render_write(&p, format, path, &rendered, bytes, err))
		return -1;
	close(*fd);
	*fd = rendered;
	return 0;
}
