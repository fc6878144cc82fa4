// SPDX-License-Identifier: Apache-2.0
#include "cli/fixes.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

/* Each fix has a text with its values filled in: an unknown name would leave a hole. */
static void test_all(void **state)
{
	char text[ERR_TEXT_SIZE];
	struct err err = ERR_INIT;

	(void)state;
	err_raise(&err, ERROR_NONE, .pid = 1, .tid = 2, .other = 3, .uid = 4, .number = 5,
		  .count = 6, .path = "/p", .file = "f", .last_file = "l", .name = "n", .conf = "C",
		  .command = "c", .text = "t");
	for (int fix = 1; fix < FIXES; fix++) {
		err.fixes[0] = fix;
		fix_text(&err, text, sizeof(text));
		if (!*text || strpbrk(text, "{}\n") || strstr(text, "  ") ||
		    text[strlen(text) - 1] == ' ')
			fail_msg("fix %d: %s", fix, text);
	}
}

static void test_several(void **state)
{
	char text[ERR_TEXT_SIZE], small[16];
	struct err err = ERR_INIT;

	(void)state;
	assert_string_equal(fix_text(&err, text, sizeof(text)), "");
	err_raise(&err, ERROR_PROCESS_TRACED, .pid = 1, .other = 33);
	err_advise(&err, FIX_LET_TRACER_DETACH);
	assert_string_equal(fix_text(&err, text, sizeof(text)),
			    "let process 33 detach, then try again");
	err_advise_too(&err, FIX_NOTHING_WAS_CHANGED);
	assert_string_equal(fix_text(&err, text, sizeof(text)),
			    "let process 33 detach, then try again; nothing was changed");
	assert_string_equal(fix_text(&err, small, sizeof(small)), "let process 33 ");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_all),
		cmocka_unit_test(test_several),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
