// SPDX-License-Identifier: Apache-2.0
/*
 * The folder for what this program keeps until the next boot: root's /run/jeprof-ctl, or the
 * user's below XDG_RUNTIME_DIR or /run/user/UID, or /tmp/jeprof-ctl-UID. Its owner's alone: who
 * else may write to it could have us change a process, or keep us from it.
 */
#ifndef BASE_PRIVATE_H
#define BASE_PRIVATE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

/* Its path, cut to size - 1 bytes. */
void private_path(char *buf, size_t size);

/* Does it belong to us, and may nobody else write to it? */
bool private_is_ours(const struct stat *st);

/* Make a folder of our own, elsewhere, with those above it that are missing. False with errno. */
bool private_make(const char *path);

/*
 * Open it, and make it first if `create` is set. A descriptor of the caller's, or -1 with errno:
 * EPERM when others may write to it.
 */
int private_open(bool create);

#endif
