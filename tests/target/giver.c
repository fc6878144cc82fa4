// SPDX-License-Identifier: Apache-2.0
/*
 * A library that pretends to be jemalloc, and returns data that are cheap to make but expensive to
 * read. LIE chooses the kind, ARG the size or the file.
 */
#include "tests/target/pretended.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#define CHUNK (1u << 20)

static const char head[] = "heap_v2/1\n  t*: 1: 1 [0: 0]\n";
static const char title[] = "\nMAPPED_LIBRARIES:\n";
static const char *lie, *arg;
static char shared[64]; /* the path of a file that should keep changing */
static char chunk[CHUNK];

static int is(const char *what)
{
	return !strcmp(lie, what);
}

static int put(int fd, const char *text)
{
	return write(fd, text, strlen(text)) == (ssize_t)strlen(text);
}

/* Keep changing the file after it was handed over. */
static void *change(void *unused)
{
	off_t size = atoll(arg), n = 0; /* it never has the same size twice */
	int fd;

	(void)unused;
	while (!*(volatile char *)shared)
		usleep(1000);
	fd = open(shared, O_RDWR);
	*shared = '\0';
	while (fd >= 0) {
		if (is("grows") ? pwrite(fd, chunk, 4096, lseek(fd, 0, SEEK_END)) < 0
				: ftruncate(fd, size / 2) ||
					  pwrite(fd, chunk, CHUNK, size / 2 + ++n) < 0)
			break;
		usleep(100);
	}
	return NULL;
}

/* The calling thread has its own file table. */
static void share(int fd)
{
	snprintf(shared, sizeof(shared), "/proc/self/task/%d/fd/%d", gettid(), fd);
	for (int i = 0; *(volatile char *)shared && i < 1000; i++)
		usleep(1000);
}

__attribute__((constructor)) static void choose(void)
{
	pthread_t thread;

	lie = getenv("LIE") ? getenv("LIE") : "";
	arg = getenv("ARG") ? getenv("ARG") : "";
	memset(chunk, '\n', sizeof(chunk));
	if (is("grows") || is("changes"))
		pthread_create(&thread, NULL, change, NULL);
}

/* There is a hole between the first line and the last. */
static int sparse(int fd, const char *first)
{
	off_t size = atoll(arg);

	return put(fd, first) && !ftruncate(fd, size) && pwrite(fd, "\n", 1, size - 1) == 1;
}

static int fill(int fd)
{
	off_t size = atoll(arg);

	for (off_t at = 0; at < size; at += CHUNK)
		if (write(fd, chunk, CHUNK) != CHUNK)
			return 0;
	return 1;
}

static int dump_into(int fd)
{
	if (is("sparse"))
		return sparse(fd, head);
	if (is("sparse-title"))
		return sparse(fd, "heap_v2/1\n  t*: 1: 1 [0: 0]\n\nMAPPED_LIBRARIES:\n");
	if (!put(fd, head) || !put(fd, title))
		return 0;
	if (is("large"))
		return fill(fd);
	if (is("grows") || is("changes")) {
		if (!fill(fd))
			return 0;
		share(fd);
	}
	return 1;
}

/* When the call returns, the path is not a regular file of its own. */
static int plant(const char *path)
{
	unlink(path);
	if (is("device"))
		return !mknod(path, S_IFCHR | 0600, makedev(1, 5));
	if (is("fifo"))
		return !mkfifo(path, 0600);
	if (is("symlink"))
		return !symlink(arg, path);
	if (is("hardlink"))
		return !link(arg, path);
	return -1;
}

static int dump(void *newp)
{
	const char *path;
	int fd, planted;

	if (!newp)
		return 0;
	memcpy(&path, newp, sizeof(path));
	if (strncmp(path, "/proc/", 6) != 0) {
		planted = plant(path);
		if (planted >= 0)
			return planted ? 0 : EFAULT;
	}
	fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0644);
	if (fd < 0 || !dump_into(fd))
		return EFAULT;
	if (is("foreign") && fchown(fd, 12345, 12345))
		return EFAULT;
	close(fd);
	return 0;
}

int mallctl(const char *name, void *oldp, size_t *oldlenp, void *newp, size_t newlen)
{
	const char *text = strcmp(name, "version") ? "" : release;

	(void)newlen;
	if (!strcmp(name, "prof.dump"))
		return dump(newp);
	if (oldp && (!strcmp(name, "version") || !strcmp(name, "config.malloc_conf") ||
		     !strcmp(name, "opt.prof_prefix")))
		memcpy(oldp, &text, sizeof(text));
	else if (oldp && oldlenp)
		memset(oldp, strcmp(name, "opt.prof_gdump") != 0, *oldlenp);
	return 0;
}

void malloc_stats_print(void (*write_cb)(void *, const char *), void *opaque, const char *opts)
{
	static char text[65536];
	int fd = open(arg, O_RDONLY);
	ssize_t n = fd < 0 ? 0 : read(fd, text, sizeof(text));

	(void)write_cb, (void)opaque, (void)opts;
	if (is("stats-sparse"))
		n = ftruncate(2, atoll(arg)) ? -1 : 0;
	if (n > 0 && write(2, text, (size_t)n) != n)
		_exit(3);
	if (fd >= 0)
		close(fd);
}
