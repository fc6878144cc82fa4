// SPDX-License-Identifier: Apache-2.0
#include "tests/target/musl_compat.h"

#include <stdarg.h>
#include <sys/syscall.h>
#include <unistd.h>

ssize_t preadv2(int fd, const struct iovec *v, int n, off_t offset, int flags)
{
	return syscall(SYS_preadv2, fd, v, n, offset, 0, flags);
}

int fprintf_checked(FILE *f, int level, const char *format, ...)
{
	va_list ap;
	int n;

	(void)level;
	va_start(ap, format);
	n = vfprintf(f, format, ap);
	va_end(ap);
	return n;
}
