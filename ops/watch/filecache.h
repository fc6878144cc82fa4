// SPDX-License-Identifier: Apache-2.0
/*
 * What files say, so that hundreds of processes made of the same files are not
 * looked at one by one. It is read from the file itself, and thus holds for all
 * that map it (jemalloc/file.h): what a process shows of its files is
 * believed of that process alone, whoever runs it. A file is what its device
 * and inode say: a build id is what its maker says, and somebody else's file may
 * say the same.
 */
#ifndef OPS_WATCH_FILECACHE_H
#define OPS_WATCH_FILECACHE_H

#include "elf/image.h"
#include "jemalloc/file.h"
#include "jemalloc/jemalloc.h"
#include "process/maps.h"
#include "process/proc.h"

#include <stdbool.h>
#include <stdint.h>

/* Private to ops/: files that processes have mapped, told apart by device and inode. */

struct file_key {
	uint32_t dev_major, dev_minor;
	uint64_t inode;
};

/* Is it a part of a file that is run? */
bool file_is_code(const struct map *m);

struct filecache {
	void *files; /* tsearch(3) tree */
	/*
	 * The caller's to set: whether to look for where dumps pass by, and threads that have
	 * allocated so much, and to ask debuginfod.
	 */
	bool dumps, events, debuginfod;
	/*
	 * Whether each file is read in a confined child of its own, from a file system that
	 * answers: what such a child says of a file comes from that file, and from no other.
	 */
	bool confined;
};

enum filecache_answer { FILES_UNKNOWN, FILES_PLAIN, FILES_JEMALLOC };

struct known_file {
	enum jemalloc_file_holds holds;
	const struct jemalloc_file *file; /* owned by the cache; with JEMALLOC_FILE_SOME */
	unsigned int *note; /* the caller's to change, 0 at first; NULL for JEMALLOC_FILE_UNKNOWN */
	bool is_exact; /* its device and inode are what maps shows: not so on btrfs and overlayfs,
			* where different files may show the same */
	int handle;    /* O_PATH, of a confined cache: the file that was looked at; else -1 */
};

/*
 * What is known of the file of a mapping, which is looked into when it is the
 * first one of it. JEMALLOC_FILE_UNKNOWN where it cannot be.
 */
struct known_file filecache_know(struct filecache *c, const struct proc *p, const struct map *m);

/*
 * What the files tell that a process has mapped as code. FILES_JEMALLOC fills
 * `je`, but for what belongs to an image: its `image` is NULL and its `text`
 * empty; `path`, which `maps` owns, is that of its file.
 */
enum filecache_answer filecache_ask(struct filecache *c, const struct proc *p,
				    const struct maps *maps, struct jemalloc *je,
				    const char **path);

/* Have the images passed over whose files hold no jemalloc. */
void filecache_mark_plain(struct filecache *c, const struct proc *p, struct images *images,
			  const struct maps *maps);

void filecache_fini(struct filecache *c);

#endif
