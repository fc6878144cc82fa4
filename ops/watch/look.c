// SPDX-License-Identifier: Apache-2.0
#include "ops/watch/look.h"

#include "base/cleanup.h"
#include "elf/image.h"
#include "jemalloc/answer.h"
#include "ops/target/handed.h"
#include "ops/watch/filecache.h"

#include <stdlib.h>
#include <string.h>

#define ANSWER_MAX ((size_t)64 << 20)
#define PATIENCE_MS 5000
#define PATIENCE_DEBUGINFOD_MS 120000

enum question { ASK_MAPS, ASK_INSIDE, QUESTIONS };

/* --- in the child --- */

struct looker {
	bool debuginfod;
	struct filecache files;
};

static int look_inside(struct looker *l, const struct proc *p, bool values, struct pack *out,
		       struct err *err)
{
	_cleanup_(maps_fini) struct maps maps = { 0 };
	_cleanup_(images_fini) struct images images = { 0 };
	_cleanup_(cleanup_free) struct jemalloc *found = NULL;
	bool holds = false;
	size_t n = 0;

	if (maps_read(&maps, p->mm_pid, err) || images_read(&images, p->mm_pid, &maps, err))
		return -1;
	images.ask_debuginfod = l->debuginfod;
	/* For a process that was requested, the caller wants to know all of them, known or not. */
	if (!values)
		filecache_mark_plain(&l->files, p, &images, &maps);
	if (jemalloc_find(p, &images, &found, &n, err) && err->code != ERR_NOJEMALLOC)
		return -1;
	pack_u64(out, n < WATCH_FOUND_MAX ? n : WATCH_FOUND_MAX);
	for (size_t i = 0; i < n && i < WATCH_FOUND_MAX; i++) {
		struct jemalloc_values read = { .prof_active = TRI_UNKNOWN };

		if (values)
			jemalloc_read_values(&found[i], p, &read);
		pack_u64(out, found[i].mallctl);
		tristate_pack(found[i].config_prof, out);
		tristate_pack(jemalloc_value_is(&read, OPT_PROF), out);
	}
	/* If no jemalloc was found that can be read completely: does an image hold one? */
	for (size_t i = 0; !n && i < images.n; i++)
		holds |= images.v[i].path[0] == '/' && !images.v[i].is_plain;
	pack_u64(out, holds);
	pack_err(out, n ? NULL : err);
	return 0;
}

static int look_at_maps(const struct proc *p, struct pack *out, struct err *err)
{
	_cleanup_(maps_fini) struct maps maps = { 0 };

	if (maps_read(&maps, p->mm_pid, err))
		return -1;
	maps_pack(&maps, out);
	return 0;
}

static void serve(void *ctx)
{
	struct looker *l = ctx;
	int fds[CONFINED_FDS_MAX];
	struct unpack u;
	size_t n;

	while (confined_next_with(&u, fds, &n)) {
		_cleanup_(pack_fini) struct pack out = { 0 };
		enum question question = (enum question)unpack_max(&u, QUESTIONS - 1);
		bool values = unpack_bool(&u);
		struct err err = ERR_INIT;
		struct proc p;
		int failed;

		unpack_bytes(&u, &p, sizeof(p));
		handed_use(&p, fds, n);
		failed = question == ASK_MAPS ? look_at_maps(&p, &out, &err)
					      : look_inside(l, &p, values, &out, &err);
		confined_reply(failed, &err, &out, -1);
		handed_forget();
	}
	filecache_fini(&l->files);
}

/* --- in the controller --- */

void watch_look_fini(struct watch_looker *l)
{
	confined_end(&l->child);
}

static int ask(struct watch_looker *l, enum question question, bool values, const struct proc *p,
	       struct unpack *u, struct err *err)
{
	const struct confined_options options = { .what = "look at a process",
						  .policy = { .debuginfod = l->debuginfod } };
	struct looker looker = { .debuginfod = l->debuginfod, .files.debuginfod = l->debuginfod };
	_cleanup_(pack_fini) struct pack message = { 0 };
	struct proc sent = *p;
	int fds[CONFINED_FDS_MAX], failed;
	size_t n;

	if (l->child.sock < 0 && confined_start(&l->child, &options, serve, &looker, err))
		return -1;
	sent.pidfd = -1;
	pack_u64(&message, question);
	pack_u64(&message, values);
	pack_bytes(&message, &sent, sizeof(sent));
	n = handed_open(p, fds);
	failed = confined_ask_with(&l->child, &message, fds, n, err) ||
		 confined_answer(&l->child, l->debuginfod ? PATIENCE_DEBUGINFOD_MS : PATIENCE_MS,
				 ANSWER_MAX, u, NULL, err);
	handed_close(fds, n);
	if (failed && l->child.broken) {
		l->unanswered++;
		confined_end(&l->child);
	}
	return failed ? -1 : 0;
}

static int malformed(struct err *err)
{
	return err_raise(err, ERROR_LOOK_MALFORMED);
}

int watch_look_maps(struct watch_looker *l, const struct proc *p, struct maps *maps,
		    struct err *err)
{
	struct unpack u;

	if (ask(l, ASK_MAPS, false, p, &u, err))
		return -1;
	return maps_unpack(maps, &u) && unpack_done(&u) ? 0 : malformed(err);
}

bool watch_inside_unpack(struct watch_inside *out, struct unpack *u)
{
	out->n = (size_t)unpack_max(u, WATCH_FOUND_MAX);
	for (size_t i = 0; i < out->n; i++) {
		out->v[i].mallctl = unpack_u64(u);
		out->v[i].config_prof = tristate_unpack(u);
		out->v[i].opt_prof = tristate_unpack(u);
	}
	out->holds = unpack_bool(u);
	out->why_not = (struct err)ERR_INIT;
	unpack_err(u, &out->why_not);
	return unpack_done(u);
}

int watch_look_inside(struct watch_looker *l, const struct proc *p, bool values,
		      struct watch_inside *out, struct err *err)
{
	struct unpack u;

	if (ask(l, ASK_INSIDE, values, p, &u, err))
		return -1;
	return watch_inside_unpack(out, &u) ? 0 : malformed(err);
}
