// SPDX-License-Identifier: Apache-2.0
#include "base/own_limits.h"

#include "base/cleanup.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#define KIB ((rlim_t)1024)
#define STACK_USUAL (8192 * KIB)
/*
 * Measured: at most 373 KiB in each command on programs with up to a hundred libraries, and 420 KiB
 * for a name nested up to the limit of libiberty's demangler.
 */
#define STACK_LEAST (1024 * KIB)
/*
 * Address space and data in addition to those at the program's start. Measured: 16 MiB for a small
 * target in each command except `watch`; mapping large files takes more, and then fails with
 * ENOMEM.
 */
#define MEMORY_LEAST (32768 * KIB)
/* More stack than any call uses while the limit is lent, so that the stack need not grow. */
#define TOUCHED 65536

/* The original values: set once, before there is a second thread. */
static struct rlimit usual_stack = { RLIM_INFINITY, RLIM_INFINITY };
static char usual_oom_score[16]; /* "": it was not changed */

#define OOM_SCORE "/proc/self/oom_score_adj"
#define OOM_SCORE_FIRST "1000"

/* Capped by the hard limit. */
static rlim_t needed_stack(void)
{
	rlim_t most = usual_stack.rlim_max < STACK_USUAL ? usual_stack.rlim_max : STACK_USUAL;

	return usual_stack.rlim_cur < STACK_USUAL ? most : usual_stack.rlim_cur;
}

static int take_stack(struct err *err)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_STACK, &usual_stack))
		return 0;
	limit = (struct rlimit){ needed_stack(), usual_stack.rlim_max };
	if (limit.rlim_cur >= STACK_LEAST && !setrlimit(RLIMIT_STACK, &limit))
		return 0;
	err_raise(err, ERROR_STACK_LIMITED, .number = (int64_t)(limit.rlim_cur / KIB),
		  .limit = (int64_t)(STACK_LEAST / KIB));
	err->own = true;
	return err_advise(err, FIX_RAISE_STACK_LIMIT);
}

bool own_limits_of_memory(char *buf, size_t size)
{
	static const struct {
		int resource;
		const char *name;
	} of[] = { { RLIMIT_AS, "RLIMIT_AS" }, { RLIMIT_DATA, "RLIMIT_DATA" } };
	size_t used = 0;

	for (size_t i = 0; i < sizeof(of) / sizeof(*of) && used < size; i++) {
		struct rlimit limit;

		if (getrlimit((__rlimit_resource_t)of[i].resource, &limit) ||
		    limit.rlim_cur == RLIM_INFINITY)
			continue;
		used += (size_t)snprintf(buf + used, size - used, "%s%s is %llu KiB",
					 used ? ", " : "", of[i].name,
					 (unsigned long long)(limit.rlim_cur / KIB));
	}
	return used;
}

/* Test both limits, and overcommit, by a mapping that is not written to. */
static int take_memory(struct err *err)
{
	void *room = mmap(NULL, MEMORY_LEAST, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	char limits[96];

	if (room != MAP_FAILED) {
		munmap(room, MEMORY_LEAST);
		return 0;
	}
	if (!own_limits_of_memory(limits, sizeof(limits)))
		return err_raise_sys(err, ERROR_NO_MEMORY_TO_BEGIN, errno);
	err_raise(err, ERROR_MEMORY_LIMITED, .text = limits,
		  .number = (int64_t)(MEMORY_LEAST / KIB));
	err->own = true;
	return err_advise(err, FIX_LIFT_MEMORY_LIMITS);
}

int own_limits_take(struct err *err)
{
	return take_stack(err) || take_memory(err) ? -1 : 0;
}

static void set_oom_score(const char *adj)
{
	_cleanup_(cleanup_close) int fd = open(OOM_SCORE, O_WRONLY | O_CLOEXEC);

	if (fd >= 0)
		(void)!write(fd, adj, strlen(adj));
}

void own_limits_die_first(void)
{
	_cleanup_(cleanup_close) int fd = open(OOM_SCORE, O_RDONLY | O_CLOEXEC);

	if (fd < 0 || read(fd, usual_oom_score, sizeof(usual_oom_score) - 1) <= 0)
		return;
	set_oom_score(OOM_SCORE_FIRST);
}

static void set_soft_stack(rlim_t soft)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_STACK, &limit))
		return;
	limit.rlim_cur = soft;
	setrlimit(RLIMIT_STACK, &limit);
}

__attribute__((noinline)) static void touch_stack(void)
{
	volatile char room[TOUCHED];

	for (size_t i = 0; i < sizeof(room); i += 4096)
		room[i] = 0;
}

void own_limits_lend(void)
{
	touch_stack();
	set_soft_stack(usual_stack.rlim_cur);
	if (*usual_oom_score)
		set_oom_score(usual_oom_score);
}

void own_limits_take_back(void)
{
	set_soft_stack(needed_stack());
	if (*usual_oom_score)
		set_oom_score(OOM_SCORE_FIRST);
}
