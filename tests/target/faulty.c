// SPDX-License-Identifier: Apache-2.0
/*
 * For tests/drivers/fault-loop: preloaded into jeprof-ctl, it makes the N-th pread of the tracer
 * fail, or kills the tracer there. strace(1) cannot distinguish these reads from those of the
 * confined process that looks first. The tracer is the process that calls setsid(2). FAULTY is
 * "FILE N error" or "FILE N kill"; the first byte of FILE, which is one byte long, is set to 1 when
 * that happened.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/types.h>
#include <unistd.h>

static volatile char *hit;
static int at, reads;
static bool kills, is_tracer;
static ssize_t (*real_pread)(int, void *, size_t, off_t);
static pid_t (*real_setsid)(void);

__attribute__((constructor)) static void begin(void)
{
	const char *text = getenv("FAULTY");
	char path[4096], how[8];
	int fd;

	*(void **)&real_pread = dlsym(RTLD_NEXT, "pread64");
	*(void **)&real_setsid = dlsym(RTLD_NEXT, "setsid");
	if (!text || sscanf(text, "%4095s %d %7s", path, &at, how) != 3)
		abort();
	kills = !strcmp(how, "kill");
	fd = open(path, O_RDWR | O_CLOEXEC);
	hit = fd < 0 ? MAP_FAILED : mmap(NULL, 1, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (hit == MAP_FAILED)
		abort();
	close(fd);
}

pid_t setsid(void)
{
	is_tracer = true;
	return real_setsid();
}

static ssize_t read_at(int fd, void *buf, size_t len, off_t offset)
{
	if (!is_tracer || ++reads != at)
		return real_pread(fd, buf, len, offset);
	*hit = 1;
	if (kills)
		raise(SIGKILL);
	errno = EIO;
	return -1;
}

ssize_t pread(int fd, void *buf, size_t len, off_t offset)
{
	return read_at(fd, buf, len, offset);
}

ssize_t pread64(int fd, void *buf, size_t len, off64_t offset)
{
	return read_at(fd, buf, len, offset);
}

ssize_t __pread_chk(int fd, void *buf, size_t len, off_t offset, size_t size);
ssize_t __pread_chk(int fd, void *buf, size_t len, off_t offset, size_t size)
{
	if (len > size)
		abort();
	return read_at(fd, buf, len, offset);
}

ssize_t __pread64_chk(int fd, void *buf, size_t len, off64_t offset, size_t size);
ssize_t __pread64_chk(int fd, void *buf, size_t len, off64_t offset, size_t size)
{
	if (len > size)
		abort();
	return read_at(fd, buf, len, offset);
}
