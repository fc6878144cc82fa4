// SPDX-License-Identifier: Apache-2.0
#include "ops/watch/filekey.h"

struct file_key file_key_of(const struct map *m)
{
	return (struct file_key){ m->dev_major, m->dev_minor, m->inode };
}

int file_key_compare(const void *a, const void *b)
{
	const struct file_key *x = a, *y = b;

	if (x->inode != y->inode)
		return x->inode < y->inode ? -1 : 1;
	if (x->dev_minor != y->dev_minor)
		return x->dev_minor < y->dev_minor ? -1 : 1;
	return (x->dev_major > y->dev_major) - (x->dev_major < y->dev_major);
}

bool file_is_code(const struct map *m)
{
	return (m->prot & MAP_X) && m->inode;
}

void file_mark_plain(struct images *images, const struct maps *maps, file_is_plain_fn *is_plain,
		     const void *ctx)
{
	for (size_t i = 0; i < images->n; i++) {
		const struct map *m = maps_find(maps, images->v[i].start);

		images->v[i].is_plain = m && m->inode && is_plain(ctx, m);
	}
}
