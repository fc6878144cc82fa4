// SPDX-License-Identifier: Apache-2.0
#include "ops/profile_file.h"

#include "base/cleanup.h"
#include "base/text.h"
#include "ops/bundle_file.h"
#include "profile/combine.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define READ_MIN (64u << 10)
#define UNPACKED_MAX (UINT64_C(2) << 30) /* a small bundle may hold a large lie */

static int read_fd(int fd, size_t room, char **bytes, size_t *len, struct err *err)
{
	_cleanup_(cleanup_free) char *buf = malloc(room);
	size_t used = 0;
	ssize_t n = 1;

	if (!buf)
		return err_set(err, ERR_FAILED, "there is no memory for all of it");
	while (n) {
		if (used == room) {
			char *bigger = room < PROFILE_FILE_MAX ? realloc(buf, 2 * room) : NULL;

			if (!bigger)
				break;
			buf = bigger;
			room *= 2;
		}
		n = read(fd, buf + used, room - used);
		if (n < 0 && errno != EINTR)
			return err_sys(err, ERR_FAILED, errno, "cannot read it");
		used += n > 0 ? (size_t)n : 0;
	}
	if (n)
		return err_set(err, ERR_FAILED, "there is no memory for all of it");
	*bytes = take_ptr(buf);
	*len = used;
	return 0;
}

static int read_path(const char *path, char **bytes, size_t *len, struct err *err)
{
	_cleanup_(cleanup_close) int fd = -1;
	size_t room = READ_MIN;
	struct stat st;

	if (!strcmp(path, "-"))
		return read_fd(STDIN_FILENO, room, bytes, len, err);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st))
		return err_sys(err, ERR_FAILED, errno, "cannot open it");
	if (S_ISDIR(st.st_mode))
		return err_sys(err, ERR_FAILED, EISDIR, "cannot read it");
	/* One byte more, to see the end without asking for more room. */
	if (S_ISREG(st.st_mode) && (uint64_t)st.st_size < PROFILE_FILE_MAX)
		room = (size_t)st.st_size + 1;
	return read_fd(fd, room, bytes, len, err);
}

/* Of a bundle, the profile that brings its names along. */
static int unpack(char **bytes, size_t *len, struct err *err)
{
	static const char *const wanted[] = { "profile.raw", "profile.heap", NULL };
	char *content;

	if (!bundle_is(*bytes, *len))
		return 0;
	if (bundle_find(*bytes, *len, wanted, UNPACKED_MAX, &content, len, err))
		return -1;
	free(*bytes);
	*bytes = content;
	return 0;
}

int profile_file_read(const char *path, const struct profile_options *options, struct profile *out,
		      struct err *err)
{
	_cleanup_(cleanup_free) char *bytes = NULL;
	char safe[512];
	size_t len = 0;

	if (read_path(path, &bytes, &len, err) || unpack(&bytes, &len, err) ||
	    profile_parse(out, bytes, len, options, err))
		return err_wrap(err, "%s", output_safe(path, safe, sizeof(safe)));
	return 0;
}

int profile_file_read_fd(int fd, uint64_t bytes, const struct profile_options *options,
			 struct profile *out, struct err *err)
{
	_cleanup_(cleanup_free) char *buf = NULL;
	size_t len = 0;

	if (bytes >= PROFILE_FILE_MAX || lseek(fd, 0, SEEK_SET) < 0)
		return err_set(err, ERR_FAILED, "cannot read the profile");
	if (read_fd(fd, (size_t)bytes + 1, &buf, &len, err))
		return -1;
	return profile_parse(out, buf, len < bytes ? len : (size_t)bytes, options, err);
}

/* Read one more and add it to `sum`, or take it away. */
static int combine(struct profile *sum, const char *path, bool subtract,
		   const struct profile_options *options, struct err *err)
{
	_cleanup_(profile_fini) struct profile other = { 0 };
	char safe[512];

	if (profile_file_read(path, options, &other, err))
		return -1;
	if (subtract ? profile_subtract(sum, &other, err) : profile_merge(sum, &other, err))
		return err_wrap(err, "%s", output_safe(path, safe, sizeof(safe)));
	return 0;
}

int profile_file_read_all(const char *const *paths, size_t n_paths, const char *base,
			  const struct profile_options *options, struct profile *out,
			  struct err *err)
{
	_cleanup_(profile_fini) struct profile got = { 0 };

	if (profile_file_read(paths[0], options, &got, err))
		return -1;
	for (size_t i = 1; i < n_paths; i++) {
		if (combine(&got, paths[i], false, options, err))
			return -1;
	}
	if (base && combine(&got, base, true, options, err))
		return -1;
	*out = got;
	got = (struct profile){ 0 };
	return 0;
}
