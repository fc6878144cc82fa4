// SPDX-License-Identifier: Apache-2.0
/*
 * dumper BOARD FIFO: a program that writes heap profiles of itself on request. It reads lines from
 * FIFO, and answers each with a line in FIFO.said:
 *
 *	dump PATH		prof.dump; the answer is what mallctl returned
 *	auto			prof.dump without a name: jemalloc derives one from its prefix
 *	dumps N PATH		N dumps to PATH; the answer is the number of successes
 *	cold PATH		prof.dump with the name in a page that was never touched
 *	thread PATH		prof.dump by another thread, called "other"
 *	fork PATH		prof.dump by a child
 *	files N PATH		no dump: create and remove the same file N times, in the two ways
 *				in which jemalloc creates one
 *	grow N			allocate N blocks of 4 KB, and keep them
 *	stacks N		the same, each by another stack
 *	gdump			let jemalloc dump at new maxima
 *	exit			exit(3)
 *
 * The first field of each line is a word, and PATH is the rest of the line. jemalloc's names may
 * have any prefix that the tests use.
 */
#include "tests/target/victim.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define LINE_SIZE 8192
#define BEAT_MS 20
#define BLOCK 4096
#define COUNT_MAX 1000000
#define STACK_BITS 20

typedef int mallctl_fn(const char *, void *, size_t *, void *, size_t);
#define NAMED(name) extern mallctl_fn name __attribute__((weak))
NAMED(mallctl);
NAMED(je_mallctl);
NAMED(_rjem_mallctl);
NAMED(duckdb_je_mallctl);
/* Used if the program's malloc is not jemalloc's. */
extern void *je_malloc(size_t) __attribute__((weak));

/* Its name ends like mallctl's, so that it can be mistaken for it. */
static __attribute__((noinline)) mallctl_fn *find_mallctl(void)
{
	if (mallctl)
		return mallctl;
	if (je_mallctl)
		return je_mallctl;
	if (_rjem_mallctl)
		return _rjem_mallctl;
	if (duckdb_je_mallctl)
		return duckdb_je_mallctl;
	fprintf(stderr, "no mallctl\n");
	exit(2);
}

/* Its symbol is that of a C++ function: dumper::dump(char const*). */
static __attribute__((noinline)) int dump_to(const char *path) __asm__("_ZN6dumper4dumpEPKc");
static int dump_to(const char *path)
{
	return find_mallctl()("prof.dump", NULL, NULL, &path, sizeof(path));
}

static unsigned long dump(const char *path)
{
	return (unsigned long)dump_to(path);
}

static unsigned long dumps(unsigned long n, const char *path)
{
	unsigned long good = 0;

	for (unsigned long i = 0; i < n; i++)
		good += dump_to(path) == 0;
	return good;
}

#ifdef HIDE_CREAT
/* Linked with --wrap: jemalloc's code creates files by a call that cannot be recognized there. */
static int (*volatile make_file)(const char *, int, ...) = open;
int __wrap_creat(const char *path, mode_t mode);
int __wrap_creat(const char *path, mode_t mode)
{
	return make_file(path, O_WRONLY | O_CREAT | O_TRUNC, mode);
}
#endif

/* The name is in a mapped file page that is not present: only a fault brings it in. */
static unsigned long dump_cold(const char *path)
{
	int fd = memfd_create("name", MFD_CLOEXEC);
	unsigned long ret;
	char *page;

	if (fd < 0 || write(fd, path, strlen(path) + 1) < 0)
		exit(2);
	page = mmap(NULL, LINE_SIZE, PROT_READ, MAP_PRIVATE, fd, 0);
	if (page == MAP_FAILED)
		exit(2);
	ret = dump(page);
	munmap(page, LINE_SIZE);
	close(fd);
	return ret;
}

static void *other(void *path)
{
	pthread_setname_np(pthread_self(), "other");
	return (void *)dump(path);
}

static unsigned long dump_in_thread(char *path)
{
	pthread_t thread;
	void *ret;

	if (pthread_create(&thread, NULL, other, path) != 0)
		exit(2);
	pthread_join(thread, &ret);
	return (unsigned long)ret;
}

static unsigned long dump_in_child(const char *path)
{
	int status = 0;
	pid_t child = fork();

	if (child == 0)
		_exit((int)dump(path));
	waitpid(child, &status, 0);
	return (unsigned long)WEXITSTATUS(status);
}

/* Like jemalloc's creat(2), or what the C library does where there is no such call. */
static unsigned long make_files(unsigned long n, const char *path)
{
	unsigned long made = 0;

	for (unsigned long i = 0; i < n; i++) {
		int fd = i % 2 ? creat(path, 0644) : open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);

		made += fd >= 0;
		close(fd);
		unlink(path);
	}
	return made;
}

static unsigned long grow(unsigned long n)
{
	unsigned long made = 0;

	for (unsigned long i = 0; i < n; i++) {
		char *volatile block = je_malloc ? je_malloc(BLOCK) : malloc(BLOCK);

		if (!block)
			break;
		memset(block, 1, BLOCK);
		made++;
	}
	return made;
}

/* The bits of `path` choose which of two calls is made at each step. */
static __attribute__((noinline)) unsigned long descend(unsigned int depth, unsigned long path)
{
	unsigned long made;

	if (!depth)
		return grow(1);
	if (path & 1) {
		made = descend(depth - 1, path >> 1);
		__asm__ volatile("# odd");
	} else {
		made = descend(depth - 1, path >> 1);
		__asm__ volatile("# even");
	}
	return made;
}

static unsigned long grow_stacks(unsigned long n)
{
	unsigned long made = 0;

	for (unsigned long i = 0; i < n; i++)
		made += descend(STACK_BITS, i);
	return made;
}

static unsigned long gdump(void)
{
	bool on = true;

	return (unsigned long)find_mallctl()("prof.gdump", NULL, NULL, &on, sizeof(on));
}

/* Parse "N REST", the arguments of commands with a number. */
static unsigned long count_of(char **rest)
{
	unsigned long n = strtoul(*rest, rest, 10);

	*rest += **rest == ' ';
	return n > COUNT_MAX ? COUNT_MAX : n;
}

static unsigned long obey(const char *word, char *rest)
{
	if (!strcmp(word, "dump"))
		return dump(rest);
	if (!strcmp(word, "auto"))
		return (unsigned long)find_mallctl()("prof.dump", NULL, NULL, NULL, 0);
	if (!strcmp(word, "dumps")) {
		unsigned long n = count_of(&rest);

		return dumps(n, rest);
	}
	if (!strcmp(word, "cold"))
		return dump_cold(rest);
	if (!strcmp(word, "thread"))
		return dump_in_thread(rest);
	if (!strcmp(word, "fork"))
		return dump_in_child(rest);
	if (!strcmp(word, "files")) {
		unsigned long n = count_of(&rest);

		return make_files(n, rest);
	}
	if (!strcmp(word, "grow"))
		return grow(count_of(&rest));
	if (!strcmp(word, "stacks"))
		return grow_stacks(count_of(&rest));
	if (!strcmp(word, "gdump"))
		return gdump();
	if (!strcmp(word, "exit"))
		exit(0);
	fprintf(stderr, "no such command: %s\n", word);
	exit(2);
}

static void serve(FILE *in, FILE *said)
{
	static char line[LINE_SIZE];
	char *rest = line;

	if (!fgets(line, sizeof(line), in))
		exit(2);
	line[strcspn(line, "\n")] = '\0';
	strsep(&rest, " ");
	fprintf(said, "%lu\n", obey(line, rest ? rest : ""));
	fflush(said);
}

int main(int argc, char **argv)
{
	struct pollfd pfd = { .events = POLLIN };
	char name[4096];
	FILE *in, *said;

	if (argc != 3) {
		fprintf(stderr, "usage: dumper BOARD FIFO\n");
		return 2;
	}
	victim_open(argv[1]);
	snprintf(name, sizeof(name), "%s.said", argv[2]);
	in = fopen(argv[2], "r+");
	said = fopen(name, "a");
	if (!in || !said)
		return 2;
	setvbuf(in, NULL, _IONBF, 0); /* unbuffered, so that poll(2) sees all input */
	pfd.fd = fileno(in);
	victim_ready(1);
	for (;;) {
		victim_beat(0);
		if (poll(&pfd, 1, BEAT_MS) > 0)
			serve(in, said);
	}
}
