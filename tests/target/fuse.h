// SPDX-License-Identifier: Apache-2.0
/* Our own file system (fuse(4)), a folder with one file, which answers whatever it likes. */
#ifndef TESTS_TARGET_FUSE_H
#define TESTS_TARGET_FUSE_H

#include <linux/fuse.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* The contents of its file; zeros if `bytes` is NULL. */
struct fuse_file {
	const char *bytes;
	size_t size;
};

#define FUSE_FILE_SIZE (1u << 20) /* unless the caller provides the contents */

/* Print "WHAT: reason", and exit. */
_Noreturn void fuse_die(const char *what);

/*
 * Mount it on `folder`; `device` is /dev/fuse, or a node like it. With `own`, do that in a new user
 * and a new mount namespace, as any user may; otherwise for everybody, as root. Return the
 * descriptor.
 */
int fuse_mount(const char *device, const char *folder, bool own);

/* Whether to answer this request. `read` is that of FUSE_READ, otherwise NULL. */
typedef bool fuse_answers(const struct fuse_in_header *in, const struct fuse_read_in *read);

/*
 * Serve it in a child, which is killed with this process; that also ends the mount, and releases
 * the processes that wait for it. The file is `file`, or for NULL one that begins like an ELF file
 * and continues with zeros. Takes over `fd`; returns the child's pid.
 */
pid_t fuse_serve(int fd, fuse_answers *answers, const struct fuse_file *file);

/*
 * Have a child read the page, which stays locked from then on if the read is never answered. (A
 * process outside of its namespaces would get an error for its own request, as the file system
 * cannot represent its user.)
 */
void fuse_lock_page(const volatile char *page);

#endif
