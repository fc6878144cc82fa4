// SPDX-License-Identifier: Apache-2.0
/*
 * What is known about files, so that hundreds of processes made of the same files are not inspected
 * one by one. It is read from the file itself, and so holds for all that map it (jemalloc/file.h):
 * what a process shows of its files is believed of that process alone, regardless of its user. A
 * file is identified by device and inode: build ids are chosen when files are built, so another
 * user's file may have the same one.
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

/* Private to ops/: identifies a file that processes have mapped, by device and inode. */

struct file_key {
	uint32_t dev_major, dev_minor;
	uint64_t inode;
};

/* Is it an executable part of a file? */
bool file_is_code(const struct map *m);

struct filecache {
	void *files; /* tsearch(3) tree */
	/*
	 * Set by the caller: whether to locate the function that dumps, and the one that is called
	 * after a thread has allocated so much, and whether to ask debuginfod.
	 */
	bool dumps, events, debuginfod;
	bool emitters; /* also set by the caller: whether to look for probes otel_memory */
	/*
	 * Read each file in a confined child of its own, from a file system that answers: what such
	 * a child says of a file comes from that file, and from no other.
	 */
	bool confined;
};

enum filecache_answer { FILES_UNKNOWN, FILES_PLAIN, FILES_JEMALLOC };

struct known_file {
	enum jemalloc_file_holds holds;
	const struct jemalloc_file *file; /* owned by the cache; with JEMALLOC_FILE_SOME */
	unsigned int *note; /* the caller's, 0 at first; NULL for JEMALLOC_FILE_UNKNOWN */
	/*
	 * Device and inode are as in maps: not so on btrfs and overlayfs, where different files may
	 * show the same ones.
	 */
	bool is_exact;
	int handle; /* O_PATH, of a confined cache: the file that was read; else -1 */
};

/*
 * What is known of the file of a mapping, which is read on its first use. JEMALLOC_FILE_UNKNOWN if
 * it cannot be.
 */
struct known_file filecache_know(struct filecache *c, const struct proc *p, const struct map *m);

/*
 * What is known from the files that a process has mapped as code. FILES_JEMALLOC fills `je`, except
 * for what belongs to an image: its `image` is NULL and its `text` empty; `path`, which `maps`
 * owns, is that of its file.
 */
enum filecache_answer filecache_ask(struct filecache *c, const struct proc *p,
				    const struct maps *maps, struct jemalloc *je,
				    const char **path);

/*
 * The first mapping of code of a file with probes otel_memory; NULL if there is none, or they are
 * not looked for.
 */
const struct map *filecache_emitter(struct filecache *c, const struct proc *p,
				    const struct maps *maps);

/* Make searches skip the images whose files hold no jemalloc. */
void filecache_mark_plain(struct filecache *c, const struct proc *p, struct images *images,
			  const struct maps *maps);

void filecache_fini(struct filecache *c);

#endif
