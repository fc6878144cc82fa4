// SPDX-License-Identifier: Apache-2.0
/*
 * Private to elf/: is a file one that this machine itself vouches for? A build
 * id is what the maker of a file says it is, and a process sees what files it
 * likes: mounts of its own, FUSE, which tells any owner. What is kept for
 * others comes from files that no other user could have made.
 */
#ifndef ELF_IMAGE_VOUCH_H
#define ELF_IMAGE_VOUCH_H

#include <stdbool.h>

/*
 * Is the open file the one that our own root directory has at `path`, and does
 * it belong to root, or to us, and may no other user write to it?
 */
bool image_vouch_file(int fd, const char *path);

#endif
