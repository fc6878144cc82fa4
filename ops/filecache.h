// SPDX-License-Identifier: Apache-2.0
/*
 * What is known of files after one process that maps them was looked at, so
 * that hundreds of processes made of the same files are not looked at again.
 * A file is what its device and inode say: a build id is what its maker says,
 * and somebody else's file may say the same. For the same reason a process
 * speaks of its files for those of its own user alone, and root's for all.
 */
#ifndef OPS_FILECACHE_H
#define OPS_FILECACHE_H

#include "target/image.h"
#include "target/jemalloc.h"
#include "target/maps.h"
#include "target/proc.h"

struct filecache {
	void *plain; /* tsearch(3) tree: files that hold no jemalloc */
	struct known_jemalloc *known;
	size_t n_known;
};

enum filecache_answer { FILES_UNKNOWN, FILES_PLAIN, FILES_JEMALLOC };

/*
 * What the files mapped as code tell. FILES_JEMALLOC fills `je`, but for what
 * belongs to an image: its `image` is NULL and its `text` empty; `path`, which
 * `maps` owns, is that of its file.
 */
enum filecache_answer filecache_ask(const struct filecache *c, const struct proc *p,
				    const struct maps *maps, struct jemalloc *je,
				    const char **path);

/* Have the images passed over whose files hold no jemalloc. */
void filecache_mark_plain(const struct filecache *c, const struct proc *p, struct images *images,
			  const struct maps *maps);

/*
 * Remember that a process with these mappings has no jemalloc, after
 * jemalloc_find() searched its images: those that it left unmarked hold one all
 * the same, as a library does that is mapped and not loaded.
 */
void filecache_add_plain(struct filecache *c, const struct proc *p, const struct images *images,
			 const struct maps *maps);

/* Remember the only jemalloc of a process with these mappings. */
void filecache_add(struct filecache *c, const struct proc *p, const struct images *images,
		   const struct maps *maps, const struct jemalloc *je);

void filecache_fini(struct filecache *c);

#endif
