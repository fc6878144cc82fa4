// SPDX-License-Identifier: Apache-2.0
#include "ops/pick.h"

#include "base/text.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define LIST_SIZE 400
#define SHOWN_SIZE 256

/* The kernel marks the names of files that are gone. */
static bool is_named(const struct image *img, const char *path, const char *name)
{
	static const char gone[] = " (deleted)";
	size_t len = strlen(name);

	return !strcmp(path, name) ||
	       (img->is_deleted && !strncmp(path, name, len) && !strcmp(path + len, gone));
}

static bool is_meant(const struct jemalloc *je, const char *name)
{
	const char *path = je->image->path;

	return is_named(je->image, path, name) || is_named(je->image, text_file_name(path), name) ||
	       (*name && !strcmp(je->prefix, name));
}

/* "/usr/bin/a (je_), /usr/lib/libjemalloc.so.2 (no prefix)". */
static void list_all(const struct jemalloc *v, size_t n, char *buf, size_t size)
{
	size_t used = 0;

	buf[0] = '\0';
	for (size_t i = 0; i < n && used < size; i++) {
		char path[SHOWN_SIZE], prefix[SHOWN_SIZE];

		output_safe(v[i].image->path, path, sizeof(path));
		output_safe(v[i].prefix, prefix, sizeof(prefix));
		used += (size_t)snprintf(buf + used, size - used, "%s%s (%s)", i ? ", " : "", path,
					 *prefix ? prefix : "no prefix");
	}
}

int pick_jemalloc(struct jemalloc *v, size_t n, const char *name, struct jemalloc **picked,
		  struct err *err)
{
	char list[LIST_SIZE], safe[SHOWN_SIZE];
	struct jemalloc *found = NULL;
	size_t hits = 0;

	for (size_t i = 0; i < n && (name || !i); i++) {
		if (name && !is_meant(&v[i], name))
			continue;
		found = found ? found : &v[i];
		hits++;
	}
	if (hits == 1) {
		*picked = found;
		return 0;
	}
	list_all(v, n, list, sizeof(list));
	output_safe(name ? name : "", safe, sizeof(safe));
	if (hits)
		err_set(err, ERR_USAGE, "--image %s means %zu of its jemallocs: %s", safe, hits,
			list);
	else
		err_set(err, ERR_NOJEMALLOC, "--image %s is none of its jemallocs: %s", safe, list);
	return err_fix(err, "name one by its path or prefix; jeprof-ctl list --json has them all");
}
