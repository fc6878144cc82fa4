// SPDX-License-Identifier: Apache-2.0
/*
 * Private to elf/. Debug data is often packed (SHF_COMPRESSED, elf(5)).
 * libdw unpacks all sections that it knows into memory, hundreds of megabytes
 * for a database, of which it then looks at little. In a file, mapped, what is
 * not looked at takes no memory, and what was can be given back.
 */
#ifndef ELF_IMAGE_PLAIN_H
#define ELF_IMAGE_PLAIN_H

#include <libelf.h>

/*
 * A file of the debug data of `packed`, whose descriptor is `fd`, as it was
 * before: without the sections that names and lines do not need. It has no
 * name, lies in $TMPDIR, or else in /var/tmp, and is gone when *plain_fd is
 * closed, which the caller does after elf_end(). NULL, with *plain_fd
 * untouched, when nothing in it is packed by zlib, it is not sane, or there is
 * no room, as much again left free: then it is to be read as it is. To be
 * called under image_guard() when the owner of the file may cut it short.
 */
Elf *image_plain(Elf *packed, int fd, int *plain_fd);

#endif
