// SPDX-License-Identifier: Apache-2.0
/*
 * A jemalloc that is none: a library that exports the names, and answers with
 * what is least expected. The environment variable LIE chooses.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* What jeprof-ctl looks for in the file. */
__attribute__((used)) static const char mark[] = "<jemalloc>: ";
__attribute__((used)) static const char trace[] = "heap_v2/%zu";
__attribute__((used)) static const char release[] =
	"5.3.0-0-g54eaed1d8b56b1aa528be3bdd1877e59c56fa90c";

void (*malloc_message)(void *, const char *);
static const char *lie;
static char huge[1 << 20];

static bool is_text(const char *name)
{
	return !strcmp(name, "config.malloc_conf") || !strcmp(name, "opt.prof_prefix");
}

int mallctl(const char *name, void *oldp, size_t *oldlenp, void *newp, size_t newlen);
int mallctlnametomib(const char *name, size_t *mib, size_t *len);
int mallctlbymib(const size_t *mib, size_t len, void *oldp, size_t *oldlenp, void *newp,
		 size_t newlen);
void malloc_stats_print(void (*write_cb)(void *, const char *), void *opaque, const char *opts);

__attribute__((constructor)) static void choose(void)
{
	lie = getenv("LIE") ? getenv("LIE") : "";
	memset(huge, 'A', sizeof(huge));
}

static bool is(const char *what)
{
	return strcmp(lie, what) == 0;
}

static int answer_version(void *oldp)
{
	const char *text = release;

	if (is("version-escapes"))
		text = "5.3.0\033[2J\033]0;owned\a\n\r";
	if (is("version-endless"))
		text = huge;
	if (is("version-nowhere"))
		text = (const char *)(uintptr_t)0x10;
	if (is("version-null"))
		text = NULL;
	memcpy(oldp, &text, sizeof(text));
	return 0;
}

static int answer_dump(void *newp)
{
	const char *path;
	int fd;

	if (!newp || is("dump-nothing"))
		return 0;
	if (is("dump-hangs"))
		for (;;)
			pause();
	if (is("dump-crashes"))
		__builtin_trap();
	if (is("dump-strange"))
		return -123456;
	memcpy(&path, newp, sizeof(path));
	fd = open(path, O_WRONLY | O_TRUNC);
	if (fd < 0)
		return EFAULT;
	if (is("dump-nonsense") && write(fd, "#!/bin/sh\necho owned\n", 21) != 21)
		return EFAULT;
	if (is("dump-endless"))
		for (int i = 0; i < 64 && write(fd, huge, sizeof(huge)) > 0; i++)
			usleep(100000);
	close(fd);
	return 0;
}

int mallctl(const char *name, void *oldp, size_t *oldlenp, void *newp, size_t newlen)
{
	int on;

	(void)newlen;
	if (is("busy-loop"))
		for (;;)
			__asm__ volatile("");
	if (is("always-fails"))
		return ENOENT;
	if (oldp && strcmp(name, "version") == 0)
		return answer_version(oldp);
	if (strcmp(name, "prof.dump") == 0)
		return answer_dump(newp);
	if (oldp && is_text(name)) {
		memcpy(oldp, &(const char *){ "" }, sizeof(char *));
		return 0;
	}
	on = strcmp(name, "opt.prof_gdump") != 0; /* all is, but what nobody should turn on */
	if (oldp && oldlenp)
		memset(oldp, is("odd-bools") ? 0xff : on, *oldlenp);
	return 0;
}

int mallctlnametomib(const char *name, size_t *mib, size_t *len)
{
	(void)name, (void)mib, (void)len;
	return ENOENT;
}

int mallctlbymib(const size_t *mib, size_t len, void *oldp, size_t *oldlenp, void *newp,
		 size_t newlen)
{
	(void)mib, (void)len, (void)oldp, (void)oldlenp, (void)newp, (void)newlen;
	return ENOENT;
}

void malloc_stats_print(void (*write_cb)(void *, const char *), void *opaque, const char *opts)
{
	(void)write_cb, (void)opaque, (void)opts;
	do {
		if (write(2, "{\"jemalloc\":", 12) != 12)
			break;
	} while (is("stats-endless"));
}
