// SPDX-License-Identifier: Apache-2.0
/* A symbol table separate from its image, as left by strip(1) and in packages of distributions. */
#ifndef ELF_IMAGE_DEBUG_H
#define ELF_IMAGE_DEBUG_H

#include "base/err.h"

#include <libelf.h>
#include <stdbool.h>
#include <stddef.h>

/*
 * Debug data is often compressed (SHF_COMPRESSED, elf(5)). libdw decompresses all known sections
 * into memory, hundreds of megabytes for a database, and then uses little of that. In a mapped
 * file, unused parts take no memory, and used ones can be released.
 */

/*
 * A temporary file with the decompressed debug data of `packed`, whose descriptor is `fd`, without
 * the sections that names and lines do not need. It has no name, is in $TMPDIR, or else in
 * /var/tmp, and vanishes when *plain_fd is closed, which the caller does after elf_end(). NULL,
 * with *plain_fd unchanged, if nothing in it is compressed by zlib, it is invalid, there is not
 * enough space (as much again must stay free), or no such file can be created (door_temporary()):
 * then read `packed` itself. Call it under image_guard() when the owner of the file may truncate
 * it.
 */
Elf *image_plain(Elf *packed, int fd, int *plain_fd);

struct image;
struct image_debug;

/* Close everything. It may be used again. */
void image_debug_fini(struct image_debug *debug);

/*
 * Use the table of the next source that has one: .gnu_debugdata of the image (xz), a debug file by
 * build ID and one by .gnu_debuglink, each in the target's root, then on the host, and finally
 * debuginfod, if `server` is not NULL. If debuginfod has no file, `server` receives the reason,
 * otherwise it is unchanged. From then on image_symbol() and image_each_symbol() include its
 * symbols, and no longer those of the previous source. A file is accepted only with the image's
 * build ID; one by .gnu_debuglink needs the right CRC, and the same build ID if both have one.
 * False when no source is left.
 */
bool image_debug_next(struct image *img, struct err *server);

/*
 * dwz(1) moves debug data shared by several files to a separate file. Call this within
 * image_with_debug(), with the same `debug`: returns the file that the data needs, owned by the
 * image until the next call; NULL when it needs none, or none with the right build ID is found in
 * the places for debug files. `path` receives its name, "" when none is needed: unescaped text.
 */
struct Elf *image_common(struct image *img, bool debug, struct err *server, char *path,
			 size_t size);

#endif
