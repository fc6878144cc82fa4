// SPDX-License-Identifier: Apache-2.0
#include "ops/unit/drop_in.h"

#include "base/cleanup.h"
#include "base/text.h"
#include "io/memory_file.h"
#include "io/output.h"
#include "ops/unit/text.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* After override.conf, which "systemctl edit" writes: the last drop-in by name wins. */
#define FILE_NAME "zz-jeprof-ctl.conf"
#define FILE_MAX ((off_t)1 << 20)

/* The first wins over the second if both have a file of the same name. */
static const char *const folders[] = { "/etc/systemd/system", "/run/systemd/system" };
enum { FOR_GOOD, UNTIL_BOOT };

/* The content of a regular file; NULL with errno, ENOENT if there is none. */
static char *read_file(const char *path, int flags)
{
	_cleanup_(cleanup_close) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | flags);
	_cleanup_(cleanup_free) char *text = NULL;
	struct stat st;
	ssize_t n;

	if (fd < 0 || fstat(fd, &st))
		return NULL;
	errno = EINVAL;
	if (!S_ISREG(st.st_mode) || st.st_size > FILE_MAX)
		return NULL;
	text = calloc(1, (size_t)st.st_size + 1);
	n = text ? read(fd, text, (size_t)st.st_size) : -1;
	return n < 0 ? NULL : take_ptr(text);
}

int drop_in_find(struct ops_unit *u, bool runtime, struct err *err)
{
	int first = runtime ? UNTIL_BOOT : FOR_GOOD;
	char name[UNIT_NAME_SIZE];

	memcpy(name, u->name, sizeof(name));
	for (u->n_files = 0; u->n_files < 2;) {
		size_t i = u->n_files++;
		struct ops_unit_file *f = &u->files[i];

		snprintf(f->path, sizeof(f->path), "%s/%s.d/" FILE_NAME,
			 folders[i ? !first : first], name);
		f->before = read_file(f->path, O_NOFOLLOW);
		if (!f->before && errno != ENOENT && errno != ENOTDIR)
			return err_raise_sys(err, ERROR_DROP_IN_UNREADABLE, errno, .path = f->path);
		if (f->before && !drop_in_is_ours(f->before)) {
			err_raise(err, ERROR_DROP_IN_FOREIGN, .path = f->path);
			return err_advise(err, FIX_RENAME_DROP_IN);
		}
	}
	if (!u->enables || !runtime || !u->files[1].before)
		return 0;
	err_raise(err, ERROR_ENABLED_FOR_GOOD, .name = u->name, .path = u->files[1].path);
	return err_advise(err, FIX_DISABLE_FIRST, .name = u->name);
}

static int write_text(FILE *out, const void *ctx, struct err *err)
{
	return fputs(ctx, out) < 0 ? err_no_memory(err) : 0;
}

int drop_in_put(const struct ops_unit_file *f, struct err *err)
{
	_cleanup_(output_close) struct output output = OUTPUT_INIT;
	_cleanup_(cleanup_close) int fd = -1;
	char folder[PATH_MAX];
	uint64_t bytes;

	snprintf(folder, sizeof(folder), "%.*s", (int)(strrchr(f->path, '/') - f->path), f->path);
	if (!f->after) {
		if (unlink(f->path) && errno != ENOENT)
			return err_raise_sys(err, ERROR_OUTPUT_FAILED, errno, .what = "remove",
					     .path = f->path);
		(void)!rmdir(folder); /* other drop-ins may be there */
		return 0;
	}
	if (memory_file_write(write_text, f->after, &fd, &bytes, err))
		return -1;
	if (!mkdir(folder, 0755))
		(void)!chmod(folder, 0755);
	else if (errno != EEXIST)
		return err_raise_sys(err, ERROR_OUTPUT_FAILED, errno, .what = "make",
				     .path = folder);
	if (output_open(&output, f->path, f->before != NULL, err) ||
	    output_commit(&output, fd, bytes, 0, err))
		return -1;
	/* Units are readable by every user, whatever our umask is. */
	(void)!chmod(f->path, 0644);
	return 0;
}

void environment_file_get(const char *line, const char *variable, struct environment_file *f)
{
	const char *behind = strstr(line, " (ignore_errors=");
	char pattern[PATH_MAX];
	glob_t files;

	snprintf(pattern, sizeof(pattern), "%.*s",
		 (int)(behind ? (size_t)(behind - line) : strlen(line)), line);
	if (glob(pattern, 0, NULL, &files))
		return;
	for (size_t i = 0; i < files.gl_pathc; i++) {
		_cleanup_(cleanup_free) char *text = read_file(files.gl_pathv[i], 0);

		if (!text && errno == EACCES)
			snprintf(f->unread, sizeof(f->unread), "%s", files.gl_pathv[i]);
		if (text && unit_file_get(text, variable, f->value, sizeof(f->value)))
			snprintf(f->path, sizeof(f->path), "%s", files.gl_pathv[i]);
	}
	globfree(&files);
}
