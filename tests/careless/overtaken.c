// SPDX-License-Identifier: Apache-2.0
/*
 * The overtaken build: what a profile or statistics could do if they had found a way to run code in
 * the process that parses them. An attack precedes each parser: it creates files, runs a program,
 * reads a secret, tries to put names into the cache, and makes the system calls of
 * overtaken_calls.h. What it achieves is in the folder OVERTAKEN, and is named in the file
 * OVERTAKEN.gains, which the controller writes, as a confined process cannot. It prints text that a
 * terminal would obey. With OVERTAKEN_FREE, the process is not confined: then all of this works.
 *
 * With OVERTAKEN_RESULT, it only hands over the file of that name as its result. With
 * OVERTAKEN_TRUSTED, the controller accepts that.
 */
#include "base/cleanup.h"
#include "io/archive.h"
#include "io/errand.h"
#include "ops/stats_text.h"
#include "ops/target/mapped.h"
#include "profile/parse.h"
#include "sandbox/fence.h"
#include "symbols/cache.h"
#include "tests/careless/overtaken_calls.h"

#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

static void name_of(char path[PATH_MAX], const char *name)
{
	snprintf(path, PATH_MAX, "%s/%s", getenv("OVERTAKEN"), name);
}

/* --- gains --- */

#define GAINS_MAX 64

/* Shared with the children. */
static struct gains {
	size_t n;
	const char *names[GAINS_MAX]; /* in the program, which is the same in all processes */
} * gains;
static pid_t controller;

__attribute__((constructor)) static void begin(void)
{
	void *shared = mmap(NULL, sizeof(*gains), PROT_READ | PROT_WRITE,
			    MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (shared == MAP_FAILED)
		abort();
	gains = shared;
	controller = getpid();
}

static void gained(const char *name)
{
	for (size_t i = 0; i < gains->n; i++)
		if (gains->names[i] == name)
			return;
	if (gains->n < GAINS_MAX)
		gains->names[gains->n++] = name;
}

__attribute__((destructor)) static void write_gains(void)
{
	_cleanup_(cleanup_fclose) FILE *f = NULL;
	char path[PATH_MAX];

	if (getpid() != controller || !getenv("OVERTAKEN"))
		return;
	snprintf(path, sizeof(path), "%s.gains", getenv("OVERTAKEN"));
	f = fopen(path, "we");
	for (size_t i = 0; f && i < gains->n; i++)
		fprintf(f, "%s\n", gains->names[i]);
}

/* --- the attack --- */

static void mark(bool achieved, const char *name)
{
	_cleanup_(cleanup_close) int fd = -1;
	char path[PATH_MAX];

	name_of(path, name);
	if (achieved)
		fd = open(path, O_WRONLY | O_CREAT, 0600);
}

static void hand_over(const char *path)
{
	_cleanup_(pack_fini) struct pack done = { 0 };
	int fd = door_below("/", path, UINT64_MAX);

	pack_u64(&done, ERRAND_DONE);
	confined_reply(false, NULL, &done, fd);
	poll(NULL, 0, -1);
}

static void attack(void)
{
	static const unsigned char id[20] = { 0x0b, 0xad };
	_cleanup_(cleanup_close) int secret = -1;
	_cleanup_(cleanup_close) int sock = -1;
	_cleanup_(cleanup_close) int names = -1;
	char path[PATH_MAX], command[PATH_MAX + 16];
	pid_t victim = (pid_t)atoi(getenv("OVERTAKEN_VICTIM"));

	if (getenv("OVERTAKEN_RESULT"))
		hand_over(getenv("OVERTAKEN_RESULT"));
	mark(true, "made");
	name_of(path, "ran");
	snprintf(command, sizeof(command), "touch %s", path);
	(void)!system(command);
	name_of(path, "secret");
	secret = open(path, O_RDONLY);
	mark(secret >= 0, "read");
	sock = socket(AF_INET, SOCK_STREAM, 0);
	mark(sock >= 0, "connected");
	mark(!kill(getppid(), 0), "signalled");
	names = memfd_create("names", MFD_CLOEXEC);
	if (write(names, "poison", 6) == 6)
		symbol_cache_store(id, sizeof(id), names, 6);
	name_of(path, "program");
	overtaken_calls(victim, path, gained);
	if (getenv("OVERTAKEN_FREE"))
		door_use(-1); /* it opens files itself */
	name_of(path, "secret");
	overtaken_requests(getenv("OVERTAKEN"), path, gained);
}

/* Ask the controller for a file that was never named to it. */
static void ask(void)
{
	_cleanup_(cleanup_close) int fd = -1;
	char path[PATH_MAX];
	struct err opened;

	err_raise(&opened, ERROR_IMAGE_NOT_FOUND, .path = "the controller opened the secret");
	name_of(path, "secret");
	fd = errand_open(path);
	if (fd >= 0)
		errand_warn(NULL, &opened);
	/*
	 * ESC ], U+009B and U+009D, which are control characters, U+202E, and a truncated character
	 */
	fputs("\033]0;owned\a \302\233 \302\235 \342\200\256 \342\200\n", stdout);
}

int __real_profile_parse_pieces(struct profile *out, profile_more_fn *read, void *ctx,
				const struct profile_options *options, struct err *err);
int __wrap_profile_parse_pieces(struct profile *out, profile_more_fn *read, void *ctx,
				const struct profile_options *options, struct err *err);

int __wrap_profile_parse_pieces(struct profile *out, profile_more_fn *read, void *ctx,
				const struct profile_options *options, struct err *err)
{
	attack();
	ask();
	return __real_profile_parse_pieces(out, read, ctx, options, err);
}

int __real_bundle_find(const char *bytes, size_t len, struct bundle_file *files, size_t n,
		       struct err *err);
int __wrap_bundle_find(const char *bytes, size_t len, struct bundle_file *files, size_t n,
		       struct err *err);

int __wrap_bundle_find(const char *bytes, size_t len, struct bundle_file *files, size_t n,
		       struct err *err)
{
	attack();
	ask();
	return __real_bundle_find(bytes, len, files, n, err);
}

int __real_stats_text_write(enum ops_stats_format format, const struct stats_of *v, size_t n,
			    FILE *out, struct err *err);
int __wrap_stats_text_write(enum ops_stats_format format, const struct stats_of *v, size_t n,
			    FILE *out, struct err *err);

int __wrap_stats_text_write(enum ops_stats_format format, const struct stats_of *v, size_t n,
			    FILE *out, struct err *err)
{
	attack();
	return __real_stats_text_write(format, v, n, out, err);
}

int __real_mapped_complete(int fd, const struct proc *p, uint64_t deadline_ms, struct err *err);
int __wrap_mapped_complete(int fd, const struct proc *p, uint64_t deadline_ms, struct err *err);

int __wrap_mapped_complete(int fd, const struct proc *p, uint64_t deadline_ms, struct err *err)
{
	attack();
	return __real_mapped_complete(fd, p, deadline_ms, err);
}

int __real_fence_confined(struct err *err);
int __wrap_fence_confined(struct err *err);

int __wrap_fence_confined(struct err *err)
{
	return getenv("OVERTAKEN_FREE") ? 0 : __real_fence_confined(err);
}

void __real_fence_leave_root(void);
void __wrap_fence_leave_root(void);

void __wrap_fence_leave_root(void)
{
	if (!getenv("OVERTAKEN_FREE"))
		__real_fence_leave_root();
}

int __real_confined_answer(struct confined *c, unsigned int timeout_ms, size_t max,
			   struct unpack *answer, int *fd, struct err *err);
int __wrap_confined_answer(struct confined *c, unsigned int timeout_ms, size_t max,
			   struct unpack *answer, int *fd, struct err *err);

int __wrap_confined_answer(struct confined *c, unsigned int timeout_ms, size_t max,
			   struct unpack *answer, int *fd, struct err *err)
{
	_cleanup_(cleanup_close) int came = -1;

	return __real_confined_answer(c, timeout_ms, max, answer,
				      fd || !getenv("OVERTAKEN_TRUSTED") ? fd : &came, err);
}

int __real_setrlimit(int resource, const struct rlimit *limit);
int __wrap_setrlimit(int resource, const struct rlimit *limit);

int __wrap_setrlimit(int resource, const struct rlimit *limit)
{
	return resource == RLIMIT_FSIZE && getenv("OVERTAKEN_FREE")
		       ? 0
		       : __real_setrlimit(resource, limit);
}
