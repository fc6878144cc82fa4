// SPDX-License-Identifier: Apache-2.0
#include "injector/injector.h"

#include "base/cleanup.h"
#include "sandbox/confined.h"

#include <errno.h>
#include <unistd.h>

#define ANSWER_MAX 4096

/* The writer's task. It parses nothing, and may hang on a page that is never delivered. */
struct poke {
	int mem;
	uint64_t addr;
	unsigned char want;
};

/* The memory of a program that exited or called execve(2) reads as end of file (proc(5)). */
static int transferred(ssize_t got, const char *what, struct err *err)
{
	if (got == 0)
		return err_raise(err, ERROR_FLAG_LOST, .what = what);
	return got < 0 ? err_raise_sys(err, ERROR_FLAG_FAILED, errno, .what = what) : 0;
}

static int read_flag(const struct poke *k, unsigned char *value, struct err *err)
{
	if (transferred(pread(k->mem, value, 1, (off_t)k->addr), "read", err))
		return -1;
	if (*value > 1)
		return err_raise(err, ERROR_FLAG_NO_BOOL, .number = *value);
	return 0;
}

static int write_flag(const struct poke *k, struct pack *p, struct err *err)
{
	unsigned char before, after;

	if (read_flag(k, &before, err))
		return -1;
	if (before != k->want &&
	    transferred(pwrite(k->mem, &k->want, 1, (off_t)k->addr), "write", err))
		return -1;
	if (read_flag(k, &after, err))
		return -1;
	pack_u64(p, before);
	pack_u64(p, after);
	return 0;
}

static void writer(void *ctx)
{
	_cleanup_(pack_fini) struct pack p = { 0 };
	struct err err = ERR_INIT;

	confined_reply(write_flag(ctx, &p, &err) != 0, &err, &p, -1);
}

int injector_poke(int mem, uint64_t addr, bool want, unsigned int timeout_ms, bool *before,
		  bool *after, struct err *err)
{
	_cleanup_(confined_end) struct confined c = CONFINED_INIT;
	struct poke k = { mem, addr, want };
	const struct confined_options options = {
		.what = "write the flag", .no_door = true, .fds = &k.mem, .n_fds = 1
	};
	struct unpack u;
	bool was, is;

	if (confined_start(&c, &options, writer, &k, err))
		return -1;
	if (confined_answer(&c, timeout_ms, ANSWER_MAX, &u, NULL, err)) {
		if (c.broken)
			err->code = ERR_LOST;
		return -1;
	}
	was = unpack_bool(&u);
	is = unpack_bool(&u);
	if (!unpack_done(&u))
		return err_raise(err, ERROR_FLAG_MALFORMED);
	*before = was;
	*after = is;
	return 0;
}
