// SPDX-License-Identifier: Apache-2.0
#include "ops/source.h"

#include "base/cleanup.h"
#include "sandbox/door.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SOURCE_MAX (16u << 20)
#define IMAGE_MAX (UINT64_C(16) << 30)

void ops_source_fini(struct ops_source *s)
{
	free(s->text);
	free(s->path);
	s->text = s->path = NULL;
}

static int64_t changed_ns(const struct stat *st)
{
	return st->st_mtim.tv_sec * INT64_C(1000000000) + st->st_mtim.tv_nsec;
}

static const char *why(int sys)
{
	switch (sys) {
	case ENOENT:
	case ENOTDIR:
		return "the file is not here";
	case EFBIG:
		return "the file is longer than 16 MiB";
	case EINVAL:
		return "it is not a regular file";
	case ENOEXEC:
		return "its name is not that of a source file";
	case EACCES:
	case EPERM:
		return "the file may not be read";
	case ENOMEM:
		return "jeprof-ctl is out of memory";
	default:
		return "the file cannot be read";
	}
}

/* False with errno. */
static bool read_text(int fd, struct ops_source *s)
{
	struct stat st;
	size_t n = 0;
	ssize_t got = 1;

	if (fd < 0 || fstat(fd, &st))
		return false;
	s->text = malloc(SOURCE_MAX + 1);
	if (!s->text)
		return false;
	while (got > 0 && n < SOURCE_MAX) {
		got = read(fd, s->text + n, SOURCE_MAX - n);
		n += got > 0 ? (size_t)got : 0;
	}
	if (got < 0)
		return false;
	s->text[n] = '\0';
	s->changed_ns = changed_ns(&st);
	s->found = (struct profile_source){ .text = s->text, .len = n };
	return true;
}

/* The build time of the program, as far as known: not later than its profile. */
static int64_t made_ns(const struct ops_source *s, const char *root, uint32_t mapping)
{
	_cleanup_(cleanup_close) int fd = -1;
	int64_t written_ns = s->profile->written_ns;
	struct stat st;

	if (mapping != PROFILE_NONE)
		fd = door_below(root, s->profile->mappings[mapping].path, IMAGE_MAX);
	if (fd < 0 || fstat(fd, &st))
		return written_ns;
	return !written_ns || changed_ns(&st) < written_ns ? changed_ns(&st) : written_ns;
}

void ops_source_find(void *ctx, const char *path, uint32_t mapping, struct profile_source *out)
{
	struct ops_source *s = ctx;
	const char *root = s->root ? s->root : "/";
	int64_t made;

	if (!s->path || strcmp(s->path, path) != 0) {
		_cleanup_(cleanup_close) int fd = -1;

		ops_source_fini(s);
		s->found = (struct profile_source){ 0 };
		s->path = strdup(path);
		errno = ENOENT;
		if (*path == '/')
			fd = door_below(root, path, SOURCE_MAX);
		if (!read_text(fd, s))
			s->found.why = *path == '/' ? why(errno) : "its path is unknown";
	}
	*out = s->found;
	made = out->text ? made_ns(s, root, mapping) : 0;
	out->newer = made && s->changed_ns > made;
}
