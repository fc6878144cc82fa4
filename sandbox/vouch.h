// SPDX-License-Identifier: Apache-2.0
/* Private to sandbox/: by its location, can only root, or the caller, have written a file? */
#ifndef SANDBOX_VOUCH_H
#define SANDBOX_VOUCH_H

#include <stdbool.h>
#include <sys/types.h>

/*
 * Of a file system whose pages come from another process or machine, by what statfs(2) says of
 * `handle`? Reading it may take for ever. An overlayfs does not tell.
 */
bool vouch_is_served(int handle);

/*
 * Is it one of the system's own files: below /usr, /bin, /sbin or /lib*, with nothing mounted on
 * the way, where it and each folder above it belong to root and are writable by root alone?
 * Root's files elsewhere may be of a container: its root is root where it has no user namespace.
 *
 * A caller who is not root trusts his own files, too, where each folder is his or root's.
 */
bool vouch_file(int fd, uid_t caller);

#endif
