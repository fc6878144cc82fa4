// SPDX-License-Identifier: Apache-2.0
/*
 * A symbol table that lies outside of the image it is of,
 * as strip(1) and those who package programs leave it.
 */
#ifndef ELF_IMAGE_DEBUG_H
#define ELF_IMAGE_DEBUG_H

#include "base/err.h"

#include <libelf.h>
#include <stdbool.h>
#include <stddef.h>

/*
 * Debug data is often packed (SHF_COMPRESSED, elf(5)).
 * libdw unpacks all sections that it knows into memory, hundreds of megabytes
 * for a database, of which it then looks at little. In a file, mapped, what is
 * not looked at takes no memory, and what was can be given back.
 */

/*
 * A file of the debug data of `packed`, whose descriptor is `fd`, as it was
 * before: without the sections that names and lines do not need. It has no
 * name, lies in $TMPDIR, or else in /var/tmp, and is gone when *plain_fd is
 * closed, which the caller does after elf_end(). NULL, with *plain_fd
 * untouched, when nothing in it is packed by zlib, it is not sane, or there is
 * no room, as much again left free, or no such file can be had (door_temporary()): then it is to
 * be read as it is. To be
 * called under image_guard() when the owner of the file may cut it short.
 */
Elf *image_plain(Elf *packed, int fd, int *plain_fd);

struct image;
struct image_debug;

/* Close what is open of it. It may be used again. */
void image_debug_fini(struct image_debug *debug);

/*
 * Take the table of the next place that has one: .gnu_debugdata of the image
 * (xz), a debug file by build id and one by .gnu_debuglink, each in the
 * target's root, then on the host, and at last debuginfod, if `server` is not
 * NULL; that receives then why debuginfod gave nothing, and stays as it is
 * else. From then on image_symbol() and image_each_symbol() know its symbols
 * too, and those of the place before no more. A file counts only with the
 * image's build id; one of .gnu_debuglink needs the right CRC, and the build
 * id only when both have one. False when no place is left.
 */
bool image_debug_next(struct image *img, struct err *server);

/*
 * dwz(1) moves what the debug data of several files have in common to a file
 * of its own. To be called within image_with_debug(), with its `debug`: the file
 * that the data needs, owned by the image until the next call; NULL when it
 * needs none, or none of the right build id is found, where the debug files
 * are looked for. `path` is what its name is, "" when none is needed: raw text.
 */
struct Elf *image_common(struct image *img, bool debug, struct err *server, char *path,
			 size_t size);

#endif
