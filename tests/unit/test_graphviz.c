// SPDX-License-Identifier: Apache-2.0
/* A dot(1) that draws, fails, hangs, or is missing. */
static unsigned int patience_ms = 60000;
#define PATIENCE_MS patience_ms
#include "io/graphviz.c" // NOLINT(bugprone-suspicious-include)

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include <cmocka.h>

static char folder[] = "/tmp/test_graphviz.XXXXXX", program[64];

static int write_graph(FILE *out, const void *ctx, struct err *err)
{
	(void)ctx, (void)err;
	return fputs("digraph {}\n", out) < 0 ? -1 : 0;
}

/* dot(1) is a script with these commands. */
static int draw_by(const char *script, char *picture, size_t size, struct err *err)
{
	FILE *f = fopen(program, "we"), *out = fmemopen(picture, size, "w");
	int ret;

	assert_non_null(f);
	assert_non_null(out);
	fprintf(f, "#!/bin/sh\n%s\n", script);
	fclose(f);
	assert_int_equal(chmod(program, 0755), 0);
	ret = graphviz_draw("svg", write_graph, NULL, out, err);
	fclose(out);
	return ret;
}

static void test_draws(void **state)
{
	char picture[64] = "";
	struct err err = ERR_INIT;

	(void)state;
	assert_int_equal(draw_by("read line; echo \"$1 $line\"", picture, sizeof(picture), &err),
			 0);
	assert_string_equal(picture, "-Tsvg digraph {}\n");
}

static void test_fails(void **state)
{
	char picture[64];
	struct err err = ERR_INIT;

	(void)state;
	assert_int_equal(draw_by("echo no way >&2; exit 3", picture, sizeof(picture), &err), -1);
	assert_int_equal(err.ids[0], ERROR_GRAPHVIZ_FAILED);
	assert_string_equal(err.held.text, "no way");
	err = (struct err)ERR_INIT;
	assert_int_equal(draw_by("exec python3 -c 'import ctypes; ctypes.string_at(0)'", picture,
				 sizeof(picture), &err),
			 -1);
	assert_int_equal(err.ids[0], ERROR_GRAPHVIZ_KILLED);
	assert_int_equal(err.held.number, 11);
}

static void test_hangs(void **state)
{
	char picture[64];
	struct err err = ERR_INIT;

	(void)state;
	patience_ms = 500;
	assert_int_equal(draw_by("while :; do :; done", picture, sizeof(picture), &err), -1);
	patience_ms = 60000;
	assert_int_equal(err.ids[0], ERROR_GRAPHVIZ_LATE);
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
	assert_int_equal(errno, ECHILD);
}

static void test_not_there(void **state)
{
	char picture[64];
	FILE *out = fmemopen(picture, sizeof(picture), "w");
	struct err err = ERR_INIT;

	(void)state;
	unlink(program);
	assert_int_equal(graphviz_draw("svg", write_graph, NULL, out, &err), -1);
	assert_int_equal(err.ids[0], ERROR_GRAPHVIZ_MISSING);
	fclose(out);
}

static void test_user(void **state)
{
	uid_t one = 0, other = 0;

	(void)state;
	assert_true(graphviz_user(&one));
	assert_true(graphviz_user(&other));
	assert_true(one >= 60578 && other >= 60578);
	assert_int_not_equal(one, 65534);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_draws),	  cmocka_unit_test(test_fails),
		cmocka_unit_test(test_hangs),	  cmocka_unit_test(test_user),
		cmocka_unit_test(test_not_there),
	};
	int failed;

	if (!mkdtemp(folder) || chmod(folder, 0755))
		return 2;
	snprintf(program, sizeof(program), "%s/dot", folder);
	setenv("PATH", folder, 1);
	cmocka_set_message_output(CM_OUTPUT_TAP);
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	unlink(program);
	rmdir(folder);
	return failed;
}
