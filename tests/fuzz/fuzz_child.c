// SPDX-License-Identifier: Apache-2.0
/*
 * The answers of confined children to short questions: the one that writes the flag, the one that
 * walks stacks, and the one that looks at the target's folders. Whatever a child that was taken
 * over sends must result in an answer or an error.
 */
#include "injector/injector.h"
#include "injector/walker.h"
#include "ops/target/inside.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct unpack said;

/* Instead of a child (--wrap). */
int __wrap_confined_start(struct confined *c, const struct confined_options *options,
			  confined_fn *fn, void *ctx, struct err *err);
int __wrap_confined_ask(struct confined *c, const struct pack *message, int fd, struct err *err);
int __wrap_confined_answer(struct confined *c, unsigned int timeout_ms, size_t max,
			   struct unpack *answer, int *fd, struct err *err);

int __wrap_confined_start(struct confined *c, const struct confined_options *options,
			  confined_fn *fn, void *ctx, struct err *err)
{
	(void)c, (void)options, (void)fn, (void)ctx, (void)err;
	return 0;
}

int __wrap_confined_ask(struct confined *c, const struct pack *message, int fd, struct err *err)
{
	(void)c, (void)message, (void)fd, (void)err;
	return 0;
}

int __wrap_confined_answer(struct confined *c, unsigned int timeout_ms, size_t max,
			   struct unpack *answer, int *fd, struct err *err)
{
	(void)timeout_ms, (void)max, (void)fd;
	*answer = said;
	if (!unpack_err(answer, err))
		return 0;
	c->broken = answer->bad;
	return -1;
}

/* The only thing that a question about a folder needs from a session. */
unsigned int session_left_ms(const struct session *s)
{
	(void)s;
	return 1;
}

static void poke(void)
{
	unsigned char flags[2] = { 2, 2 };
	struct err err = ERR_INIT;
	bool before = false, after = false;

	if (injector_poke(-1, 0x1000, true, 1, &before, &after, &err))
		return;
	memcpy(&flags[0], &before, 1);
	memcpy(&flags[1], &after, 1);
	if (flags[0] > 1 || flags[1] > 1)
		abort();
}

static void walk(void)
{
	static struct injector inj;
	static struct shared shared;
	static const struct arch_regs regs;
	struct tracer t = { .inj = &inj, .shared = &shared };
	struct err err = ERR_INIT;

	inj.walker = (struct confined)CONFINED_INIT;
	inj.opt.max_pause_ms = 1;
	if (walker_check(&t, &regs, 0x1000, 8, &err) && err.code != ERR_UNSAFE)
		abort();
}

static void look_inside(void)
{
	static const struct ops_options options = { .stop_fd = -1 };
	static const struct session session = { .options = &options };
	struct inside in = INSIDE_INIT;
	struct inside_dump dump;
	struct err err = ERR_INIT;
	uint64_t bytes;
	int handle;

	if (!inside_open(&in, &session, "/folder/name", true, &err) && in.dir != -1)
		abort();
	(void)!inside_absent(&in, false, &err);
	(void)inside_size(&in, &bytes);
	if (!inside_handle(&in, &handle, &err) && handle != -1)
		abort();
	if (inside_newest_dump(&in, &dump) &&
	    (!*dump.name || strnlen(dump.name, sizeof(dump.name)) == sizeof(dump.name) ||
	     strchr(dump.name, '/')))
		abort();
	inside_close(&in);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	said = (struct unpack){ data, data + size, false };
	poke();
	walk();
	look_inside();
	return 0;
}
