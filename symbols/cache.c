// SPDX-License-Identifier: Apache-2.0
#include "symbols/cache.h"

#include "base/cleanup.h"
#include "elf/image.h"
#include "io/output.h"
#include "symbols/cache_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SUFFIX ".symbols"
#define FILES_MAX 65536

void symbol_cache_fini(struct symbol_cache *cache)
{
	free(cache->offsets);
	profile_symbols_free(cache->symbols);
	*cache = (struct symbol_cache){ 0 };
}

/* --- the folder --- */

static bool folder_path(char path[PATH_MAX])
{
	const char *xdg = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
	int len;

	if (geteuid() == 0)
		len = snprintf(path, PATH_MAX, "/var/cache/jeprof-ctl");
	else if (xdg && *xdg == '/')
		len = snprintf(path, PATH_MAX, "%s/jeprof-ctl", xdg);
	else if (home && *home == '/')
		len = snprintf(path, PATH_MAX, "%s/.cache/jeprof-ctl", home);
	else
		return false;
	return len < PATH_MAX - NAME_MAX;
}

/* Nobody else may write there, nor read what somebody's programs are made of. */
static bool is_ours(int fd, mode_t type)
{
	struct stat st;

	return !fstat(fd, &st) && (st.st_mode & S_IFMT) == type && st.st_uid == geteuid() &&
	       !(st.st_mode & 077);
}

static bool make_folder(char path[PATH_MAX])
{
	char *slash = strrchr(path, '/');

	*slash = '\0';
	if (mkdir(path, 0700) && errno != EEXIST) {
		*slash = '/';
		return false;
	}
	*slash = '/';
	return !mkdir(path, 0700) || errno == EEXIST;
}

static int open_folder(const char *path)
{
	_cleanup_(cleanup_close) int dir =
		open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	return dir >= 0 && is_ours(dir, S_IFDIR) ? take_fd(dir) : -1;
}

/* False for a build id that is none. */
static bool file_name(const unsigned char *build_id, size_t len, char name[NAME_MAX])
{
	if (len < 2 || len > IMAGE_BUILD_ID_MAX)
		return false;
	for (size_t i = 0; i < len; i++)
		snprintf(name + 2 * i, 3, "%02x", build_id[i]);
	strcpy(name + 2 * len, SUFFIX);
	return true;
}

/* --- its size --- */

struct kept {
	char name[NAME_MAX + 1];
	uint64_t bytes;
	struct timespec used;
};

static int by_use(const void *a, const void *b)
{
	const struct kept *x = a, *y = b;

	if (x->used.tv_sec != y->used.tv_sec)
		return x->used.tv_sec < y->used.tv_sec ? -1 : 1;
	return (x->used.tv_nsec > y->used.tv_nsec) - (x->used.tv_nsec < y->used.tv_nsec);
}

static bool is_kept(const char *name)
{
	size_t len = strlen(name);

	return len > strlen(SUFFIX) && !strcmp(name + len - strlen(SUFFIX), SUFFIX);
}

/* Drop what was not used for longest, until there is room again. */
static void drop_old(struct kept *all, size_t n, uint64_t total, int dir)
{
	qsort(all, n, sizeof(*all), by_use);
	for (size_t i = 0; i + 1 < n && total > SYMBOL_CACHE_BYTES_MAX; i++) {
		unlinkat(dir, all[i].name, 0);
		total -= all[i].bytes;
	}
}

static void bound_size(int folder)
{
	_cleanup_(cleanup_free) struct kept *all = calloc(FILES_MAX, sizeof(*all));
	_cleanup_(cleanup_close) int fd = dup(folder);
	_cleanup_(cleanup_closedir) DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *entry;
	uint64_t total = 0;
	size_t n = 0;

	if (dir)
		fd = -1;
	while (all && dir && n < FILES_MAX && (entry = readdir(dir))) {
		struct stat st;

		if (!is_kept(entry->d_name) ||
		    fstatat(folder, entry->d_name, &st, AT_SYMLINK_NOFOLLOW))
			continue;
		strcpy(all[n].name, entry->d_name);
		all[n].bytes = (uint64_t)st.st_size;
		all[n++].used = st.st_mtim;
		total += (uint64_t)st.st_size;
	}
	if (total > SYMBOL_CACHE_BYTES_MAX)
		drop_old(all, n, total, folder);
}

/* --- one file --- */

int symbol_cache_open(const unsigned char *build_id, size_t len)
{
	static const struct timespec now[2] = { { 0, UTIME_NOW }, { 0, UTIME_NOW } };
	char path[PATH_MAX], name[NAME_MAX];
	_cleanup_(cleanup_close) int dir = -1;
	_cleanup_(cleanup_close) int fd = -1;

	if (!file_name(build_id, len, name) || !folder_path(path))
		return -1;
	dir = open_folder(path);
	if (dir < 0)
		return -1;
	fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0 || !is_ours(fd, S_IFREG))
		return -1;
	futimens(fd, now);
	return take_fd(fd);
}

void symbol_cache_store(const unsigned char *build_id, size_t len, int fd, uint64_t bytes)
{
	_cleanup_(output_close) struct output output = OUTPUT_INIT;
	char path[PATH_MAX], name[NAME_MAX];
	_cleanup_(cleanup_close) int dir = -1;
	struct err ignored;

	if (!file_name(build_id, len, name) || !folder_path(path) || !make_folder(path))
		return;
	dir = open_folder(path);
	if (dir < 0)
		return;
	strcat(strcat(path, "/"), name);
	if (!output_open(&output, path, true, &ignored) &&
	    !output_commit(&output, fd, bytes, 0, &ignored))
		bound_size(dir);
}
