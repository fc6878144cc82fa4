// SPDX-License-Identifier: Apache-2.0
/*
 * Facts about jemalloc that are read only from a file: they hold for every process that maps it.
 * The owner of a process controls what its mapping of a file contains, so what was found in a
 * process holds only for that process.
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
	JEMALLOC_FILE_UNKNOWN, /* examine the process: the file cannot be read, or is
			        * inconclusive */
	JEMALLOC_FILE_NONE,
	JEMALLOC_FILE_SOME,
};

struct jemalloc_file;

struct jemalloc_file_look {
	pid_t pid;
	const struct map *map; /* a mapping of the process */
	bool dumps;	       /* find the function for dumps, which doubles the time */
	bool events;	       /* find the function for allocation events, which takes as long */
	bool debuginfod;       /* ask debuginfod for symbols found nowhere else */
};

/*
 * Examine the file of a mapping. `st` is filled by fstat(2), but undefined for
 * JEMALLOC_FILE_UNKNOWN. With JEMALLOC_FILE_SOME, the caller frees *out by jemalloc_file_free().
 * Reads only the file and, for its symbols, debug files in the host's /usr/lib/debug.
 */
enum jemalloc_file_holds jemalloc_file_read(struct jemalloc_file **out,
					    const struct jemalloc_file_look *look, struct stat *st);
void jemalloc_file_free(struct jemalloc_file *file);

/*
 * The result of jemalloc_file_read() as a message from a confined process. JEMALLOC_FILE_UNKNOWN
 * for an invalid message, or one with trailing data; the content is not checked against the file.
 */
void jemalloc_file_pack(enum jemalloc_file_holds holds, const struct jemalloc_file *file,
			struct pack *p);
enum jemalloc_file_holds jemalloc_file_unpack(struct jemalloc_file **out, struct unpack *u)
	__must_check;

/*
 * Is the file loaded as code in a process with these mappings, of which `code` is an executable one
 * of the file? It is not when it is merely mapped for reading.
 */
bool jemalloc_file_is_loaded(const struct jemalloc_file *file, const struct maps *maps,
			     const struct map *code);

/*
 * The file's only jemalloc, with the addresses in a process where `code` is an executable mapping
 * of the file, including the variables of its options; `image` is NULL, `text` empty, `linkage`
 * undefined. False if the file has several.
 */
bool jemalloc_file_only(const struct jemalloc_file *file, const struct map *code,
			struct jemalloc *je);

/*
 * Where to probe prof_dump of the file's jemalloc number `i`, if jemalloc_file_look.dumps was set;
 * see jemalloc_find_prof_dump(). This is its entry, or a cheaper place with the same registers and
 * stack (decode_probe()).
 */
struct jemalloc_file_dump {
	bool may_dump;	 /* it was built with profiling, or that is unknown */
	bool known;	 /* the fields below are valid */
	uint64_t offset; /* in the file */
	unsigned int file_arg;
};
size_t jemalloc_file_count(const struct jemalloc_file *file);
struct jemalloc_file_dump jemalloc_file_dump(const struct jemalloc_file *file, size_t i);

/*
 * The same for te_event_trigger, if jemalloc_file_look.events was set; see jemalloc_find_event().
 */
struct jemalloc_file_event {
	bool known;
	uint64_t offset; /* in the file */
};
struct jemalloc_file_event jemalloc_file_event(const struct jemalloc_file *file, size_t i);

#endif
