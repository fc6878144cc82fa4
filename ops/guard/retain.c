// SPDX-License-Identifier: Apache-2.0
#include "ops/guard/retain.h"

#include "base/cleanup.h"
#include "base/text.h"
#include "base/vec.h"
#include "ops/dump_file_name.h"
#include "ops/guard/rule.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/*
 * The files of one profile: STEM with each of these. The profile is identified by the first, or by
 * the second if the process ended while it was being recorded.
 */
static const char *const suffixes[] = { ".heap", ".base.heap", ".json" };
#define SUFFIXES (sizeof(suffixes) / sizeof(*suffixes))

struct kept {
	char stem[NAME_MAX + 1]; /* COMM.PID.TIME.guard-WORD */
	char of[NAME_MAX + 1];	 /* COMM.PID */
	int64_t seconds;
	uint64_t bytes;
	bool newest;
};

struct keeping {
	int dir;
	struct kept *v;
	size_t n, room;
};

static void keeping_fini(const struct keeping *k)
{
	free(k->v);
	cleanup_close(&k->dir);
}

static void name_of(const struct kept *k, size_t suffix, char name[NAME_MAX + 16])
{
	snprintf(name, NAME_MAX + 16, "%s%s", k->stem, suffixes[suffix]);
}

static bool is_file(int dir, const char *name)
{
	struct stat st;

	return !fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) && S_ISREG(st.st_mode);
}

/* Is it one of ours, by its name? */
static bool parse(const char *name, struct kept *k)
{
	size_t len = text_stem(name, suffixes[1]);
	struct dump_file_name parts;
	const char *dot;

	if (!name[len])
		len = text_stem(name, suffixes[0]);
	if (!name[len] || !dump_file_name_parse(name, &parts) || !parts.seconds || !parts.stem_len)
		return false;
	*k = (struct kept){ .seconds = parts.seconds };
	memcpy(k->stem, name, len);
	dot = strrchr(k->stem, '.');
	if (!dot || !text_begins(dot, GUARD_PART) || !guard_is_word(dot + strlen(GUARD_PART)))
		return false;
	memcpy(k->of, name, parts.stem_len);
	return true;
}

static int read_folder(struct keeping *k, const char *folder, const char *newest, struct err *err)
{
	_cleanup_(cleanup_closedir) DIR *d = opendir(folder);
	char first[NAME_MAX + 16], name[NAME_MAX + 16];
	struct stat st;

	if (!d)
		return err_raise_sys(err, ERROR_FOLDER_UNREADABLE, errno, .path = folder);
	k->dir = fcntl(dirfd(d), F_DUPFD_CLOEXEC, 3);
	for (const struct dirent *e; (e = readdir(d));) {
		struct kept *one;

		if (!vec_grow(k->v, k->room, k->n))
			return err_no_memory(err);
		one = &k->v[k->n];
		if (!parse(e->d_name, one))
			continue;
		/* Is it the file that identifies its profile, rather than one beside it? */
		name_of(one, 0, first);
		if (!is_file(k->dir, e->d_name) ||
		    (strcmp(e->d_name, first) != 0 && is_file(k->dir, first)))
			continue;
		for (size_t i = 0; i < SUFFIXES; i++) {
			name_of(one, i, name);
			if (!fstatat(k->dir, name, &st, AT_SYMLINK_NOFOLLOW) && S_ISREG(st.st_mode))
				one->bytes += (uint64_t)st.st_size;
		}
		one->newest = !strcmp(first, newest);
		k->n++;
	}
	return 0;
}

/* Newest first. */
static int by_age(const void *a, const void *b)
{
	const struct kept *x = a, *y = b;

	if (x->newest != y->newest)
		return x->newest ? -1 : 1;
	if (x->seconds != y->seconds)
		return x->seconds > y->seconds ? -1 : 1;
	return strcmp(y->stem, x->stem);
}

static int remove_one(const struct keeping *k, const struct kept *one, struct err *err)
{
	char name[NAME_MAX + 16];

	for (size_t i = 0; i < SUFFIXES; i++) {
		name_of(one, i, name);
		if (unlinkat(k->dir, name, 0) && errno != ENOENT)
			return err_raise_sys(err, ERROR_FILE_UNREMOVABLE, errno, .path = name);
	}
	return 0;
}

/* The number of newer profiles of the same process. */
static unsigned int newer(const struct keeping *k, size_t at)
{
	unsigned int n = 0;

	for (size_t i = 0; i < at; i++)
		n += !strcmp(k->v[i].of, k->v[at].of);
	return n;
}

int guard_retain(const char *folder, unsigned int keep, uint64_t max_bytes, const char *newest,
		 struct err *err)
{
	_cleanup_(keeping_fini) struct keeping k = { .dir = -1 };
	uint64_t bytes = 0;
	bool full = false;
	int ret = 0;

	if (read_folder(&k, folder, newest, err))
		return -1;
	vec_sort(k.v, k.n, by_age);
	for (size_t i = 0; i < k.n; i++) {
		struct kept *one = &k.v[i];

		full |= max_bytes && bytes + one->bytes > max_bytes;
		if (one->newest || (!full && (!keep || newer(&k, i) < keep)))
			bytes += one->bytes;
		else if (remove_one(&k, one, err))
			ret = -1;
	}
	return ret;
}
