// SPDX-License-Identifier: Apache-2.0
#include "serve/store.h"

#include "api/run.h"
#include "base/cleanup.h"
#include "base/private.h"
#include "base/text.h"
#include "base/vec.h"
#include "ops/report.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define FACTS "run.json"
#define FACTS_MAX (256 << 10)
#define ROOTS "/var/lib/jeprof-ctl/runs"
#define NUMBER_MAX 16 /* digits of a run's number */
#define BEGIN_S 60
#define TRIES 1000 /* numbers that are tried */

static const char *const files[] = { "profile.heap", "profile.base.heap", "profile.raw",
				     "profile.base.raw" };
enum { PROFILE, BASE, NAMED };

/* --- the folder of runs --- */

static bool default_path(char *buf, size_t size)
{
	const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");

	if (!geteuid())
		snprintf(buf, size, "%s", ROOTS);
	else if (state && *state == '/')
		snprintf(buf, size, "%s/jeprof-ctl/runs", state);
	else if (home && *home == '/')
		snprintf(buf, size, "%s/.local/state/jeprof-ctl/runs", home);
	else
		return false;
	return true;
}

static int failed(const struct store *r, enum error id, int sys, struct err *err)
{
	err_raise_sys(err, id, sys, .path = r->path);
	return err_advise(err, FIX_GIVE_RUNS);
}

/* Only digits, as from store_next(). */
static bool number_of(const char *name, uint64_t *id)
{
	size_t len = strspn(name, "0123456789");

	if (!len || name[len] || len > NUMBER_MAX || name[0] == '0')
		return false;
	*id = strtoull(name, NULL, 10);
	return true;
}

static int newest_first(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? 1 : x > y ? -1 : 0;
}

/* The numbers of all runs, the newest first. The caller frees the array. */
static int numbers(const struct store *r, uint64_t **ids, size_t *n, struct err *err)
{
	_cleanup_(cleanup_closedir) DIR *d = opendir(r->path);
	_cleanup_(cleanup_free) uint64_t *v = NULL;
	size_t room = 0;

	*n = 0;
	if (!d)
		return failed(r, ERROR_RUNS_FAILED, errno, err);
	for (const struct dirent *e; (e = readdir(d)) && *n < STORE_MAX;) {
		if (!vec_grow(v, room, *n))
			return err_no_memory(err);
		*n += number_of(e->d_name, &v[*n]);
	}
	vec_sort(v, *n, newest_first);
	*ids = take_ptr(v);
	return 0;
}

int store_open(struct store *r, const char *path, struct err *err)
{
	_cleanup_(cleanup_free) char *real = NULL;
	_cleanup_(cleanup_free) uint64_t *ids = NULL;
	struct stat st;
	size_t n;

	if (path)
		snprintf(r->path, sizeof(r->path), "%s", path);
	else if (!default_path(r->path, sizeof(r->path)))
		return failed(r, ERROR_RUNS_FAILED, ENOENT, err);
	if (!private_make(r->path) || !(real = realpath(r->path, NULL)))
		return failed(r, ERROR_RUNS_FAILED, errno, err);
	snprintf(r->path, sizeof(r->path), "%s", real);
	r->dir = open(r->path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (r->dir < 0 || fstat(r->dir, &st))
		return failed(r, ERROR_RUNS_FAILED, errno, err);
	if (!private_is_ours(&st))
		return failed(r, ERROR_RUNS_NOT_OURS, 0, err);
	if (flock(r->dir, LOCK_EX | LOCK_NB))
		return failed(r, ERROR_RUNS_TAKEN, 0, err);
	if (numbers(r, &ids, &n, err))
		return -1;
	r->last = mmap(NULL, sizeof(*r->last), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
		       -1, 0);
	if (r->last == MAP_FAILED) {
		r->last = NULL;
		return err_raise_sys(err, ERROR_NO_SHARED_MEMORY, errno);
	}
	*r->last = n ? ids[0] : 0;
	return 0;
}

void store_close(struct store *r)
{
	cleanup_close(&r->dir);
	r->dir = -1;
	r->path[0] = '\0';
	if (r->last)
		munmap((void *)r->last, sizeof(*r->last));
	r->last = NULL;
}

uint64_t store_next(const struct store *r)
{
	uint64_t now = (uint64_t)time(NULL), last, next;

	if (!r->last)
		return now;
	last = *r->last;
	do
		next = now > last ? now : last + 1;
	while (!atomic_compare_exchange_weak(r->last, &last, next));
	return next;
}

/* --- one of them --- */

static void folder_of(const struct store *r, uint64_t id, char buf[PATH_MAX])
{
	snprintf(buf, PATH_MAX, "%.4000s/%" PRIu64, r->path, id);
}

const char *run_file(const struct run *run, const char *name, char buf[PATH_MAX])
{
	snprintf(buf, PATH_MAX, "%.4064s/%s", run->path, name);
	return buf;
}

static int open_run(const struct store *r, uint64_t id, struct run *run, struct err *err)
{
	if (!*r->path) {
		err_raise(err, ERROR_NO_RUNS);
		return err_advise(err, FIX_GIVE_RUNS);
	}
	folder_of(r, id, run->path);
	run->dir = open(run->path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (run->dir >= 0)
		return 0;
	return errno == ENOENT
		       ? err_raise(err, ERROR_NO_RUN, .number = (int64_t)id)
		       : err_raise_sys(err, ERROR_RUN_UNREADABLE, errno, .number = (int64_t)id);
}

/* Lock the folder of a new run. */
static int take_folder(const struct store *r, uint64_t id, struct run *run, struct err *err)
{
	if (open_run(r, id, run, err))
		return -1;
	/* A check of the lock holds it only for a moment. */
	return flock(run->dir, LOCK_EX) ? failed(r, ERROR_RUNS_FAILED, errno, err) : 0;
}

int run_begin(const struct store *r, uint64_t id, struct run *run, struct err *err)
{
	char path[PATH_MAX];

	folder_of(r, id, path);
	if (*r->path && mkdir(path, 0700))
		return failed(r, ERROR_RUNS_FAILED, errno, err);
	return take_folder(r, id, run, err);
}

int run_begin_next(const struct store *r, uint64_t *id, struct run *run, struct err *err)
{
	char path[PATH_MAX];

	for (int i = 0; i < TRIES; i++) {
		*id = store_next(r);
		folder_of(r, *id, path);
		if (!mkdir(path, 0700))
			return take_folder(r, *id, run, err);
		if (errno != EEXIST)
			break;
	}
	return failed(r, ERROR_RUNS_FAILED, errno, err);
}

static int print_facts(FILE *out, const void *ctx, struct err *err)
{
	(void)err;
	fprintf(out, "%s\n",
		json_object_to_json_string_ext((struct json_object *)ctx,
					       JSON_C_TO_STRING_PRETTY |
						       JSON_C_TO_STRING_NOSLASHESCAPE));
	return 0;
}

int run_write(const struct run *run, struct json_object *doc, struct err *err)
{
	char path[PATH_MAX];

	return ops_write_file(run_file(run, FACTS, path), true, print_facts, doc, err);
}

void run_close(struct run *run)
{
	cleanup_close(&run->dir);
	run->dir = -1;
}

/* NULL with errno. */
static DIR *read_folder(const struct run *run)
{
	int fd = openat(run->dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = fd >= 0 ? fdopendir(fd) : NULL;

	if (!d && fd >= 0)
		close(fd);
	return d;
}

/*
 * Remove all of its files, also those half-written by a killed process, and the folder. The facts
 * go last: they identify the run.
 */
static int remove_folder(struct run *run)
{
	_cleanup_(cleanup_closedir) DIR *d = read_folder(run);

	if (!d)
		return -1;
	for (const struct dirent *e; (e = readdir(d));) {
		if (strcmp(e->d_name, FACTS) != 0 && strcmp(e->d_name, ".") != 0 &&
		    strcmp(e->d_name, "..") != 0 && unlinkat(run->dir, e->d_name, 0) &&
		    errno != ENOENT)
			return -1;
	}
	if (unlinkat(run->dir, FACTS, 0) && errno != ENOENT)
		return -1;
	return rmdir(run->path);
}

void run_drop(struct run *run)
{
	(void)!remove_folder(run);
	run_close(run);
}

/* If not, we hold a lock, exclusive with `take`, until run->dir is closed. */
static bool is_locked(const struct run *run, bool take)
{
	return flock(run->dir, (take ? LOCK_EX : LOCK_SH) | LOCK_NB) != 0;
}

/* --- reading --- */

static struct json_object *read_facts(const struct run *run)
{
	_cleanup_(cleanup_close) int fd =
		openat(run->dir, FACTS, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	_cleanup_(cleanup_free) char *text = malloc(FACTS_MAX);
	struct json_object *doc;
	ssize_t n = fd >= 0 && text ? pread(fd, text, FACTS_MAX, 0) : -1;

	doc = n > 0 ? json_parse(text, (size_t)n) : NULL;
	if (doc && json_object_is_type(doc, json_type_object))
		return doc;
	json_object_put(doc);
	return NULL;
}

static uint64_t size_of(const struct run *run, const char *name)
{
	struct stat st;

	return fstatat(run->dir, name, &st, AT_SYMLINK_NOFOLLOW) || !S_ISREG(st.st_mode)
		       ? 0
		       : (uint64_t)st.st_size;
}

/* The total size of its files in bytes. */
static uint64_t sizes_of(const struct run *run)
{
	_cleanup_(cleanup_closedir) DIR *d = read_folder(run);
	uint64_t bytes = 0;

	for (const struct dirent *e; d && (e = readdir(d));) {
		if (strcmp(e->d_name, FACTS) != 0)
			bytes += size_of(run, e->d_name);
	}
	return bytes;
}

int store_load(const struct store *r, uint64_t id, struct json_object **doc, struct err *err)
{
	_cleanup_(run_close) struct run run = RUN_INIT;

	if (open_run(r, id, &run, err))
		return -1;
	*doc = read_facts(&run);
	if (!*doc)
		return err_raise(err, ERROR_RUN_UNREADABLE, .number = (int64_t)id);
	if (api_run_is_running(*doc) && !is_locked(&run, false)) {
		flock(run.dir, LOCK_UN);
		api_run_left(*doc);
	}
	api_run_now(*doc, size_of(&run, files[PROFILE]), size_of(&run, files[BASE]),
		    sizes_of(&run));
	return 0;
}

int store_list(const struct store *r, pid_t pid, struct json_object **all, struct err *err)
{
	_cleanup_(cleanup_free) uint64_t *ids = NULL;
	size_t n = 0;

	if (*r->path && numbers(r, &ids, &n, err))
		return -1;
	*all = json_object_new_array();
	for (size_t i = 0; i < n; i++) {
		struct json_object *doc = NULL;
		struct err ignored;

		/* Skip runs that are being removed or have no facts yet. */
		if (store_load(r, ids[i], &doc, &ignored))
			continue;
		if (!pid || api_run_pid(doc) == pid)
			json_object_array_add(*all, doc);
		else
			json_object_put(doc);
	}
	return 0;
}

uint64_t store_find(const struct store *r, pid_t pid, uint64_t but)
{
	_cleanup_(cleanup_free) uint64_t *ids = NULL;
	struct err ignored;
	size_t n = 0;

	if (numbers(r, &ids, &n, &ignored))
		return 0;
	for (size_t i = 0; i < n; i++) {
		_cleanup_(json_close) struct json_object *doc = NULL;

		if (ids[i] != but && !store_load(r, ids[i], &doc, &ignored) &&
		    api_run_is_running(doc) && api_run_pid(doc) == pid)
			return ids[i];
	}
	return 0;
}

int store_open_profile(const struct store *r, uint64_t id, bool base, bool names, int *fd,
		       struct err *err)
{
	_cleanup_(run_close) struct run run = RUN_INIT;
	size_t i = base ? BASE : PROFILE;

	if (open_run(r, id, &run, err))
		return -1;
	*fd = names ? openat(run.dir, files[NAMED + i], O_RDONLY | O_NOFOLLOW | O_CLOEXEC) : -1;
	if (*fd < 0)
		*fd = openat(run.dir, files[i], O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	if (*fd >= 0)
		return 0;
	return err_raise(err, ERROR_NO_RUN_PROFILE, .number = (int64_t)id,
			 .what = base ? "beginning" : "end");
}

/* --- removal and repair --- */

int store_remove(const struct store *r, uint64_t id, struct err *err)
{
	_cleanup_(run_close) struct run run = RUN_INIT;

	if (open_run(r, id, &run, err))
		return -1;
	if (is_locked(&run, true)) {
		err_raise(err, ERROR_RUN_GOES_ON, .number = (int64_t)id);
		return err_advise(err, FIX_STOP_RUN, .number = (int64_t)id);
	}
	return remove_folder(&run) ? failed(r, ERROR_RUNS_FAILED, errno, err) : 0;
}

/* Is it too old for its facts to be still on their way? */
static bool is_old(const struct run *run)
{
	struct stat st;

	return !fstat(run->dir, &st) && time(NULL) - st.st_mtime > BEGIN_S;
}

/* It has no facts yet, and is not old. */
static bool is_beginning(const struct run *run)
{
	struct stat st;

	return fstatat(run->dir, FACTS, &st, 0) && errno == ENOENT && !is_old(run);
}

void store_retain(const struct store *r)
{
	_cleanup_(cleanup_free) uint64_t *ids = NULL;
	struct err ignored;
	uint64_t bytes = 0;
	size_t n = 0;

	if (numbers(r, &ids, &n, &ignored))
		return;
	for (size_t i = 0; i < n; i++) {
		_cleanup_(run_close) struct run run = RUN_INIT;
		bool locked;

		if (open_run(r, ids[i], &run, &ignored))
			continue;
		locked = is_locked(&run, true) || is_beginning(&run);
		bytes += sizes_of(&run);
		if (i && !locked &&
		    ((r->keep && i >= r->keep) || (r->max_bytes && bytes > r->max_bytes)))
			(void)!remove_folder(&run);
	}
}

/* If it was killed, restore its process. */
static int repair(struct run *run, const struct ops_options *options, struct err *err)
{
	_cleanup_(json_close) struct json_object *doc = read_facts(run);
	struct ops_options of = *options;
	struct ops_undone undone;
	struct stat st;

	if (!doc && fstatat(run->dir, FACTS, &st, 0) && errno == ENOENT && is_old(run))
		(void)!remove_folder(run); /* killed before it began */
	if (!doc || !api_run_is_running(doc))
		return 0;
	of.start_time = api_run_start_time(doc);
	if (ops_undo(api_run_pid(doc), &of, &undone, err)) {
		if (err->code != ERR_NOPROC)
			return -1;
	} else if (undone.how == OPS_UNDO_FAILED) {
		*err = undone.why;
		return -1;
	}
	api_run_interrupted(doc);
	return run_write(run, doc, err);
}

int store_repair(const struct store *r, const struct ops_options *options, struct err *err)
{
	_cleanup_(cleanup_free) uint64_t *ids = NULL;
	size_t n = 0;
	int ret = 0;

	if (numbers(r, &ids, &n, err))
		return -1;
	for (size_t i = 0; i < n; i++) {
		_cleanup_(run_close) struct run run = RUN_INIT;
		struct err why = ERR_INIT;

		if (open_run(r, ids[i], &run, &why) || is_locked(&run, true) ||
		    !repair(&run, options, &why))
			continue;
		*err = why;
		ret = -1;
	}
	return ret;
}
