// SPDX-License-Identifier: Apache-2.0
/* An operation in its own process: its answer, its errors, and how it can end. */
#include "ops/apart/subprocess.h"

#include "base/cleanup.h"
#include "base/signals.h"
#include "tests/unit/said.h"

#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define PATIENCE_MS 60000
#define LARGE ((size_t)50 << 20)

static size_t count_fds(void)
{
	DIR *d = opendir("/proc/self/fd");
	size_t n = 0;

	while (readdir(d))
		n++;
	closedir(d);
	return n;
}

/* Start it, and take its answer. Returns 0, or the first id of its error. */
static enum error id_of(subprocess_fn *fn, void *ctx, char **bytes, struct unpack *answer,
			struct err *err)
{
	struct subprocess p = SUBPROCESS_INIT;
	int ret;

	*err = (struct err)ERR_INIT;
	if (subprocess_start(&p, fn, ctx, err))
		fail_msg("%s", said(err));
	ret = subprocess_take(&p, bytes, answer, err);
	assert_true(p.pidfd == -1 && p.answer == -1);
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1); /* no child is left */
	assert_int_equal(ret, err->ids[0] ? -1 : 0);
	return err->ids[0];
}

static enum error fails(subprocess_fn *fn, struct err *err)
{
	char *bytes = (char *)"untouched";
	struct unpack answer;
	enum error id = id_of(fn, NULL, &bytes, &answer, err);

	assert_string_equal(bytes, "untouched");
	return id;
}

/* --- answers --- */

static int answer_some(void *ctx, int stop_fd, struct pack *answer, struct err *err)
{
	int *number = ctx;

	(void)err;
	pack_u64(answer, (uint64_t)*number);
	pack_text(answer, "text");
	pack_u64(answer, getpgrp() == getpid());
	pack_u64(answer, stop_asked(stop_fd));
	*number = 0; /* only in the child's copy */
	return 0;
}

static void test_answer(void **state)
{
	_cleanup_(cleanup_free) char *bytes = NULL;
	struct unpack u;
	struct err err;
	int number = 42;
	char text[8];

	(void)state;
	assert_int_equal(id_of(answer_some, &number, &bytes, &u, &err), 0);
	assert_int_equal(unpack_u64(&u), 42);
	unpack_into(&u, text, sizeof(text));
	assert_string_equal(text, "text");
	assert_true(unpack_bool(&u));  /* has its own process group */
	assert_false(unpack_bool(&u)); /* was not asked to stop */
	assert_true(unpack_done(&u));
	assert_int_equal(number, 42);
}

static int answer_nothing(void *ctx, int stop_fd, struct pack *answer, struct err *err)
{
	(void)ctx;
	(void)stop_fd;
	(void)answer;
	(void)err;
	return 0;
}

static int answer_much(void *ctx, int stop_fd, struct pack *answer, struct err *err)
{
	char *text = malloc(LARGE);

	(void)ctx;
	(void)stop_fd;
	(void)err;
	memset(text, 'x', LARGE - 1);
	text[LARGE - 1] = '\0';
	pack_text(answer, text);
	pack_u64(answer, 7);
	free(text);
	return 0;
}

static void test_sizes(void **state)
{
	_cleanup_(cleanup_free) char *none = NULL, *much = NULL, *text = NULL;
	struct unpack u;
	struct err err;

	(void)state;
	assert_int_equal(id_of(answer_nothing, NULL, &none, &u, &err), 0);
	assert_true(unpack_done(&u));
	assert_int_equal(id_of(answer_much, NULL, &much, &u, &err), 0);
	text = unpack_text(&u, LARGE);
	assert_int_equal(strlen(text), LARGE - 1);
	assert_int_equal(strspn(text, "x"), LARGE - 1);
	assert_int_equal(unpack_u64(&u), 7);
	assert_true(unpack_done(&u));
}

/* Several at once, taken in reverse order. */
static void test_several(void **state)
{
	struct subprocess p[3] = { SUBPROCESS_INIT, SUBPROCESS_INIT, SUBPROCESS_INIT };
	int numbers[] = { 5, 6, 7 };
	struct err err = ERR_INIT;

	(void)state;
	for (int i = 0; i < 3; i++)
		assert_int_equal(subprocess_start(&p[i], answer_some, &numbers[i], &err), 0);
	for (int i = 2; i >= 0; i--) {
		_cleanup_(cleanup_free) char *bytes = NULL;
		struct unpack u;

		assert_int_equal(subprocess_take(&p[i], &bytes, &u, &err), 0);
		assert_int_equal(unpack_u64(&u), numbers[i]);
	}
}

/* --- errors --- */

static int fail_within(void *ctx, int stop_fd, struct pack *answer, struct err *err)
{
	(void)ctx;
	(void)stop_fd;
	pack_text(answer, "half of it");
	err_raise_sys(err, ERROR_FILE_UNREMOVABLE, ENOTEMPTY, .path = "/a b\033[1m");
	err_advise(err, FIX_ACTIONS);
	return err_within(err, ERROR_IN_PROCESS, .pid = 7, .comm = "it");
}

static void test_error(void **state)
{
	struct err err;

	(void)state;
	assert_int_equal(fails(fail_within, &err), ERROR_IN_PROCESS);
	assert_int_equal(err.ids[1], ERROR_FILE_UNREMOVABLE);
	assert_int_equal(err.code, ERR_OUTPUT);
	assert_int_equal(err.sys, ENOTEMPTY);
	assert_int_equal(err.fixes[0], FIX_ACTIONS);
	assert_int_equal(err.held.pid, 7);
	assert_string_equal(err.held.comm, "it");
	assert_string_equal(err.held.path, "/a b\033[1m");
}

static int fail_short_of_files(void *ctx, int stop_fd, struct pack *answer, struct err *err)
{
	(void)ctx;
	(void)stop_fd;
	(void)answer;
	err_remember(EMFILE, ERROR_FOLDER_UNREADABLE, .path = "/proc");
	return err_raise(err, ERROR_NO_RESULT);
}

static int fail_lost(void *ctx, int stop_fd, struct pack *answer, struct err *err)
{
	(void)ctx;
	(void)stop_fd;
	(void)answer;
	err_remember(EMFILE, ERROR_FOLDER_UNREADABLE, .path = "/proc");
	return err_raise(err, ERROR_RECORDING_LOST, .pid = 7);
}

static int fail_plainly(void *ctx, int stop_fd, struct pack *answer, struct err *err)
{
	(void)ctx;
	(void)stop_fd;
	(void)answer;
	return err_raise(err, ERROR_NO_RESULT);
}

/* A limit that the child has hit explains its failure; one that its parent has hit does not. */
static void test_limits(void **state)
{
	struct err err;

	(void)state;
	assert_int_equal(fails(fail_short_of_files, &err), ERROR_FOLDER_UNREADABLE);
	assert_int_equal(err.sys, EMFILE);
	assert_int_equal(fails(fail_lost, &err), ERROR_RECORDING_LOST);
	err_remember(EMFILE, ERROR_FOLDER_UNREADABLE, .path = "/proc");
	assert_int_equal(fails(fail_plainly, &err), ERROR_NO_RESULT);
	assert_true(err_is_remembered());
	err_forget();
}

/* --- abnormal ends --- */

static int be_killed(void *ctx, int stop_fd, struct pack *answer, struct err *err)
{
	(void)ctx;
	(void)stop_fd;
	(void)err;
	pack_u64(answer, 1);
	raise(SIGKILL);
	return 0;
}

static int end_badly(void *ctx, int stop_fd, struct pack *answer, struct err *err)
{
	(void)ctx;
	(void)stop_fd;
	(void)answer;
	(void)err;
	_exit(3);
}

static int end_early(void *ctx, int stop_fd, struct pack *answer, struct err *err)
{
	(void)ctx;
	(void)stop_fd;
	(void)answer;
	(void)err;
	_exit(0);
}

/* There is no memory for its answer. */
static int have_no_memory(void *ctx, int stop_fd, struct pack *answer, struct err *err)
{
	(void)ctx;
	(void)stop_fd;
	(void)err;
	answer->failed = true;
	return 0;
}

/* There is no room for its answer in the file. */
static int have_no_room(void *ctx, int stop_fd, struct pack *answer, struct err *err)
{
	const struct rlimit little = { 100, 100 };

	signal(SIGXFSZ, SIG_IGN);
	setrlimit(RLIMIT_FSIZE, &little);
	return answer_much(ctx, stop_fd, answer, err);
}

static void test_death(void **state)
{
	_cleanup_(cleanup_free) char *bytes = NULL;
	struct unpack u;
	struct err err;

	(void)state;
	assert_int_equal(fails(be_killed, &err), ERROR_SUBPROCESS_DIED);
	assert_int_equal(err.code, ERR_FAILED);
	assert_int_equal(err.held.signal, SIGKILL);
	assert_int_equal(fails(end_badly, &err), ERROR_SUBPROCESS_DIED);
	assert_int_equal(err.held.signal, 0);
	assert_int_equal(fails(have_no_memory, &err), ERROR_SUBPROCESS_DIED);
	assert_int_equal(fails(have_no_room, &err), ERROR_SUBPROCESS_DIED);
	/* An empty answer does not pass for a complete one. */
	assert_int_equal(id_of(end_early, NULL, &bytes, &u, &err), 0);
	assert_false(unpack_done(&u));
}

/* --- stop requests --- */

/* Wait for a stop request; answer whether one came. */
static int wait_for_stop(void *ctx, int stop_fd, struct pack *answer, struct err *err)
{
	struct pollfd p = { .fd = stop_fd, .events = POLLIN };
	const int *ready = ctx;

	(void)err;
	if (ready && write(*ready, "r", 1) != 1)
		return -1;
	pack_u64(answer, poll(&p, 1, PATIENCE_MS) == 1);
	if (ready && write(*ready, "s", 1) != 1)
		return -1;
	return 0;
}

static bool is_stopped(struct subprocess *p)
{
	_cleanup_(cleanup_free) char *bytes = NULL;
	struct err err = ERR_INIT;
	struct unpack u;

	return !subprocess_take(p, &bytes, &u, &err) && unpack_bool(&u) && unpack_done(&u);
}

static void test_stop(void **state)
{
	static const int signals[] = { SIGINT, SIGTERM, SIGHUP };
	struct subprocess p = SUBPROCESS_INIT;
	struct err err = ERR_INIT;

	(void)state;
	/* Requested before the operation has begun. */
	assert_int_equal(subprocess_start(&p, wait_for_stop, NULL, &err), 0);
	subprocess_stop(&p);
	assert_true(is_stopped(&p));
	for (size_t i = 0; i < 3; i++) {
		assert_int_equal(subprocess_start(&p, wait_for_stop, NULL, &err), 0);
		kill(p.pid, signals[i]);
		assert_true(is_stopped(&p));
	}
	/* Its pidfd shows that it has ended; later requests are ignored. */
	assert_int_equal(subprocess_start(&p, answer_nothing, NULL, &err), 0);
	assert_int_equal(poll(&(struct pollfd){ .fd = p.pidfd, .events = POLLIN }, 1, PATIENCE_MS),
			 1);
	subprocess_stop(&p);
	assert_false(is_stopped(&p));
	subprocess_stop(&p);
}

/* A Ctrl-C at the terminal only reaches our process group; the subprocess has its own. */
static void test_group(void **state)
{
	struct subprocess p = SUBPROCESS_INIT;
	struct err err = ERR_INIT;
	int fds[2], mine;
	char c;

	(void)state;
	assert_int_equal(pipe(fds), 0);
	assert_int_equal(subprocess_start(&p, wait_for_stop, &fds[1], &err), 0);
	assert_int_equal(read(fds[0], &c, 1), 1);
	mine = getpgrp();
	assert_int_not_equal(getpgid(p.pid), mine);
	assert_int_equal(getpgid(p.pid), p.pid);
	subprocess_stop(&p);
	assert_true(is_stopped(&p));
	close(fds[0]);
	close(fds[1]);
}

/* When its parent is killed, the kernel notifies it, and it ends with care. */
static void test_parent_killed(void **state)
{
	char c = '\0';
	int fds[2];
	pid_t parent;

	(void)state;
	assert_int_equal(pipe(fds), 0);
	parent = fork();
	if (!parent) {
		struct subprocess p = SUBPROCESS_INIT;
		struct err err = ERR_INIT;

		close(fds[0]);
		if (!subprocess_start(&p, wait_for_stop, &fds[1], &err))
			pause();
		_exit(1);
	}
	close(fds[1]);
	assert_int_equal(read(fds[0], &c, 1), 1);
	assert_int_equal(c, 'r');
	kill(parent, SIGKILL);
	assert_int_equal(waitpid(parent, NULL, 0), parent);
	assert_int_equal(read(fds[0], &c, 1), 1);
	assert_int_equal(c, 's');
	/* It has exited: end of file. */
	assert_int_equal(read(fds[0], &c, 1), 0);
	close(fds[0]);
}

/* --- failures to start --- */

static void test_unstartable(void **state)
{
	struct rlimit before, less;
	size_t open_before = count_fds();
	int next = dup(0);

	(void)state;
	close(next);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	/* No file descriptor is left for its answer, or for its pidfd. */
	for (int i = 0; i < 2; i++) {
		struct subprocess p = SUBPROCESS_INIT;
		struct err err = ERR_INIT;

		less = before;
		less.rlim_cur = (rlim_t)next + (rlim_t)i;
		assert_int_equal(setrlimit(RLIMIT_NOFILE, &less), 0);
		assert_int_equal(subprocess_start(&p, answer_nothing, NULL, &err), -1);
		assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
		assert_int_equal(err.code, ERR_FAILED);
		assert_int_equal(err.sys, EMFILE);
		assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
		assert_int_equal(errno, ECHILD);
		assert_int_equal(count_fds(), open_before);
	}
	err_forget();
}

static int setup(void **state)
{
	sigset_t ends;

	(void)state;
	sigemptyset(&ends);
	sigaddset(&ends, SIGINT);
	sigaddset(&ends, SIGTERM);
	sigaddset(&ends, SIGHUP);
	return sigprocmask(SIG_BLOCK, &ends, NULL);
}

static int same_fds(void **state)
{
	static size_t before;

	(void)state;
	if (before && count_fds() != before)
		return -1;
	before = count_fds();
	return 0;
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, same_fds, same_fds)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_answer),	TEST(test_sizes),  TEST(test_several),
		TEST(test_error),	TEST(test_limits), TEST(test_death),
		TEST(test_stop),	TEST(test_group),  TEST(test_parent_killed),
		TEST(test_unstartable),
	};

	return cmocka_run_group_tests(tests, setup, NULL);
}
