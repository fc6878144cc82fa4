// SPDX-License-Identifier: Apache-2.0
/* Hook commands: their environment, how many run at once, and how they end. */
#include "ops/hook.h"

#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <cmocka.h>

#include "tests/unit/scratch.h"

#define PATIENCE_MS 60000

/* A command that creates NAME-NUMBER and runs until `file` exists or the test has ended. */
#define WAITS(name, file)                                              \
	"cd $JEPROF_CTL_FOLDER && touch " name "-$JEPROF_CTL_NUMBER; " \
	"while [ -d $JEPROF_CTL_FOLDER ] && [ ! -e " file " ]; do sleep .02; done"

/* --- the environment --- */

static const char *value(const struct hook_env *env, const char *name)
{
	const char *found = NULL;
	size_t len = strlen(name);

	for (char **e = env->v; *e; e++) {
		if (strncmp(*e, name, len) != 0 || (*e)[len] != '=')
			continue;
		assert_null(found); /* once */
		found = *e + len + 1;
	}
	return found;
}

/* Runs a trivial command with the environment, which frees it. */
static void drop(struct hook_env *env)
{
	struct hooks h = { .command = ":" };

	hook_run(&h, env);
	hooks_finish(&h, -1);
	assert_int_equal(h.failed, 0);
}

static void test_environment(void **state)
{
	const struct timespec epoch = { 0, 999 }, time = { 1764151200, 123456789 };
	struct hook_env env;
	size_t ours;

	(void)state;
	setenv("JEPROF_CTL_FILE", "of whoever started us", 1);
	setenv("JEPROF_CTL_", "", 1);
	setenv("JEPROF_CT", "not ours", 1);
	setenv("OTHER", "a=b c", 1);
	hook_env_begin(&env);
	ours = env.n;
	assert_string_equal(value(&env, "OTHER"), "a=b c");
	assert_string_equal(value(&env, "JEPROF_CT"), "not ours");
	assert_non_null(value(&env, "PATH"));
	assert_null(value(&env, "JEPROF_CTL_FILE"));
	assert_null(value(&env, "JEPROF_CTL_"));
	hook_set(&env, "FILE", "/tmp/a b=$(c)\n\"'.heap");
	hook_set(&env, "BEFORE", NULL);
	hook_set(&env, "EMPTY", "");
	hook_set_number(&env, "ZERO", 0);
	hook_set_number(&env, "MOST", UINT64_MAX);
	hook_set_time(&env, "TIME", &time);
	hook_set_time(&env, "EPOCH", &epoch);
	assert_int_equal(env.n, ours + 7);
	assert_null(env.v[env.n]);
	assert_string_equal(value(&env, "JEPROF_CTL_FILE"), "/tmp/a b=$(c)\n\"'.heap");
	assert_string_equal(value(&env, "JEPROF_CTL_BEFORE"), "");
	assert_string_equal(value(&env, "JEPROF_CTL_EMPTY"), "");
	assert_string_equal(value(&env, "JEPROF_CTL_ZERO"), "0");
	assert_string_equal(value(&env, "JEPROF_CTL_MOST"), "18446744073709551615");
	assert_string_equal(value(&env, "JEPROF_CTL_TIME"), "2025-11-26T10:00:00.123456Z");
	assert_string_equal(value(&env, "JEPROF_CTL_EPOCH"), "1970-01-01T00:00:00.000000Z");
	drop(&env);
	assert_null(env.v);
}

/* More variables, and a larger one, than there is room for initially. */
static void test_large(void **state)
{
	static char large[100000];
	struct hook_env env;
	char name[32];

	(void)state;
	memset(large, 'x', sizeof(large) - 1);
	hook_env_begin(&env);
	for (int i = 0; i < 300; i++) {
		snprintf(name, sizeof(name), "N%d", i);
		hook_set(&env, name, "x");
	}
	hook_set(&env, "LARGE", large);
	assert_string_equal(value(&env, "JEPROF_CTL_N299"), "x");
	assert_int_equal(strlen(value(&env, "JEPROF_CTL_LARGE")), sizeof(large) - 1);
	drop(&env);
}

/* --- the commands --- */

/* Runs the command with the folder and a number in its environment. */
static void run_hook(struct hooks *h, unsigned int number)
{
	struct hook_env env;

	hook_env_begin(&env);
	hook_set(&env, "FOLDER", folder);
	hook_set_number(&env, "NUMBER", number);
	hook_run(h, &env);
}

static size_t count(const char *pattern)
{
	char command[256];
	FILE *f;
	size_t n = 0;

	snprintf(command, sizeof(command), "ls %s/%s 2>/dev/null | wc -l", folder, pattern);
	f = popen(command, "r");
	assert_int_equal(fscanf(f, "%zu", &n), 1);
	pclose(f);
	return n;
}

/* Fails instead of waiting forever. */
#define within(condition)                       \
	do {                                    \
		int left_ = PATIENCE_MS / 10;   \
		while (!(condition) && left_--) \
			poll(NULL, 0, 10);      \
		assert_true(condition);         \
	} while (0)

static void test_shell(void **state)
{
	struct hooks h = { .command =
				   "cd \"$JEPROF_CTL_FOLDER\" && echo \"$0 $#\" >shell-$JEPROF_CTL_"
				   "NUMBER && cat >input" };

	(void)state;
	assert_true(hooks_wanted(&h));
	run_hook(&h, 7);
	hooks_finish(&h, -1);
	assert_int_equal(h.failed, 0);
	run("test \"$(cat shell-7)\" = 'sh 0'; test -e input && test ! -s input");
}

/* Started by name and by path, without arguments; its output goes to stderr. */
static void test_program(void **state)
{
	struct hooks h = { .program = "told" };
	char path[512];
	int out = dup(STDOUT_FILENO), err = dup(STDERR_FILENO);

	(void)state;
	run("printf '#!/bin/sh\\necho $#-$JEPROF_CTL_NUMBER\\n' >told; chmod +x told");
	snprintf(path, sizeof(path), "%s/output", folder);
	assert_int_equal(dup2(open(path, O_WRONLY | O_CREAT, 0600), STDERR_FILENO), STDERR_FILENO);
	assert_int_equal(dup2(open("/dev/full", O_WRONLY), STDOUT_FILENO), STDOUT_FILENO);
	snprintf(path, sizeof(path), "%s:%s", folder, getenv("PATH"));
	setenv("PATH", path, 1);
	run_hook(&h, 1);
	hooks_finish(&h, -1);
	snprintf(path, sizeof(path), "%s/told", folder);
	h.program = path;
	run_hook(&h, 2);
	hooks_finish(&h, -1);
	dup2(out, STDOUT_FILENO);
	dup2(err, STDERR_FILENO);
	close(out);
	close(err);
	assert_int_equal(h.failed, 0);
	run("test \"$(cat output)\" = \"$(printf '0-1\\n0-2')\"");
}

static void test_none(void **state)
{
	struct hooks h = { .command = NULL };

	(void)state;
	assert_false(hooks_wanted(&h));
	hooks_finish(&h, -1);
	assert_false(hooks_go_on(&h));
	hooks_fini(&h);
}

/* Commands that fail, are killed, or do not exist. */
static void test_failed(void **state)
{
	static const char *const commands[] = { "exit 1", "kill -9 $$",
						"no-such-command 2>/dev/null", "exit 0", "true" };
	struct hooks h = { .program = "/no/such/program" };

	(void)state;
	run_hook(&h, 0);
	assert_int_equal(h.failed, 1);
	assert_int_equal(h.n_running, 0);
	h.program = NULL;
	for (size_t i = 0; i < sizeof(commands) / sizeof(*commands); i++) {
		h.command = commands[i];
		run_hook(&h, 0);
	}
	hooks_finish(&h, -1);
	assert_int_equal(h.failed, 4);
	assert_int_equal(h.skipped, 0);
}

/* Without memory for its whole environment, a command is not run. */
static void test_no_memory(void **state)
{
	struct hooks h = { .command = "touch $JEPROF_CTL_FOLDER/uninformed" };
	struct hook_env env = { .v = NULL };

	(void)state;
	hook_set(&env, "FOLDER", folder);
	hook_set_number(&env, "NUMBER", 1);
	hook_run(&h, &env);
	assert_int_equal(h.failed, 1);
	assert_false(hooks_go_on(&h));
	assert_int_equal(count("uninformed"), 0);
}

/* Each command runs until it may end; waiting ones start in order of arrival. */
static void test_at_once(void **state)
{
	struct hooks h = { .command = WAITS("at", "go-$JEPROF_CTL_NUMBER") };

	(void)state;
	for (unsigned int i = 1; i <= HOOKS_MAX + 3; i++)
		run_hook(&h, i);
	within(count("at-*") == HOOKS_MAX);
	assert_true(hooks_go_on(&h));
	assert_int_equal(h.n_running, HOOKS_MAX);
	assert_int_equal(h.n_waiting, 3);
	run("touch go-1");
	within((hooks_go_on(&h), count("at-9")));
	assert_int_equal(h.n_running, HOOKS_MAX);
	assert_int_equal(h.n_waiting, 2);
	run("touch go-9");
	within((hooks_go_on(&h), count("at-10")));
	assert_int_equal(h.n_waiting, 1);
	run("touch go-2 go-3 go-4 go-5 go-6 go-7 go-8 go-10 go-11");
	hooks_finish(&h, -1);
	assert_int_equal(count("at-*"), HOOKS_MAX + 3);
	assert_int_equal(h.n_running + h.n_waiting + h.failed + h.skipped, 0);
	assert_false(hooks_go_on(&h));
	hooks_fini(&h);
}

/* Commands that do not fit into the queue are counted as skipped; its slots are reused. */
static void test_skipped(void **state)
{
	struct hooks h = { .command = WAITS("place", "places") };

	(void)state;
	for (unsigned int i = 0; i < HOOKS_MAX + HOOKS_WAITING + 5; i++)
		run_hook(&h, i);
	assert_int_equal(h.n_running, HOOKS_MAX);
	assert_int_equal(h.n_waiting, HOOKS_WAITING);
	assert_int_equal(h.skipped, 5);
	run("touch places");
	within((hooks_go_on(&h), h.n_waiting <= HOOKS_WAITING / 2));
	for (unsigned int i = 1000; i < 1050; i++)
		run_hook(&h, i);
	hooks_finish(&h, -1);
	assert_int_equal(h.skipped, 5);
	assert_int_equal(h.failed, 0);
	assert_int_equal(count("place-*"), HOOKS_MAX + HOOKS_WAITING + 50);
}

/* --- stopping --- */

/* hooks_finish() waits for all commands, unless a stop is requested while it waits. */
static void test_stopped(void **state)
{
	struct hooks h = { .command = WAITS("stop", "stops") };
	int fds[2];
	pid_t pid;

	(void)state;
	assert_int_equal(pipe(fds), 0);
	for (unsigned int i = 0; i < HOOKS_MAX + 2; i++)
		run_hook(&h, i);
	within(count("stop-*") == HOOKS_MAX);
	/* A stop that was requested earlier. */
	assert_int_equal(write(fds[1], "x", 1), 1);
	pid = fork();
	if (!pid) {
		/* Once the descriptor is drained, hooks_finish() waits: request another stop. */
		struct pollfd p = { .fd = fds[0], .events = POLLIN };

		while (poll(&p, 1, 0) > 0)
			poll(NULL, 0, 5);
		_exit(write(fds[1], "y", 1) != 1);
	}
	hooks_finish(&h, fds[0]);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_int_equal(h.n_running, HOOKS_MAX);
	assert_int_equal(h.n_waiting, 2);
	/* Waiting commands are dropped; running ones continue. */
	hooks_fini(&h);
	assert_int_equal(h.n_waiting, 0);
	run("touch stops");
	for (size_t i = 0; i < h.n_running; i++) {
		int status;

		assert_int_equal(waitpid(h.running[i], &status, 0), h.running[i]);
		assert_int_equal(status, 0);
	}
	assert_int_equal(count("stop-*"), HOOKS_MAX);
	close(fds[0]);
	close(fds[1]);
}

static int setup(void **state)
{
	(void)state;
	return scratch_make(":");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_environment), cmocka_unit_test(test_large),
		cmocka_unit_test(test_shell),	    cmocka_unit_test(test_program),
		cmocka_unit_test(test_none),	    cmocka_unit_test(test_failed),
		cmocka_unit_test(test_no_memory),   cmocka_unit_test(test_at_once),
		cmocka_unit_test(test_skipped),	    cmocka_unit_test(test_stopped),
	};

	return cmocka_run_group_tests(tests, setup, scratch_remove);
}
