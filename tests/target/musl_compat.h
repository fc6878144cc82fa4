// SPDX-License-Identifier: Apache-2.0
/* What victims use of glibc that musl 1.2.3 does not have: included before each of them. */
#ifndef TESTS_TARGET_MUSL_COMPAT_H
#define TESTS_TARGET_MUSL_COMPAT_H

#include <limits.h>
#include <stdio.h>
#include <sys/uio.h>

#ifndef PTHREAD_STACK_MIN
#define PTHREAD_STACK_MIN 2048
#endif

ssize_t preadv2(int fd, const struct iovec *v, int n, off_t offset, int flags);

/* For Debian's libseccomp.a. */
int fprintf_checked(FILE *f, int level, const char *format, ...) __asm__("__fprintf_chk");

#endif
