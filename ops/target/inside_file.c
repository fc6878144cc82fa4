// SPDX-License-Identifier: Apache-2.0
#include "ops/target/inside_file.h"

#include "base/cleanup.h"
#include "ops/target/facts.h"
#include "ops/target/mapped.h"
#include "sandbox/confined.h"
#include "sandbox/fence.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/fsuid.h>
#include <sys/stat.h>
#include <unistd.h>

struct work {
	const struct session *s;
	const struct received_rules *rules;
	int handle; /* O_PATH */
	int fd;
};

static int look(const struct work *w, int fd, struct stat *st, struct err *err)
{
	if (fstat(fd, st))
		return err_raise_sys(err, ERROR_TARGET_DUMP_UNSEEN, errno);
	if (!S_ISREG(st->st_mode) || st->st_nlink != 1 || st->st_uid != w->s->proc.status.euid)
		return err_raise(err, ERROR_TARGET_DUMP_FOREIGN);
	return 0;
}

/* The target user's file access rights, and no capability to bypass them. */
static int become_target(const struct work *w, struct err *err)
{
	uid_t uid = w->s->proc.status.euid;

	setfsuid(uid);
	/* It reports no failure: set an invalid user, which returns the current one. */
	if ((uid_t)setfsuid((uid_t)-1) != uid)
		return err_raise(err, ERROR_RIGHTS_NOT_TAKEN, .uid = uid);
	return fence_drop_capabilities(err);
}

static int enter(void *ctx, struct err *err)
{
	struct work *w = ctx;
	struct stat handle, st;
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", w->handle);
	if (look(w, w->handle, &handle, err) || become_target(w, err))
		return -1;
	w->fd = open(path, O_RDWR | O_APPEND | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
	if (w->fd < 0)
		return err_raise_sys(err, ERROR_TARGET_DUMP_UNOPENED, errno);
	if (look(w, w->fd, &st, err))
		return -1;
	return st.st_dev == handle.st_dev && st.st_ino == handle.st_ino
		       ? 0
		       : err_raise(err, ERROR_TARGET_DUMP_REPLACED);
}

static void complete(void *ctx)
{
	const struct work *w = ctx;
	struct err err = ERR_INIT;
	uint64_t bytes;
	int failed = received_check(w->fd, w->rules, &bytes, &err);

	/* It is a profile even if it cannot be read here. */
	if (failed)
		err.code = ERR_OUTPUT;
	failed = failed || mapped_append(w->fd, bytes, &w->s->proc, w->rules->deadline_ms, &err) ||
		 facts_append(w->fd, w->s, &err);
	confined_reply(failed, &err, NULL, -1);
}

int inside_file_complete(const struct inside *in, const struct session *s,
			 const struct received_rules *rules, struct err *err)
{
	_cleanup_(cleanup_close) int handle = -1;
	struct work w = { .s = s, .rules = rules, .fd = -1 };
	struct confined_options options = {
		.what = "complete the target's dump",
		.policy = { .pid = s->proc.pid, .pidfd = s->proc.pidfd },
		.fds = &handle,
		.n_fds = 1,
		.enter = enter,
	};
	/*
	 * The target has already written it: it is completed even if the command is to end early.
	 */
	_cleanup_(confined_end) struct confined c = CONFINED_INIT;
	struct unpack answer;

	if (__builtin_add_overflow(rules->max_bytes, CONFINED_FILE, &options.file_max_bytes))
		options.file_max_bytes = UINT64_MAX;
	if (inside_handle(in, &handle, err))
		return -1;
	w.handle = handle;
	if (confined_start(&c, &options, complete, &w, err))
		return -1;
	return confined_answer(&c, session_left_ms(s), 0x2000, &answer, NULL, err);
}
