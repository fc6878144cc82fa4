// SPDX-License-Identifier: Apache-2.0
/* Private to ops/: files that processes have mapped, told apart by device and inode. */
#ifndef OPS_WATCH_FILEKEY_H
#define OPS_WATCH_FILEKEY_H

#include "elf/image.h"
#include "process/maps.h"

#include <stdbool.h>
#include <stdint.h>

struct file_key {
	uint32_t dev_major, dev_minor;
	uint64_t inode;
};

struct file_key file_key_of(const struct map *m);

/* For tsearch(3), of keys or of what begins with one. */
int file_key_compare(const void *a, const void *b);

/* Is it a part of a file that is run? */
bool file_is_code(const struct map *m);

/* Have those images passed over that are in files which are known to hold no jemalloc. */
typedef bool file_is_plain_fn(const void *ctx, const struct map *m);
void file_mark_plain(struct images *images, const struct maps *maps, file_is_plain_fn *is_plain,
		     const void *ctx);

#endif
