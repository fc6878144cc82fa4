// SPDX-License-Identifier: Apache-2.0
#include "ops/target/open.h"

#include "base/clock.h"
#include "base/text.h"
#include "base/turn.h"
#include "ops/target/look.h"
#include "process/rights.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- which jemalloc --- */

#define LIST_SIZE 400
#define SHOWN_SIZE 256

/* The kernel marks the names of deleted files. */
static bool is_named(const struct image *img, const char *path, const char *name)
{
	static const char gone[] = " (deleted)";
	size_t len = strlen(name);

	return !strcmp(path, name) ||
	       (img->is_deleted && !strncmp(path, name, len) && !strcmp(path + len, gone));
}

int pick_jemalloc(struct jemalloc *v, size_t n, const char *name, struct jemalloc **picked,
		  struct err *err)
{
	char list[LIST_SIZE] = "";
	struct jemalloc *found = NULL;
	size_t hits = 0, used = 0;

	for (size_t i = 0; i < n && (name || !i); i++) {
		const char *path = v[i].image->path;

		if (name && !is_named(v[i].image, path, name) &&
		    !is_named(v[i].image, text_file_name(path), name) &&
		    (!*name || strcmp(v[i].prefix, name) != 0))
			continue;
		found = found ? found : &v[i];
		hits++;
	}
	if (hits == 1) {
		*picked = found;
		return 0;
	}
	/* "/usr/bin/a (je_), /usr/lib/libjemalloc.so.2 (no prefix)" */
	for (size_t i = 0; i < n && used < sizeof(list); i++) {
		char path[SHOWN_SIZE], prefix[SHOWN_SIZE];

		output_safe(v[i].image->path, path, sizeof(path));
		output_safe(v[i].prefix, prefix, sizeof(prefix));
		used += (size_t)snprintf(list + used, sizeof(list) - used, "%s%s (%s)",
					 i ? ", " : "", path, *prefix ? prefix : "no prefix");
	}
	if (hits)
		err_raise(err, ERROR_IMAGE_AMBIGUOUS, .name = name, .number = (int64_t)hits,
			  .text = list);
	else
		err_raise(err, ERROR_IMAGE_NOT_THERE, .name = name, .text = list);
	return err_advise(err, FIX_NAME_ONE_JEMALLOC);
}

/* --- the steps --- */

int session_open_proc(struct session *s, pid_t pid, const struct ops_options *options,
		      struct err *err)
{
	err_forget();
	s->options = options;
	turn_take(options->turn_fd, TURN_TARGET);
	s->deadline_ms = now_ms() + options->wait_ms;
	s->timeout_ms = now_ms() + ops_timeout_ms(options);
	s->cost.pid = pid;
	if (proc_open_at(&s->proc, pid, options->start_time, err))
		return -1;
	memcpy(s->cost.comm, s->proc.status.comm, sizeof(s->cost.comm));
	return 0;
}

int session_may_trace(struct session *s, struct err *err)
{
	struct err again = ERR_INIT;

	/* If that fails, session_find_jemalloc() retries it and reports the error. */
	if (s->looker.sock < 0 && look_begin(s, &again))
		look_end(s);
	while (proc_may_trace(&s->proc, err)) {
		look_end(s); /* its findings may be outdated by then */
		if (!session_try_again(s, err) || proc_refresh(&s->proc, err))
			return session_failed(s, err);
	}
	return 0;
}

/* As nm(1) shows them: addresses in the image's file. */
static int log_found(struct session *s, struct err *err)
{
	const struct jemalloc *je = s->je;
	struct jemalloc_values ignored;
	const char *from = image_debug_source(je->image);
	char line[1024];
	struct {
		const char *name;
		uint64_t addr;
	} found[] = {
		{ "mallctl", je->mallctl },
		{ "malloc_stats_print", je->malloc_stats_print },
		{ "opt_prof", 0 },
	};

	if (!s->options->log)
		return 0;
	if (look_values(s, &ignored, err))
		return -1;
	found[2].addr = je->opt[OPT_PROF];
	for (size_t i = 0; i < sizeof(found) / sizeof(found[0]); i++) {
		if (!found[i].addr)
			continue;
		snprintf(line, sizeof(line), "%s%s at 0x%llx of %s%s%s", je->prefix, found[i].name,
			 (unsigned long long)(found[i].addr - je->image->bias), je->image->path,
			 from ? ", symbols from " : "", from ? from : "");
		s->options->log(s->options->ctx, line);
	}
	return 0;
}

int session_pick_jemalloc(struct session *s, struct err *err)
{
	if (!s->n_jemallocs) {
		*err = s->no_jemalloc;
		return session_failed(s, err);
	}
	if (pick_jemalloc(s->jemallocs, s->n_jemallocs, s->options->image, &s->je, err))
		return session_failed(s, err);
	snprintf(s->version, sizeof(s->version), "%s", s->je->version);
	return log_found(s, err) ? session_failed(s, err) : 0;
}

int session_find_jemalloc(struct session *s, struct err *err)
{
	return look_found(s, err) ? session_failed(s, err) : session_pick_jemalloc(s, err);
}

int session_open_injector(struct session *s, struct err *err)
{
	const struct injector_options io = {
		.mode = s->options->mode,
		.timeout_ms = s->options->timeout_ms,
		.max_pause_ms = s->options->max_pause_ms,
		.stop_fd = s->options->stop_fd,
		.log = s->options->log,
		.ctx = s->options->ctx,
	};

	struct callsite *site;

	if (s->options->mode == INJECTOR_POKE)
		return err_raise(err, ERROR_POKE_MAKES_NO_CALL);
	while (injector_may_work(&s->proc, &s->images, err)) {
		if (!session_try_again(s, err))
			return session_no_call(s, err);
	}
	return look_site(s, &site, err) ||
			       injector_open(&s->inj, &s->proc, &s->images, s->je, site, &io, err)
		       ? session_no_call(s, err)
		       : 0;
}

int session_open(struct session *s, pid_t pid, const struct ops_options *options, struct err *err)
{
	if (session_open_proc(s, pid, options, err) || session_may_trace(s, err) ||
	    session_find_jemalloc(s, err))
		return -1;
	return session_open_injector(s, err);
}

void session_close(struct session *s)
{
	injector_close(s->inj);
	look_end(s);
	free(s->jemallocs);
	images_fini(&s->images);
	proc_close(&s->proc);
	if (s->options)
		turn_give(s->options->turn_fd, TURN_TARGET);
	*s = (struct session)SESSION_INIT;
}
