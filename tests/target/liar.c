// SPDX-License-Identifier: Apache-2.0
/*
 * A fake jemalloc: a library that exports the names, and gives unexpected answers. The environment
 * variable LIE chooses which.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* jeprof-ctl looks for these in the file. */
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
	static const char profile[] = "heap_v2/524288\n  t*: 0: 0 [0: 0]\n\nMAPPED_LIBRARIES:\n";
	static unsigned int dumps;
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
	if (is("third-dump-ends-thread")) {
		if (++dumps == 3)
			syscall(SYS_exit, 0);
		if (write(fd, profile, strlen(profile)) < 0)
			return EFAULT;
	}
	if (is("dump-nonsense") && write(fd, "#!/bin/sh\necho owned\n", 21) != 21)
		return EFAULT;
	if (is("dump-endless"))
		for (int i = 0; i < 64 && write(fd, huge, sizeof(huge)) > 0; i++)
			usleep(100000);
	close(fd);
	return 0;
}

/* --- LIE=random: random answers, chosen by SEED; most of them are nearly true --- */

static uint64_t chance(void)
{
	static uint64_t state;

	if (!state)
		state = strtoull(getenv("SEED") ? getenv("SEED") : "1", NULL, 10) * 2 + 1;
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state * UINT64_C(0x2545F4914F6CDD1D);
}

static bool one_in(unsigned int n)
{
	return chance() % n == 0;
}

static uint64_t random_number(void)
{
	static const uint64_t odd[] = {
		0, 1, UINT64_MAX, INT64_MAX, (uint64_t)INT64_MIN, UINT32_MAX, 1ull << 32, 1ull << 63
	};

	return one_in(2) ? odd[chance() % (sizeof(odd) / sizeof(*odd))] : chance() >> chance() % 64;
}

static void random_bytes(char *bytes, size_t len)
{
	for (size_t i = 0; i < len; i++)
		bytes[i] = (char)(one_in(4) ? chance() : ' ' + chance() % 95);
}

/* A random address, a huge text, one at the end of its array, random bytes, or the truth. */
static const char *random_text(const char *truth)
{
	static char text[4096];

	switch (chance() % 8) {
	case 0:
		return (const char *)(uintptr_t)random_number();
	case 1:
		return huge;
	case 2:
		return huge + sizeof(huge) - 1 - chance() % 16;
	case 3:
		random_bytes(text, sizeof(text));
		return text;
	default:
		return truth;
	}
}

/* A profile, or statistics, with some bytes changed, or truncated, or something else altogether. */
static void random_write(int fd, const char *truth)
{
	char text[8192];
	size_t len = strlen(truth);

	snprintf(text, sizeof(text), "%s", truth);
	for (uint64_t i = one_in(2) ? chance() % 16 : 0; i > 0; i--)
		text[chance() % len] = (char)chance();
	if (one_in(4))
		len = chance() % len;
	if (one_in(8))
		random_bytes(text, len);
	if (write(fd, text, len) != (ssize_t)len || (one_in(16) && ftruncate(fd, (off_t)chance())))
		return;
	for (uint64_t i = one_in(8) ? chance() % 64 : 0; i > 0; i--)
		if (write(fd, huge, sizeof(huge)) < 0)
			return;
}

static int random_dump(void *newp)
{
	static const char truth[] =
		"heap_v2/524288\n  t*: 28: 106 [0: 0]\n  t0: 28: 106 [0: 0]\n"
		"@ 0x7f0000001234 0x7f0000005678 0x401234\n  t*: 13: 52 [0: 0]\n  t0: 13: 52 [0: "
		"0]\n"
		"@ 0x401234 0xffffffffffffffff\n  t*: 15: 54 [0: 0]\n\nMAPPED_LIBRARIES:\n"
		"00400000-00500000 r-xp 00000000 08:01 123 /usr/bin/true\n"
		"7f0000000000-7f0000100000 r-xp 00000000 08:01 124 "
		"/usr/lib/x86_64-linux-gnu/libc.so.6\n";
	const char *path;
	int fd;

	if (!newp || one_in(8))
		return (int)random_number();
	memcpy(&path, newp, sizeof(path));
	fd = open(path, O_WRONLY | O_TRUNC | O_CREAT, 0644);
	if (fd < 0)
		return EFAULT;
	random_write(fd, truth);
	close(fd);
	return one_in(8) ? (int)random_number() : 0;
}

static int random_answer(const char *name, void *oldp, size_t *oldlenp, void *newp)
{
	const char *text;
	uint64_t number = one_in(3) ? random_number() : strcmp(name, "opt.prof_gdump") != 0;

	if (!strcmp(name, "prof.dump"))
		return random_dump(newp);
	if (oldp && (!strcmp(name, "version") || is_text(name))) {
		text = random_text(is_text(name) ? "" : release);
		memcpy(oldp, &text, sizeof(text));
	} else if (oldp && oldlenp && *oldlenp <= 8) {
		memcpy(oldp, &number, *oldlenp);
	} else if (oldp && oldlenp && *oldlenp <= 256) {
		random_bytes(oldp, *oldlenp);
	}
	if (oldlenp && one_in(8))
		*oldlenp = random_number();
	return one_in(12) ? (int)random_number() : 0;
}

static void random_stats(void)
{
	random_write(2,
		     "{\"jemalloc\": {\"version\": \"5.3.0-0-g54eaed1d8b56\", \"arenas\": "
		     "{\"narenas\": 8}, \"stats\": {\"allocated\": 11048128, \"active\": 11407360, "
		     "\"metadata\": -5, \"resident\": 1e300, \"mapped\": \"\\u0007\"}}}\n");
}

int mallctl(const char *name, void *oldp, size_t *oldlenp, void *newp, size_t newlen)
{
	static const char unwinders[] = "config.prof_";
	int on;

	(void)newlen;
	if (is("random"))
		return random_answer(name, oldp, oldlenp, newp);
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
	if (is("unwinder-unknown") && !strncmp(name, unwinders, strlen(unwinders)))
		return ENOENT;
	on = strcmp(name, "opt.prof_gdump") != 0; /* all is on but what is dangerous */
	if (is("compiler-unwinds") || is("libunwind-unwinds"))
		on &= strncmp(name, unwinders, strlen(unwinders)) != 0 ||
		      (is("libunwind-unwinds") && !strcmp(name, "config.prof_libunwind"));
	if (oldp && oldlenp)
		memset(oldp, on && is("odd-bools") ? 0xff : on, *oldlenp);
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
	if (is("random")) {
		random_stats();
		return;
	}
	do {
		if (write(2, "{\"jemalloc\":", 12) != 12)
			break;
	} while (is("stats-endless"));
}
