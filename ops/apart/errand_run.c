// SPDX-License-Identifier: Apache-2.0
#include "ops/apart/errand_run.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/text.h"
#include "io/graphviz.h"
#include "io/memory_file.h"
#include "io/received.h"
#include "process/proc.h"
#include "symbols/cache.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define FILE_MAX (UINT64_C(16) << 30) /* for files made by a child */
#define NO_DEADLINE_MS 86400000u

/* Time until the deadline; 0 when it has passed. */
static unsigned int errand_left_ms(const struct errand_rules *rules)
{
	uint64_t now = now_ms();

	if (!rules->deadline_ms)
		return NO_DEADLINE_MS;
	return rules->deadline_ms > now ? (unsigned int)(rules->deadline_ms - now) : 0;
}

/* The output of a child is as untrusted as its input, and the child may still have it open. */
int errand_check(int fd, const struct errand_rules *rules, uint64_t *bytes, struct err *err)
{
	const struct received_rules r = { .what = "the result",
					  .max_bytes = FILE_MAX,
					  .deadline_ms = rules->deadline_ms };

	if (fd < 0)
		return err_raise(err, ERROR_NO_RESULT);
	return memory_file_seal(fd, err) || received_check(fd, &r, bytes, err) ? -1 : 0;
}

/* 4 GiB suffice for what is packed, and for debug data; for the rest see bench/report. */
uint64_t errand_memory(uint64_t file_bytes)
{
	return (UINT64_C(4) << 30) + 4 * (file_bytes < FILE_MAX ? file_bytes : FILE_MAX);
}

uint64_t errand_file_max(uint64_t file_bytes)
{
	uint64_t max = CONFINED_FILE + 4 * (file_bytes < FILE_MAX ? file_bytes : FILE_MAX);

	return max < FILE_MAX ? max : FILE_MAX;
}

/* --- the errands; each answers, or returns false when the question is invalid --- */

struct serving {
	struct confined *c;
	const struct errand_rules *rules;
	struct unpack *u; /* the rest of the question */
	int *file;	  /* the last one that was requested */
};

static bool answer(const struct serving *s, const struct pack *p, int fd)
{
	struct err ignored;

	return confined_ask(s->c, p, fd, &ignored) == 0;
}

static bool answer_err(const struct serving *s, bool failed, const struct err *err, int fd)
{
	_cleanup_(pack_fini) struct pack p = { 0 };

	pack_err(&p, failed ? err : NULL);
	return answer(s, &p, failed ? -1 : fd);
}

static bool serve_file(const struct serving *s)
{
	struct err err = ERR_INIT;
	bool failed;

	if (!unpack_done(s->u))
		return false;
	cleanup_close(s->file);
	*s->file = -1;
	failed = memory_file_make(s->file, &err) != 0;
	return answer_err(s, failed, &err, *s->file);
}

static int open_input(const struct errand_rules *r, const char *path)
{
	for (size_t i = 0; i < r->n_inputs; i++)
		if (!strcmp(path, r->inputs[i]))
			return r->memory ? memory_file_reopen(r->memory[i]) : errand_open(path);
	return r->base && !strcmp(path, r->base) ? errand_open(path) : -1;
}

static bool serve_open(const struct serving *s)
{
	_cleanup_(cleanup_free) char *path = unpack_text(s->u, 1u << 20);
	_cleanup_(pack_fini) struct pack p = { 0 };
	_cleanup_(cleanup_close) int fd = -1;

	if (!unpack_done(s->u) || !path)
		return false;
	errno = EPERM;
	fd = open_input(s->rules, path);
	pack_u64(&p, fd < 0 ? (uint64_t)errno : 0);
	return answer(s, &p, fd);
}

static bool serve_write(const struct serving *s)
{
	_cleanup_(cleanup_free) char *path = unpack_text(s->u, 1u << 20);
	struct output *to = NULL;
	struct err err = ERR_INIT;
	uint64_t bytes;

	if (!unpack_done(s->u) || !path)
		return false;
	for (size_t i = 0; i < s->rules->n_outputs && !to; i++)
		if (!strcmp(s->rules->outputs[i].path, path))
			to = &s->rules->outputs[i];
	if (!to)
		return false;
	return answer_err(s,
			  errand_check(*s->file, s->rules, &bytes, &err) ||
				  output_commit(to, *s->file, bytes, s->rules->deadline_ms, &err),
			  &err, -1);
}

static bool serve_draw(const struct serving *s)
{
	_cleanup_(cleanup_close) int picture = -1;
	struct err err = ERR_INIT;
	char type[8], name[16];
	uint64_t bytes;
	bool failed;

	unpack_into(s->u, type, sizeof(type));
	snprintf(name, sizeof(name), "x.%s", type);
	if (!unpack_done(s->u) || !graphviz_type(name))
		return false;
	failed = errand_check(*s->file, s->rules, &bytes, &err) ||
		 errand_draw(graphviz_type(name), *s->file, &picture, &err);
	return answer_err(s, failed, &err, picture);
}

static bool serve_names(const struct serving *s)
{
	unsigned char id[ERRAND_ID_MAX];
	size_t len = unpack_max(s->u, sizeof(id));
	_cleanup_(pack_fini) struct pack p = { 0 };
	_cleanup_(cleanup_close) int fd = -1;

	unpack_bytes(s->u, id, len);
	if (!unpack_done(s->u))
		return false;
	fd = symbol_cache_open(id, len);
	pack_u64(&p, fd >= 0);
	return answer(s, &p, fd);
}

static bool serve_look_up(const struct serving *s)
{
	_cleanup_(errand_asked_fini) struct errand_asked a = { .offsets = NULL };
	_cleanup_(pack_fini) struct pack p = { 0 };
	struct errand_found found = { .fd = -1 };
	bool answered;

	if (!errand_unpack_places(s->u, &a))
		return false;
	if (s->rules->look_up)
		s->rules->look_up(&a.p, s->rules, &found);
	errand_pack_found(&p, &found);
	answered = answer(s, &p, found.fd);
	cleanup_close(&found.fd);
	return answered;
}

static bool serve_warn(const struct serving *s)
{
	_cleanup_(pack_fini) struct pack p = { 0 };
	struct err warning = ERR_INIT;

	if (!unpack_err(s->u, &warning) || !unpack_done(s->u))
		return false;
	if (s->rules->on_warning)
		s->rules->on_warning(s->rules->ctx, &warning);
	pack_u64(&p, 0);
	return answer(s, &p, -1);
}

static bool serve_limit(const struct serving *s)
{
	_cleanup_(pack_fini) struct pack p = { 0 };
	struct limit limit = { 0 };
	char comm[PROC_COMM_SIZE];
	pid_t pid = (pid_t)unpack_max(s->u, INT32_MAX);

	unpack_into(s->u, comm, sizeof(comm));
	if (!unpack_done(s->u))
		return false;
	pack_u64(&p, errand_limit(pid, comm, &limit));
	pack_u64(&p, limit.limit);
	pack_u64(&p, limit.used);
	return answer(s, &p, -1);
}

int errand_run(struct confined *c, const struct errand_rules *rules, struct unpack *result, int *fd,
	       struct err *err)
{
	static bool (*const serves[ERRANDS])(const struct serving *) = {
		[ERRAND_FILE] = serve_file,   [ERRAND_OPEN] = serve_open,
		[ERRAND_WRITE] = serve_write, [ERRAND_DRAW] = serve_draw,
		[ERRAND_NAMES] = serve_names, [ERRAND_LOOK_UP] = serve_look_up,
		[ERRAND_WARN] = serve_warn,   [ERRAND_LIMIT] = serve_limit,
	};
	_cleanup_(cleanup_close) int file = -1;

	for (;;) {
		struct unpack u;
		uint64_t op;
		struct serving s = { .c = c, .rules = rules, .u = &u, .file = &file };

		if (confined_answer(c, errand_left_ms(rules), ERRAND_ANSWER_MAX, &u, NULL, err))
			return -1;
		op = unpack_max(&u, ERRANDS - 1);
		if (!u.bad && op == ERRAND_DONE) {
			*result = u;
			if (fd)
				*fd = take_fd(file);
			return 0;
		}
		if (u.bad || op >= ERRANDS || !serves[op] || !serves[op](&s))
			return err_raise(err, ERROR_CHILD_MALFORMED, .what = c->what);
	}
}
