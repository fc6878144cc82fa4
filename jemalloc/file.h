// SPDX-License-Identifier: Apache-2.0
/*
 * What a file says of jemalloc, read from the file alone: that holds for every
 * process that has it mapped. Whoever owns a process may show of a file what he
 * likes, so what was seen in a process holds for that process and no other.
 */
#ifndef JEMALLOC_FILE_H
#define JEMALLOC_FILE_H

#include "base/pack.h"
#include "jemalloc/jemalloc.h"
#include "process/maps.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

enum jemalloc_file_holds {
	JEMALLOC_FILE_UNKNOWN, /* look at the process: the file cannot be read, or does not tell */
	JEMALLOC_FILE_NONE,
	JEMALLOC_FILE_SOME,
};

struct jemalloc_file;

struct jemalloc_file_look {
	pid_t pid;
	const struct map *map; /* one of the process's */
	bool dumps;	       /* look for where dumps pass by: takes as long as all the rest; */
	bool events;	       /* for where threads do that have allocated so much: no longer */
	bool debuginfod;       /* ask it for symbols found nowhere else */
};

/*
 * Look into the file of a mapping. `st` is what fstat(2) says of the file;
 * undefined for JEMALLOC_FILE_UNKNOWN. With JEMALLOC_FILE_SOME, *out is the
 * caller's, for jemalloc_file_free(). Touches nothing but the file and, for its
 * symbols, debug files in the host's /usr/lib/debug.
 */
enum jemalloc_file_holds jemalloc_file_read(struct jemalloc_file **out,
					    const struct jemalloc_file_look *look, struct stat *st);
void jemalloc_file_free(struct jemalloc_file *file);

/*
 * What jemalloc_file_read() found, as a message from a confined process. JEMALLOC_FILE_UNKNOWN for
 * one that makes no sense, or goes on after that; what it says was not checked against the file.
 */
void jemalloc_file_pack(enum jemalloc_file_holds holds, const struct jemalloc_file *file,
			struct pack *p);
enum jemalloc_file_holds jemalloc_file_unpack(struct jemalloc_file **out, struct unpack *u)
	__must_check;

/*
 * Is the file loaded in a process with these mappings, of which `code` is one of
 * it that may be run? Not so where it is only read.
 */
bool jemalloc_file_is_loaded(const struct jemalloc_file *file, const struct maps *maps,
			     const struct map *code);

/*
 * Its only jemalloc, as a process has it, of which `code` is a mapping of the
 * file that may be run: with the variables of its options; its `image` is NULL,
 * its `text` empty, its `linkage` undefined. False if the file has several.
 */
bool jemalloc_file_only(const struct jemalloc_file *file, const struct map *code,
			struct jemalloc *je);

/*
 * Where the prof_dump of its jemalloc number `i` is to be probed, see
 * jemalloc_find_prof_dump(), with jemalloc_file_look.dumps: at its entry, or where probing
 * costs less and the registers and the stack are those of the entry (decode_probe()).
 */
struct jemalloc_file_dump {
	bool may_dump;	 /* it was built with profiling, or that is unknown */
	bool known;	 /* what follows is; */
	uint64_t offset; /* in the file */
	unsigned int file_arg;
};
size_t jemalloc_file_count(const struct jemalloc_file *file);
struct jemalloc_file_dump jemalloc_file_dump(const struct jemalloc_file *file, size_t i);

/* The same of its te_event_trigger, see jemalloc_find_event(), with jemalloc_file_look.events. */
struct jemalloc_file_event {
	bool known;
	uint64_t offset; /* in the file */
};
struct jemalloc_file_event jemalloc_file_event(const struct jemalloc_file *file, size_t i);

#endif
