// SPDX-License-Identifier: Apache-2.0
/* A file system of one's own (fuse(4)), which answers what it likes: a folder with one file. */
#ifndef TESTS_TARGET_FUSE_H
#define TESTS_TARGET_FUSE_H

#include <linux/fuse.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* What its file holds; where `bytes` is NULL, zeros. */
struct fuse_file {
	const char *bytes;
	size_t size;
};

#define FUSE_FILE_SIZE (1u << 20) /* unless the caller says what it holds */

/* "WHAT: reason", and the end. */
_Noreturn void fuse_die(const char *what);

/*
 * Mount it on `folder`; `device` is /dev/fuse, or a node like it. With `own` in a user and a mount
 * namespace that are made first, as any user may; else for all, as root. Returns its descriptor.
 */
int fuse_mount(const char *device, const char *folder, bool own);

/* Is this request answered? `read` is that of FUSE_READ, else NULL. */
typedef bool fuse_answers(const struct fuse_in_header *in, const struct fuse_read_in *read);

/*
 * Serve it in a child, which ends with this process, and the mount and all who wait for it with
 * that. The file is `file`, or for NULL one that begins as ELF does, and goes on with zeros. Takes
 * `fd`; the child's pid.
 */
pid_t fuse_serve(int fd, fuse_answers *answers, const struct fuse_file *file);

/*
 * A child of this process reads the page, and has it locked from then on, if that is never
 * answered. (Who is not of its namespaces would get an error from a request of its own, as the file
 * system has no name for its user.)
 */
void fuse_lock_page(const volatile char *page);

#endif
