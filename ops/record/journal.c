// SPDX-License-Identifier: Apache-2.0
#include "ops/record/journal.h"

#include "base/cleanup.h"
#include "base/private.h"
#include "base/text.h"
#include "base/vec.h"
#include "base/write.h"
#include "io/output.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* --- its text --- */

/* Names and paths may hold any byte: those that would end a word are written as %XX. */
static void escape(const char *raw, char *buf, size_t size)
{
	size_t n = 0;

	for (; *raw && n + 4 < size; raw++) {
		unsigned char c = (unsigned char)*raw;

		if (c > ' ' && c < 0x7f && c != '%')
			buf[n++] = (char)c;
		else
			n += (size_t)snprintf(buf + n, size - n, "%%%02X", c);
	}
	buf[n] = '\0';
}

static void unescape(const char *text, char *buf, size_t size)
{
	size_t n = 0;

	for (; *text && n + 1 < size; text++) {
		unsigned int c;

		if (*text == '%' && sscanf(text + 1, "%2x", &c) == 1 && strlen(text) >= 3) {
			buf[n++] = (char)c;
			text += 2;
		} else {
			buf[n++] = *text;
		}
	}
	buf[n] = '\0';
}

/* The line "KEY VALUE" of the text: VALUE, truncated to size - 1 bytes; false without one. */
static bool find_value(const char *text, const char *key, char *buf, size_t size)
{
	size_t key_len = strlen(key);

	for (const char *s = text; *s; s += strcspn(s, "\n"), s += *s == '\n') {
		if (strncmp(s, key, key_len) != 0 || s[key_len] != ' ')
			continue;
		s += key_len + 1;
		snprintf(buf, size, "%.*s", (int)strcspn(s, "\n"), s);
		return true;
	}
	return false;
}

static bool find_number(const char *text, const char *key, uint64_t *number)
{
	char value[32], *end;

	if (!find_value(text, key, value, sizeof(value)) || !isdigit((unsigned char)value[0]))
		return false;
	*number = strtoull(value, &end, 10);
	return *end == '\0';
}

bool journal_text_parse(const char *text, struct journal_state *state)
{
	static const char end[] = "\nend 1\n";
	const char *last = strstr(text, end);
	char value[JOURNAL_IMAGE_SIZE * 3];
	uint64_t pid, recorder;

	*state = (struct journal_state){ 0 };
	/* Without its last line it was not written completely. */
	if (!last || last[strlen(end)] || !find_number(text, "pid", &pid) ||
	    !find_number(text, "recorder", &recorder) ||
	    !find_number(text, "start", &state->start_time) ||
	    !find_number(text, "program", &state->program) || pid > INT_MAX || recorder > INT_MAX)
		return false;
	state->pid = (pid_t)pid;
	state->recorder = (pid_t)recorder;
	if (find_value(text, "comm", value, sizeof(value)))
		unescape(value, state->comm, sizeof(state->comm));
	if (find_value(text, "image", value, sizeof(value)))
		unescape(value, state->image, sizeof(state->image));
	state->active = find_value(text, "prof.active", value, sizeof(value));
	state->thread_active_init =
		find_value(text, "prof.thread_active_init", value, sizeof(value));
	state->rate =
		find_number(text, "prof.lg_sample", &state->lg_sample) && state->lg_sample < 64;
	if (!state->rate)
		state->lg_sample = 0;
	return true;
}

int journal_text_format(const struct journal_state *s, char *buf, size_t size)
{
	char comm[sizeof(s->comm) * 3], image[sizeof(s->image) * 3], rate[32] = "";

	escape(s->comm, comm, sizeof(comm));
	escape(s->image, image, sizeof(image));
	if (s->rate)
		snprintf(rate, sizeof(rate), "prof.lg_sample %" PRIu64 "\n", s->lg_sample);
	return snprintf(buf, size,
			"pid %d\nstart %" PRIu64 "\nprogram %" PRIu64 "\nrecorder %d\ncomm %s\n"
			"image %s\n%s%s%send 1\n",
			s->pid, s->start_time, s->program, s->recorder, comm, image,
			s->thread_active_init ? "prof.thread_active_init false\n" : "",
			s->active ? "prof.active false\n" : "", rate);
}

/* --- files --- */

#define OPEN_TRIES 16
#define LISTED_MAX 65536
#define ASIDE_SIZE 32

static int open_folder(bool create, int *dir, struct err *err)
{
	char path[PATH_MAX + 32];
	int fd = private_open(create), sys = errno;

	if (fd >= 0) {
		*dir = fd;
		return 0;
	}
	if (sys == ENOENT && !create)
		return err_raise(err, ERROR_NOTHING_LEFT_BEHIND);
	private_path(path, sizeof(path));
	if (sys == EPERM) {
		err_raise(err, ERROR_FOLDER_UNSAFE, .path = path);
		return err_advise(err, FIX_CHECK_OWNER_AND_REMOVE);
	}
	err_raise_sys(err, ERROR_FOLDER_UNUSABLE, sys, .path = path);
	return err_advise(err, FIX_SET_RUNTIME_DIR);
}

static int not_ours(const struct journal *j, struct err *err)
{
	char path[PATH_MAX + 32];

	private_path(path, sizeof(path));
	err_raise(err, ERROR_JOURNAL_FOREIGN, .path = path, .name = j->name);
	return err_advise(err, FIX_CHECK_OWNER_AND_REMOVE);
}

/* Opens whatever has the name, without following links or waiting. -1 with errno. */
static int open_file(const struct journal *j, bool create)
{
	int flags = O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | O_NOCTTY;

	return openat(j->dir, j->name, flags | (create ? O_CREAT : 0), 0600);
}

/* Does the name still refer to the file of `fd`? The previous holder may have removed it. */
static bool still_named(const struct journal *j, int fd)
{
	struct stat held, named;

	return !fstat(fd, &held) && !fstatat(j->dir, j->name, &named, AT_SYMLINK_NOFOLLOW) &&
	       held.st_ino == named.st_ino && held.st_dev == named.st_dev;
}

static void read_state(struct journal *j)
{
	char text[JOURNAL_TEXT_MAX];
	ssize_t n = pread(j->fd, text, sizeof(text) - 1, 0);

	text[n > 0 ? n : 0] = '\0';
	j->written = journal_text_parse(text, &j->state);
}

/* The lock belongs to this process alone: children that briefly outlive it do not keep it. */
static int lock_file(int fd)
{
	struct flock whole = { .l_type = F_WRLCK, .l_whence = SEEK_SET };

	return fcntl(fd, F_SETLK, &whole);
}

/* 0 if there is none, or it is not in our pid namespace. */
static pid_t holder(int fd)
{
	struct flock whole = { .l_type = F_WRLCK, .l_whence = SEEK_SET };

	if (fcntl(fd, F_GETLK, &whole) || whole.l_type == F_UNLCK || whole.l_pid < 0)
		return 0;
	return whole.l_pid;
}

/* 1 if it is, 0 if not; -1 with errno if it could not be examined. */
static int is_ours(int fd)
{
	struct stat st;

	if (fstat(fd, &st))
		return -1;
	return S_ISREG(st.st_mode) && private_is_ours(&st) && st.st_nlink == 1 &&
	       st.st_size < JOURNAL_TEXT_MAX;
}

/* Open, check and lock the file once. 1: it was removed meanwhile, and there may be a new one. */
static int try_open(struct journal *j, bool create, struct err *err)
{
	int ours;

	j->fd = open_file(j, create);
	if (j->fd < 0 && errno == ENOENT)
		return err_raise(err, ERROR_NOTHING_LEFT_BY, .pid = atoi(j->name));
	if (j->fd < 0 && (errno == ELOOP || errno == ENXIO || errno == EISDIR || errno == EACCES))
		return not_ours(j, err);
	ours = j->fd < 0 ? -1 : is_ours(j->fd);
	if (ours < 0)
		return err_raise_sys(err, ERROR_CHANGES_UNKEPT, errno, .pid = atoi(j->name));
	if (!ours)
		return not_ours(j, err);
	if (lock_file(j->fd)) {
		if (errno != EAGAIN && errno != EACCES)
			return err_raise_sys(err, ERROR_JOURNAL_UNLOCKED, errno,
					     .pid = atoi(j->name));
		j->holder = holder(j->fd);
		read_state(j);
		if (!j->written)
			return err_raise(err, ERROR_RECORDED, .pid = atoi(j->name));
		err_raise(err, ERROR_RECORDED_BY, .pid = atoi(j->name), .other = j->state.recorder);
		return err_advise(err, FIX_END_RECORDING);
	}
	if (still_named(j, j->fd))
		return 0;
	cleanup_close(&j->fd);
	j->fd = -1;
	return 1;
}

int journal_open(struct journal *j, pid_t pid, bool create, struct err *err)
{
	int ret = 1;

	if (open_folder(create, &j->dir, err))
		return -1;
	snprintf(j->name, sizeof(j->name), "%d", pid);
	for (int i = 0; ret > 0 && i < OPEN_TRIES; i++)
		ret = try_open(j, create, err);
	if (ret > 0)
		return err_raise(err, ERROR_RECORDED, .pid = pid);
	if (!ret) {
		read_state(j);
		return 0;
	}
	/* The content of a file that we could not lock must not be acted upon. */
	cleanup_close(&j->fd);
	j->fd = -1;
	j->written = false;
	j->state = (struct journal_state){ 0 };
	return -1;
}

void journal_look(const struct proc *p, struct err *what)
{
	_cleanup_(journal_close) struct journal j = JOURNAL_INIT;
	struct flock whole = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
	struct err ignored;

	if (open_folder(false, &j.dir, &ignored))
		return;
	snprintf(j.name, sizeof(j.name), "%d", p->pid);
	j.fd = open_file(&j, false);
	if (j.fd < 0 || is_ours(j.fd) <= 0 || fcntl(j.fd, F_GETLK, &whole))
		return;
	/* Was it just replaced by a recording, or removed at its end? */
	if (!still_named(&j, j.fd))
		return;
	read_state(&j);
	if (!j.written || !journal_is_of(&j.state, p) || !journal_changed(&j.state))
		return;
	if (whole.l_type != F_UNLCK) {
		err_raise(what, ERROR_RECORDED_BY, .pid = p->pid, .other = j.state.recorder);
		err_within(what, ERROR_WILL_TURN_IT_OFF);
	} else {
		err_raise(what, ERROR_RECORDING_LEFT, .pid = p->pid, .other = j.state.recorder);
		err_advise(what, FIX_UNDO, .pid = p->pid);
	}
}

/* Written completely beside the journal; locked before it gets the name, for as long as we live. */
static int write_aside(const struct journal *j, const char *name, int *fd)
{
	_cleanup_(cleanup_close) int aside = -1;
	char text[JOURNAL_TEXT_MAX];
	int len = journal_text_format(&j->state, text, sizeof(text));

	/* A killed recording may have left it: the lock on the journal makes it ours. */
	unlinkat(j->dir, name, 0);
	aside = openat(j->dir, name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (aside < 0 || !write_all(aside, text, (size_t)len) || fsync(aside) || lock_file(aside))
		return -1;
	*fd = take_fd(aside);
	return 0;
}

static void aside_name(const struct journal *j, char name[ASIDE_SIZE])
{
	snprintf(name, ASIDE_SIZE, "%s.new", j->name);
}

/*
 * Whenever we are killed, the name refers to the complete old text or the complete new one. A
 * process that opened the old file meanwhile finds that it no longer has a name.
 */
int journal_write(struct journal *j, struct err *err)
{
	char name[ASIDE_SIZE];
	int fd;

	aside_name(j, name);
	if (write_aside(j, name, &fd)) {
		err_raise_sys(err, ERROR_CHANGES_UNKEPT, errno, .pid = j->state.pid);
		unlinkat(j->dir, name, 0);
		return err_advise(err, FIX_MAKE_ROOM_IN_RUN);
	}
	if (renameat(j->dir, name, j->dir, j->name) || fsync(j->dir)) {
		err_raise_sys(err, ERROR_CHANGES_UNKEPT, errno, .pid = j->state.pid);
		close(fd);
		return -1;
	}
	close(j->fd);
	j->fd = fd;
	j->written = true;
	return 0;
}

void journal_remove(struct journal *j)
{
	char name[ASIDE_SIZE];

	aside_name(j, name);
	if (j->fd >= 0 && still_named(j, j->fd)) {
		unlinkat(j->dir, name, 0);
		unlinkat(j->dir, j->name, 0);
	}
	j->written = false;
}

bool journal_changed(const struct journal_state *state)
{
	return state->active || state->thread_active_init || state->rate;
}

int journal_decided(const struct proc *p, const struct journal_state *what, struct err *err)
{
	_cleanup_(journal_close) struct journal j = JOURNAL_INIT;

	if (journal_open(&j, p->pid, false, err))
		return err->code == ERR_NOPROC ? 0 : -1;
	if (!j.written || !journal_is_of(&j.state, p))
		return 0;
	j.state.active &= !what->active;
	j.state.thread_active_init &= !what->thread_active_init;
	j.state.rate &= !what->rate;
	if (journal_changed(&j.state))
		return journal_write(&j, err);
	journal_remove(&j);
	return 0;
}

void journal_close(struct journal *j)
{
	cleanup_close(&j->fd);
	cleanup_close(&j->dir);
	*j = (struct journal)JOURNAL_INIT;
}

int journal_list(pid_t **pids, size_t *n, struct err *err)
{
	_cleanup_(cleanup_free) pid_t *found = NULL;
	_cleanup_(cleanup_closedir) DIR *dir = NULL;
	size_t n_found = 0;
	struct err ignored;
	struct dirent *e;
	int fd = -1;

	if (open_folder(false, &fd, err)) {
		if (err->code != ERR_NOPROC)
			return -1;
		*n = 0;
		return 0;
	}
	dir = fdopendir(fd);
	if (!dir) {
		close(fd);
		return err_no_memory(err);
	}
	while ((e = readdir(dir))) {
		int64_t pid;
		pid_t *more;

		if (n_found == LISTED_MAX || text_int_parse(e->d_name, 1, INT_MAX, &pid, &ignored))
			continue;
		more = realloc(found, (n_found + 1) * sizeof(*found));
		if (!more)
			return err_no_memory(err);
		found = more;
		found[n_found++] = (pid_t)pid;
	}
	vec_sort(found, n_found, proc_by_pid);
	*pids = take_ptr(found);
	*n = n_found;
	return 0;
}

bool journal_is_of(const struct journal_state *state, const struct proc *p)
{
	uint64_t program = proc_program(p->mm_pid);

	/* An unreadable program counts as the same: otherwise the change would stay. */
	return state->pid == p->pid && state->start_time == p->start_time &&
	       (!program || !state->program || state->program == program);
}
