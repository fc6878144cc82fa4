// SPDX-License-Identifier: Apache-2.0
#include "ops/record/journal.h"
#include "tests/unit/said.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

/* A name with every byte that could end a word or a line. */
static const char odd_name[] = "a b\nprof.active false\nend 1%41\x7f\xff";

static struct journal opened(bool create)
{
	struct journal j = JOURNAL_INIT;
	struct err err = ERR_INIT;

	if (journal_open(&j, getpid(), create, &err))
		fail_msg("%s", said(&err));
	return j;
}

/* Runs fn() in a different process from the one that holds the lock. */
static bool in_child(bool (*fn)(pid_t pid))
{
	pid_t pid = getpid(), child = fork();
	int status;

	assert_true(child >= 0);
	if (!child)
		_exit(!fn(pid));
	assert_true(waitpid(child, &status, 0) == child);
	return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/* A journal held by another process is reported as busy, and its state is not returned. */
static bool is_busy(pid_t pid)
{
	struct journal j = JOURNAL_INIT;
	struct err err = ERR_INIT;
	bool busy = journal_open(&j, pid, true, &err) == -1 && err.code == ERR_BUSY &&
		    err.ids[0] == ERROR_RECORDED_BY && err.held.other == 12345 && !j.written &&
		    !j.state.active;

	journal_remove(&j);
	journal_close(&j);
	return busy;
}

static void test_round_trip(void **state)
{
	struct journal j = opened(true);
	struct err err = ERR_INIT;

	(void)state;
	assert_false(j.written);
	j.state = (struct journal_state){
		.pid = getpid(), .start_time = 77, .program = UINT64_MAX, .recorder = 5
	};
	strcpy(j.state.comm, odd_name);
	strcpy(j.state.image, odd_name);
	assert_int_equal(journal_write(&j, &err), 0);
	journal_close(&j);
	j = opened(false);
	assert_true(j.written);
	assert_string_equal(j.state.comm, odd_name);
	assert_string_equal(j.state.image, odd_name);
	assert_true(j.state.pid == getpid() && j.state.recorder == 5);
	assert_true(j.state.start_time == 77 && j.state.program == UINT64_MAX);
	assert_false(j.state.active || j.state.thread_active_init);
	j.state.active = true;
	assert_int_equal(journal_write(&j, &err), 0);
	journal_close(&j);
	j = opened(true);
	assert_true(j.state.active && !j.state.thread_active_init);
	journal_remove(&j);
	journal_close(&j);
	assert_int_equal(journal_open(&j, getpid(), false, &err), -1);
	assert_int_equal(err.code, ERR_NOPROC);
	journal_close(&j);
}

static void test_lock(void **state)
{
	struct journal j = opened(true);
	struct err err = ERR_INIT;

	(void)state;
	j.state = (struct journal_state){ .pid = getpid(), .recorder = 12345, .active = true };
	assert_int_equal(journal_write(&j, &err), 0);
	assert_true(in_child(is_busy));
	/* Attempts after the first one fail as well. */
	assert_true(in_child(is_busy));
	journal_close(&j);
	assert_false(in_child(is_busy));
	j = opened(true);
	journal_remove(&j);
	journal_close(&j);
}

static int ends[2]; /* a pipe: the orphaned child lives until [1] is closed */

/* Exits while it holds the lock, and leaves a child that has inherited its descriptors. */
static bool die_before_child(pid_t pid)
{
	struct journal j = JOURNAL_INIT;
	struct err err = ERR_INIT;
	char c;

	if (journal_open(&j, pid, true, &err))
		return false;
	j.state = (struct journal_state){ .pid = pid, .recorder = 12345, .active = true };
	if (journal_write(&j, &err))
		return false;
	if (fork() == 0) {
		close(ends[1]);
		_exit(read(ends[0], &c, 1) != 0);
	}
	return true;
}

/* The lock ends with the process that took it, even if a child survives. */
static void test_lock_is_not_inherited(void **state)
{
	struct journal j;

	(void)state;
	assert_int_equal(pipe(ends), 0);
	assert_true(in_child(die_before_child));
	j = opened(false);
	assert_true(j.written && j.state.active);
	journal_remove(&j);
	journal_close(&j);
	close(ends[0]);
	close(ends[1]);
}

/* A shorter text replaces a longer one atomically; the lock is kept. */
static void test_shorter(void **state)
{
	struct journal j = opened(true);
	struct err err = ERR_INIT;
	char path[256], text[4096] = "";
	FILE *f;

	(void)state;
	j.state = (struct journal_state){ .pid = getpid(), .active = true };
	memset(j.state.image, 'x', sizeof(j.state.image) - 1);
	assert_int_equal(journal_write(&j, &err), 0);
	j.state = (struct journal_state){ .pid = getpid(), .recorder = 12345 };
	assert_int_equal(journal_write(&j, &err), 0);
	assert_true(in_child(is_busy));
	snprintf(path, sizeof(path), "%s/jeprof-ctl/%d",
		 geteuid() ? getenv("XDG_RUNTIME_DIR") : "/run", getpid());
	f = fopen(path, "re");
	assert_non_null(f);
	assert_true(fread(text, 1, sizeof(text) - 1, f) > 0);
	fclose(f);
	assert_null(strstr(text, "xxx"));
	assert_null(strstr(text, "prof.active"));
	journal_close(&j);
	j = opened(false);
	assert_true(j.written && !j.state.active && !*j.state.image);
	journal_remove(&j);
	journal_close(&j);
}

/* A text followed by the tail of a longer one, as older versions could leave it, is rejected. */
static void test_not_whole(void **state)
{
	static const char head[] = "pid 1\nstart 2\nprogram 3\nrecorder 4\n";
	struct journal_state s;
	char text[512];

	(void)state;
	snprintf(text, sizeof(text), "%send 1\n", head);
	assert_true(journal_text_parse(text, &s));
	assert_false(s.active);
	snprintf(text, sizeof(text), "%send 1\nprof.active false\nend 1\n", head);
	assert_false(journal_text_parse(text, &s));
	snprintf(text, sizeof(text), "%send 1\nge libx\n", head);
	assert_false(journal_text_parse(text, &s));
	snprintf(text, sizeof(text), "%send 1", head);
	assert_false(journal_text_parse(text, &s));
	assert_false(journal_text_parse(head, &s));
	assert_false(journal_text_parse("", &s));
}

static const struct journal_state both = { .active = true, .thread_active_init = true };
static const struct journal_state active = { .active = true };
static const struct journal_state rest = { .thread_active_init = true, .rate = true };

static bool decided_is_busy(pid_t pid)
{
	struct err err = ERR_INIT;
	struct proc p;

	return !proc_open(&p, pid, &err) && journal_decided(&p, &both, &err) == -1 &&
	       err.code == ERR_BUSY;
}

/* Settings that the user has decided on are not restored; the others still are. */
static void test_decided(void **state)
{
	struct journal j = opened(true);
	struct err err = ERR_INIT;
	struct proc p;

	(void)state;
	assert_int_equal(proc_open(&p, getpid(), &err), 0);
	j.state = (struct journal_state){ .pid = getpid(),
					  .start_time = p.start_time,
					  .program = proc_program(getpid()),
					  .active = true,
					  .thread_active_init = true,
					  .rate = true,
					  .lg_sample = 19 };
	assert_int_equal(journal_write(&j, &err), 0);
	assert_true(in_child(decided_is_busy));
	journal_close(&j);
	p.start_time++; /* another process */
	assert_int_equal(journal_decided(&p, &both, &err), 0);
	p.start_time--;
	assert_int_equal(journal_decided(&p, &active, &err), 0);
	j = opened(false);
	assert_true(!j.state.active && j.state.thread_active_init && j.state.rate &&
		    j.state.lg_sample == 19);
	journal_close(&j);
	assert_int_equal(journal_decided(&p, &rest, &err), 0);
	assert_int_equal(journal_open(&j, getpid(), false, &err), -1);
	assert_int_equal(err.code, ERR_NOPROC);
	journal_close(&j);
	assert_int_equal(journal_decided(&p, &both, &err), 0);
	proc_close(&p);
}

static void test_list(void **state)
{
	struct journal j = opened(true);
	struct err err = ERR_INIT;
	pid_t *pids = NULL;
	bool found = false;
	size_t n = 0;

	(void)state;
	assert_int_equal(journal_list(&pids, &n, &err), 0);
	for (size_t i = 0; i < n; i++)
		found |= pids[i] == getpid();
	assert_true(found);
	free(pids);
	journal_remove(&j);
	journal_close(&j);
}

/* A different start time or a different program means a different process. */
static void test_identity(void **state)
{
	struct journal_state s = { 0 };
	struct err err = ERR_INIT;
	struct proc p;

	(void)state;
	assert_int_equal(proc_open(&p, getpid(), &err), 0);
	s = (struct journal_state){ .pid = getpid(),
				    .start_time = p.start_time,
				    .program = proc_program(getpid()) };
	assert_true(s.program != 0);
	assert_true(journal_is_of(&s, &p));
	s.program++;
	assert_false(journal_is_of(&s, &p));
	s.program = 0; /* it could not be read */
	assert_true(journal_is_of(&s, &p));
	s.start_time++;
	assert_false(journal_is_of(&s, &p));
	proc_close(&p);
}

int main(void)
{
	char folder[] = "/tmp/test_journal.XXXXXX", own[64];
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_round_trip),
		cmocka_unit_test(test_lock),
		cmocka_unit_test(test_lock_is_not_inherited),
		cmocka_unit_test(test_shorter),
		cmocka_unit_test(test_not_whole),
		cmocka_unit_test(test_decided),
		cmocka_unit_test(test_list),
		cmocka_unit_test(test_identity),
	};
	int failed;

	if (!mkdtemp(folder))
		return 2;
	setenv("XDG_RUNTIME_DIR", folder, 1); /* root uses /run */
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	snprintf(own, sizeof(own), "%s/jeprof-ctl", folder);
	rmdir(own);
	rmdir(folder);
	return failed;
}
