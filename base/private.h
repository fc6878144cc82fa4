// SPDX-License-Identifier: Apache-2.0
/*
 * The directory for files kept until the next boot: /run/jeprof-ctl for root, else below
 * XDG_RUNTIME_DIR or /run/user/UID, or /tmp/jeprof-ctl-UID. Private to its owner: anyone else with
 * write access could make us change a process, or prevent it.
 */
#ifndef BASE_PRIVATE_H
#define BASE_PRIVATE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

/* Its path, truncated to size - 1 bytes. */
void private_path(char *buf, size_t size);

/* Is it owned by us, and writable only by us? */
bool private_is_ours(const struct stat *st);

/* Create a private directory elsewhere, with missing parents. False with errno. */
bool private_make(const char *path);

/*
 * Open it, and create it first if `create` is set. Returns a descriptor owned by the caller, or -1
 * with errno: EPERM when it is writable by others.
 */
int private_open(bool create);

#endif
