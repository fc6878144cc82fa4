// SPDX-License-Identifier: Apache-2.0
/*
 * Private to sandbox/: decides from a file's location whether only root, or the caller, can have
 * written it.
 */
#ifndef SANDBOX_VOUCH_H
#define SANDBOX_VOUCH_H

#include <stdbool.h>
#include <sys/types.h>

/*
 * Is `handle` on a file system that is served by another process or machine, according to
 * statfs(2)? Reading it may block forever. An overlayfs does not show that.
 */
bool vouch_is_served(int handle);

/*
 * Is it a system file: below /usr, /bin, /sbin or /lib*, with nothing mounted on the way, and it
 * and each parent directory owned by root and writable only by root? Root's files elsewhere may
 * belong to a container: without a user namespace its root is the real root.
 *
 * A caller other than root also trusts its own files, if each parent directory is its own or
 * root's.
 */
bool vouch_file(int fd, uid_t caller);

#endif
