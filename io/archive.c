// SPDX-License-Identifier: Apache-2.0
#include "io/archive.h"

#include "base/cleanup.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

/* --- libarchive --- */

#define LIBRARY "libarchive.so.13"

int libarchive_load(const struct libarchive **out, struct err *err)
{
	static _Thread_local struct libarchive functions;
	static const struct {
		const char *name;
		size_t offset;
	} wanted[] = {
#define WANTED(name) { "archive_" #name, offsetof(struct libarchive, name) },
		LIBARCHIVE_FUNCTIONS(WANTED)
#undef WANTED
	};
	void *library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);

	if (!library) {
		err_raise(err, ERROR_BUNDLES_UNAVAILABLE, .name = LIBRARY, .text = dlerror());
		return err_advise(err, FIX_INSTALL_LIBARCHIVE);
	}
	for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
		void *function = dlsym(library, wanted[i].name);

		if (!function)
			return err_raise(err, ERROR_LIBRARY_INCOMPLETE, .name = LIBRARY,
					 .what = wanted[i].name);
		*(void **)((char *)&functions + wanted[i].offset) = function;
	}
	*out = &functions;
	return 0;
}

/* --- bundles --- */

#define CHUNK 65536
#define FILES_MAX 1024

/* --- writing --- */

struct bundle_out {
	const struct libarchive *lib;
	struct archive *a;
	char folder[NAME_MAX];
	time_t now;
};

static int bad(const struct libarchive *lib, struct archive *a, const char *what, struct err *err)
{
	const char *why = a ? lib->error_string(a) : NULL;

	return err_raise(err, ERROR_ARCHIVE_FAILED, .what = what, .text = why ? why : "no memory");
}

int bundle_out_open(struct bundle_out **out, int fd, const char *folder, struct err *err)
{
	_cleanup_(bundle_out_close) struct bundle_out *o = calloc(1, sizeof(*o));

	if (!o)
		return err_no_memory(err);
	snprintf(o->folder, sizeof(o->folder), "%s", folder);
	o->now = time(NULL);
	if (libarchive_load(&o->lib, err))
		return -1;
	o->a = o->lib->write_new();
	if (!o->a || o->lib->write_add_filter_gzip(o->a) != ARCHIVE_OK ||
	    o->lib->write_set_format_pax_restricted(o->a) != ARCHIVE_OK ||
	    o->lib->write_open_fd(o->a, fd) != ARCHIVE_OK)
		return bad(o->lib, o->a, "make an archive", err);
	*out = take_ptr(o);
	return 0;
}

static int begin(struct bundle_out *out, const char *name, uint64_t bytes, struct err *err)
{
	struct archive_entry *entry = out->lib->entry_new();
	char path[NAME_MAX + 64];
	int ret;

	if (!entry)
		return err_no_memory(err);
	snprintf(path, sizeof(path), "%s/%s", out->folder, name);
	out->lib->entry_set_pathname(entry, path);
	out->lib->entry_set_size(entry, (int64_t)bytes);
	out->lib->entry_set_filetype(entry, AE_IFREG);
	out->lib->entry_set_perm(entry, 0600);
	out->lib->entry_set_mtime(entry, out->now, 0);
	ret = out->lib->write_header(out->a, entry);
	out->lib->entry_free(entry);
	return ret == ARCHIVE_OK ? 0 : bad(out->lib, out->a, "add to an archive", err);
}

int bundle_out_add(struct bundle_out *out, const char *name, const void *bytes, size_t len,
		   struct err *err)
{
	if (begin(out, name, len, err))
		return -1;
	if (out->lib->write_data(out->a, bytes, len) != (la_ssize_t)len)
		return bad(out->lib, out->a, "add to an archive", err);
	return 0;
}

int bundle_out_add_fd(struct bundle_out *out, const char *name, int fd, uint64_t bytes,
		      struct err *err)
{
	char buf[CHUNK];

	if (begin(out, name, bytes, err))
		return -1;
	for (uint64_t at = 0; at < bytes;) {
		uint64_t left = bytes - at;
		ssize_t n = pread(fd, buf, left < CHUNK ? left : CHUNK, (off_t)at);

		if (n <= 0)
			return err_raise_sys(err, ERROR_PROFILE_UNREADABLE, n ? errno : EIO);
		if (out->lib->write_data(out->a, buf, (size_t)n) != n)
			return bad(out->lib, out->a, "add to an archive", err);
		at += (uint64_t)n;
	}
	return 0;
}

int bundle_out_finish(struct bundle_out *out, struct err *err)
{
	return out->lib->write_close(out->a) == ARCHIVE_OK
		       ? 0
		       : bad(out->lib, out->a, "write an archive", err);
}

void bundle_out_close(struct bundle_out **out)
{
	if (!*out)
		return;
	if ((*out)->a)
		(*out)->lib->write_free((*out)->a);
	free(*out);
}

/* --- reading --- */

bool bundle_is(const char *bytes, size_t len)
{
	return len > 2 && bytes[0] == '\x1f' && bytes[1] == '\x8b';
}

struct reading {
	const struct libarchive *lib;
	struct archive *a;
};

static void close_reading(struct reading *r)
{
	if (r->a)
		r->lib->read_free(r->a);
}

/* Its index in `wanted`; -1: it is not there. */
static int rank_of(const char *path, const char *const *wanted)
{
	const char *slash = path ? strrchr(path, '/') : NULL;
	const char *name = slash ? slash + 1 : path;

	for (int i = 0; name && wanted[i]; i++) {
		if (!strcmp(name, wanted[i]))
			return i;
	}
	return -1;
}

/* The size in the header is not trusted. */
static int read_content(const struct reading *r, uint64_t max, char **content, size_t *len,
			struct err *err)
{
	_cleanup_(cleanup_free) char *buf = NULL;
	size_t used = 0, room = 0;
	la_ssize_t n = 1;

	while (n) {
		if (used == room) {
			char *bigger = room < max ? realloc(buf, room + room / 2 + CHUNK) : NULL;

			if (!bigger)
				return err_raise(err, ERROR_BUNDLE_TOO_LARGE);
			buf = bigger;
			room += room / 2 + CHUNK;
		}
		n = r->lib->read_data(r->a, buf + used, room - used);
		if (n < 0)
			return bad(r->lib, r->a, "unpack it", err);
		used += (size_t)n;
	}
	free(*content);
	*content = take_ptr(buf);
	*len = used;
	return 0;
}

static int no_bundle(const struct reading *r, struct err *err)
{
	bad(r->lib, r->a, "unpack it as a bundle", err);
	return err_advise(err, FIX_UNPACK_A_HEAP_PROFILE);
}

static bool all_found(const struct bundle_file *files, size_t n)
{
	while (n && files[n - 1].content && !files[n - 1].rank)
		n--;
	return !n;
}

/* Which file this entry is, if it is a better match than the previous one; else NULL. */
static struct bundle_file *meant(const char *path, struct bundle_file *files, size_t n, int *rank)
{
	for (size_t i = 0; i < n; i++) {
		*rank = rank_of(path, files[i].names);
		if (*rank >= 0 && (!files[i].content || *rank < files[i].rank))
			return &files[i];
	}
	return NULL;
}

int bundle_find(const char *bytes, size_t len, struct bundle_file *files, size_t n, struct err *err)
{
	_cleanup_(close_reading) struct reading r = { 0 };
	struct archive_entry *entry;
	int ret = ARCHIVE_OK, rank;

	if (libarchive_load(&r.lib, err))
		return -1;
	r.a = r.lib->read_new();
	if (!r.a || r.lib->read_support_filter_gzip(r.a) != ARCHIVE_OK ||
	    r.lib->read_support_format_tar(r.a) != ARCHIVE_OK ||
	    r.lib->read_open_memory(r.a, bytes, len) != ARCHIVE_OK)
		return no_bundle(&r, err);
	for (int i = 0; i < FILES_MAX && !all_found(files, n); i++) {
		struct bundle_file *f;
		struct err why;

		ret = r.lib->read_next_header(r.a, &entry);
		if (ret != ARCHIVE_OK && ret != ARCHIVE_WARN)
			break;
		f = meant(r.lib->entry_pathname(entry), files, n, &rank);
		if (!f || r.lib->entry_filetype(entry) != AE_IFREG)
			continue;
		if (!read_content(&r, f->max, &f->content, &f->len, &why)) {
			f->rank = rank;
		} else if (f == files) {
			*err = why;
			return -1;
		}
	}
	if (files->content)
		return 0;
	return ret == ARCHIVE_EOF ? err_raise(err, ERROR_NO_PROFILE_IN_BUNDLE) : no_bundle(&r, err);
}
