// SPDX-License-Identifier: Apache-2.0
#include "ops/target/look.h"

#include "arch/machine.h"
#include "base/cleanup.h"
#include "jemalloc/answer.h"

#include <elf.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define EXEC_RETRY_MS 5
#define EXEC_TRIES 20
/* A process has at most 16,384 images of 4,096 ranges, with a path each. */
#define ANSWER_MAX ((size_t)128 << 20)

enum question { ASK_SITE, ASK_VALUES, ASK_ACTIVE, ASK_DUMP, ASK_OTHER, QUESTIONS };

/* --- in the child --- */

/* In the middle of an execve(2) no program is mapped for a moment. */
static int read_images(struct session *s, struct err *err)
{
	const struct timespec nap = { .tv_nsec = EXEC_RETRY_MS * 1000000L };

	for (unsigned int tries = 0; tries < EXEC_TRIES; tries++) {
		maps_fini(&s->maps);
		if (!maps_read(&s->maps, s->proc.mm_pid, err) &&
		    !images_read(&s->images, s->proc.mm_pid, &s->maps, err))
			return 0;
		if (err->code != ERR_LOST || !proc_alive(&s->proc))
			break;
		proc_read_forget();
		nanosleep(&nap, NULL);
	}
	return -1;
}

static int find(struct session *s, struct unpack *nothing, struct pack *p, struct err *err)
{
	struct err why = ERR_INIT;

	(void)nothing;
	if (read_images(s, err))
		return -1;
	for (size_t i = 0; i < s->images.n; i++) {
		const struct image *img = &s->images.v[i];

		if (img->is_main && img->elf_class == ELFCLASS32)
			return err_raise(err,
					 img->machine == ARCH_ELF_MACHINE ? ERROR_IS_X32
									  : ERROR_IS_32_BIT,
					 SESSION_ARGS(s));
	}
	images_open_ahead(&s->images);
	s->images.ask_debuginfod = s->options->debuginfod;
	if (jemalloc_find(&s->proc, &s->images, &s->jemallocs, &s->n_jemallocs, &why) &&
	    why.code != ERR_NOJEMALLOC) {
		*err = why;
		return -1;
	}
	for (size_t i = 0; i < s->n_jemallocs; i++)
		jemalloc_conf_name(&s->jemallocs[i]);
	images_pack(&s->images, p);
	pack_err(p, why.code ? &why : NULL);
	if (!why.code)
		jemallocs_pack(s->jemallocs, s->n_jemallocs, &s->images, p);
	return 0;
}

/* As a library, or in the program itself, which then contains its version (LUAJIT_VERSION). */
static bool runs_luajit(struct images *images)
{
	static const char version[] = "LuaJIT 2.";

	if (images_by_name(images, "libluajit"))
		return true;
	for (size_t i = 0; i < images->n; i++)
		if (images->v[i].is_main)
			return image_search(&images->v[i], PF_R, version, strlen(version));
	return false;
}

static int answer(struct session *s, struct unpack *u, struct pack *p, struct err *err)
{
	enum question question = (enum question)unpack_max(u, QUESTIONS - 1);
	size_t je = (size_t)unpack_u64(u);
	struct jemalloc_values values;
	struct jemalloc_dump dump;
	struct callsite *site;

	unpack_into(u, s->version, sizeof(s->version));
	s->je = je < s->n_jemallocs ? s->jemallocs + je : NULL;
	if (!s->je && question != ASK_OTHER)
		return err_raise(err, ERROR_NO_JEMALLOC_OF_NUMBER);
	switch (question) {
	case ASK_SITE:
		if (injector_site_find(&site, &s->proc, &s->images, s->maps.n, s->je, err))
			return -1;
		injector_site_pack(site, p);
		injector_site_free(site);
		break;
	case ASK_VALUES:
		jemalloc_read_values(s->je, &s->proc, &values);
		jemalloc_opts_pack(s->je, &values, p);
		pack_u64(p, runs_luajit(&s->images));
		break;
	case ASK_ACTIVE:
		pack_u64(p, jemalloc_confirm_active(s->je, s->proc.mm_pid));
		break;
	case ASK_DUMP:
		jemalloc_find_dump(s->je, &s->proc, &dump);
		jemalloc_dump_pack(&dump, p);
		break;
	case ASK_OTHER:
		if (!s->question)
			return err_raise(err, ERROR_NO_SUCH_QUESTION);
		return s->question(s, u, p, err);
	case QUESTIONS:
		break;
	}
	return 0;
}

/* What every look reads, opened in advance: that saves questions to the opener. */
static const char *const opened[] = { "maps", "mem", "auxv", "environ" };
#define OPENED (sizeof(opened) / sizeof(*opened))

static void reply(int (*fn)(struct session *s, struct unpack *u, struct pack *p, struct err *err),
		  struct session *s, struct unpack *u)
{
	_cleanup_(pack_fini) struct pack p = { 0 };
	struct err err = ERR_INIT;

	confined_reply(fn(s, u, &p, &err) != 0, &err, &p, -1);
}

struct looker {
	struct session *s;
	int fds[OPENED + 1]; /* the last one is the pidfd */
};

static void serve(void *ctx)
{
	struct looker *l = ctx;
	struct session *s = l->s;
	struct unpack u;

	for (size_t i = 0; i < OPENED; i++)
		if (l->fds[i] >= 0)
			door_give(s->proc.mm_pid, opened[i], l->fds[i]);
	reply(find, s, NULL);
	while (confined_next(&u, NULL))
		reply(answer, s, &u);
}

/* --- in the controller --- */

static int take_answer(struct session *s, struct unpack *u, struct err *err)
{
	return confined_answer(&s->looker, session_left_ms(s), ANSWER_MAX, u, NULL, err);
}

static int ask(struct session *s, enum question question, const struct pack *more, struct unpack *u,
	       struct err *err)
{
	_cleanup_(pack_fini) struct pack p = { 0 };

	pack_u64(&p, question);
	pack_u64(&p, s->je ? (uint64_t)(s->je - s->jemallocs) : UINT64_MAX);
	pack_text(&p, s->version);
	if (more)
		pack_bytes(&p, more->v, more->len);
	return confined_ask(&s->looker, &p, -1, err) || take_answer(s, u, err) ? -1 : 0;
}

static int malformed(const struct session *s, struct err *err)
{
	return err_raise(err, ERROR_FOUND_MALFORMED, .pid = s->proc.pid);
}

int look_begin(struct session *s, struct err *err)
{
	struct looker l = { .s = s };
	const struct confined_options options = {
		.what = "look at the process",
		.policy = { .pid = s->proc.pid,
			    .pidfd = s->proc.pidfd,
			    .debuginfod = s->options->debuginfod },
		.fds = l.fds,
		.n_fds = OPENED + 1,
	};
	int failed;

	for (size_t i = 0; i < OPENED; i++)
		l.fds[i] = door_proc(s->proc.mm_pid, 0, opened[i]);
	l.fds[OPENED] = s->proc.pidfd;
	s->looker.stop_fd = s->options->stop_fd;
	failed = confined_start(&s->looker, &options, serve, &l, err);
	for (size_t i = 0; i < OPENED; i++)
		cleanup_close(&l.fds[i]);
	return failed;
}

int look_found(struct session *s, struct err *err)
{
	struct unpack u;

	if ((s->looker.sock < 0 && look_begin(s, err)) || take_answer(s, &u, err))
		return -1;
	if (!images_unpack(&s->images, &u))
		return malformed(s, err);
	if (unpack_err(&u, &s->no_jemalloc))
		return unpack_done(&u) ? 0 : malformed(s, err);
	s->jemallocs = jemallocs_unpack(&s->n_jemallocs, &s->images, &u);
	return s->jemallocs && unpack_done(&u) ? 0 : malformed(s, err);
}

void look_end(struct session *s)
{
	confined_end(&s->looker);
}

int look_site(struct session *s, struct callsite **site, struct err *err)
{
	struct unpack u;

	if (ask(s, ASK_SITE, NULL, &u, err))
		return -1;
	*site = injector_site_unpack(s->je, &u);
	if (*site && unpack_done(&u))
		return 0;
	injector_site_free(*site);
	return malformed(s, err);
}

int look_values(struct session *s, struct jemalloc_values *values, struct err *err)
{
	struct unpack u;

	if (ask(s, ASK_VALUES, NULL, &u, err))
		return -1;
	jemalloc_opts_unpack(s->je, values, &u);
	s->luajit = unpack_bool(&u);
	return unpack_done(&u) ? 0 : malformed(s, err);
}

int look_active(struct session *s, bool *confirmed, struct err *err)
{
	struct unpack u;

	if (ask(s, ASK_ACTIVE, NULL, &u, err))
		return -1;
	*confirmed = unpack_bool(&u);
	return unpack_done(&u) ? 0 : malformed(s, err);
}

int look_dump(struct session *s, struct jemalloc_dump *dump, struct err *err)
{
	struct unpack u;

	if (ask(s, ASK_DUMP, NULL, &u, err))
		return -1;
	jemalloc_dump_unpack(dump, &u);
	return unpack_done(&u) ? 0 : malformed(s, err);
}

int look_ask(struct session *s, const struct pack *question, struct unpack *answer, struct err *err)
{
	return ask(s, ASK_OTHER, question, answer, err);
}
