// SPDX-License-Identifier: Apache-2.0
/* Looking up tokens, and which token files are rejected. */
#include "serve/tokens.h"

#include "base/cleanup.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "tests/unit/said.h"
#include "tests/unit/scratch.h"

/* SHA-256 of 32 bytes 'a', and of 32 bytes 'b'. */
#define HASH_A "3ba3f5f43b92602683c19aee62a20342b084dd5971ddd33808d81a328879a547"
#define HASH_B "bdb339768bc5e4fecbe55a442056919b2b325907d49bcbf3bf8de13781996a83"

static struct tokens tokens;
static char path[64];

static int read_file(const char *content, struct err *err)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	fputs(content, f);
	fclose(f);
	chmod(path, 0600);
	*err = (struct err)ERR_INIT;
	return tokens_read(path, &tokens, err);
}

static void filled(unsigned char token[WIRE_TOKEN_SIZE], int byte)
{
	memset(token, byte, WIRE_TOKEN_SIZE);
}

static void test_find(void **state)
{
	unsigned char token[WIRE_TOKEN_SIZE];
	const struct token *found;
	struct err err;

	(void)state;
	assert_int_equal(read_file("# of the scraper\n\n  profile\t" HASH_A " scraper.1 \n", &err),
			 0);
	assert_int_equal(tokens.n, 1);
	filled(token, 'a');
	found = tokens_find(&tokens, token);
	assert_non_null(found);
	assert_int_equal(found->role, WIRE_ROLE_PROFILE);
	assert_string_equal(found->name, "scraper.1");
	for (int i = 0; i < WIRE_TOKEN_SIZE; i++) {
		filled(token, 'a');
		token[i] ^= 1;
		assert_null(tokens_find(&tokens, token));
	}
}

/* A new token is found, with its role, but the file does not contain it in plain text. */
static void test_make(void **state)
{
	static const enum wire_role roles[] = { WIRE_ROLE_READ, WIRE_ROLE_PROFILE,
						WIRE_ROLE_CONTROL };
	char text[3][TOKEN_TEXT_SIZE], content[1024] = "";
	struct err err = ERR_INIT;
	struct stat st;
	FILE *f;

	(void)state;
	unlink(path);
	for (int i = 0; i < 3; i++)
		assert_int_equal(token_make(path, roles[i], i ? "n" : NULL, text[i], &err), 0);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	assert_int_equal(tokens_read(path, &tokens, &err), 0);
	assert_int_equal(tokens.n, 3);
	f = fopen(path, "r");
	assert_true(fread(content, 1, sizeof(content) - 1, f) > 0);
	fclose(f);
	for (int i = 0; i < 3; i++) {
		unsigned char token[WIRE_TOKEN_SIZE];

		assert_int_equal(strlen(text[i]), 2 * WIRE_TOKEN_SIZE);
		assert_null(strstr(content, text[i]));
		for (int k = 0; k < WIRE_TOKEN_SIZE; k++)
			sscanf(text[i] + 2 * k, "%2hhx", &token[k]);
		assert_int_equal(tokens_find(&tokens, token)->role, roles[i]);
	}
}

/* A token is appended correctly after a line without a newline. */
static void test_make_behind(void **state)
{
	char text[TOKEN_TEXT_SIZE];
	struct err err;

	(void)state;
	assert_int_equal(read_file("read " HASH_A, &err), 0);
	assert_int_equal(token_make(path, WIRE_ROLE_READ, NULL, text, &err), 0);
	assert_int_equal(tokens_read(path, &tokens, &err), 0);
	assert_int_equal(tokens.n, 2);
}

static void test_lines(void **state)
{
	static const char *const wrong[] = {
		"admin " HASH_A "\n",
		"read\n",
		"read " HASH_A "0\n",
		"read " HASH_A " two names\n",
		"read " HASH_A " a/b\n",
		"read xba3f5f43b92602683c19aee62a20342b084dd5971ddd33808d81a328879a547\n",
		"read " HASH_A " a-name-that-is-longer-than-is-kept\n",
		HASH_A "\n",
	};
	char line[512];
	struct err err;

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		snprintf(line, sizeof(line), "control " HASH_B "\n%s", wrong[i]);
		assert_int_equal(read_file(line, &err), -1);
		assert_int_equal(err.ids[0], ERROR_TOKEN_LINE);
		assert_int_equal(err.held.number, 2);
	}
	memset(line, ' ', 300);
	snprintf(line + 300, sizeof(line) - 300, "\n");
	assert_int_equal(read_file(line, &err), -1);
	assert_int_equal(err.ids[0], ERROR_TOKEN_LINE);
	assert_int_equal(read_file("# none\n", &err), -1);
	assert_int_equal(err.ids[0], ERROR_NO_TOKENS);
	assert_int_equal(read_file("read " HASH_A, &err), 0); /* without a newline */
}

static void test_too_many(void **state)
{
	_cleanup_(cleanup_free) char *content = calloc(TOKENS_MAX + 1, 80);
	char text[TOKEN_TEXT_SIZE];
	struct err err;

	(void)state;
	for (int i = 0; i < TOKENS_MAX; i++)
		strcat(content, "read " HASH_A "\n");
	assert_int_equal(read_file(content, &err), 0);
	assert_int_equal(token_make(path, WIRE_ROLE_READ, NULL, text, &err), -1);
	assert_int_equal(err.ids[0], ERROR_TOO_MANY_TOKENS);
	assert_int_equal(tokens_read(path, &tokens, &err), 0); /* it is unchanged */
	strcat(content, "read " HASH_A "\n");
	assert_int_equal(read_file(content, &err), -1);
	assert_int_equal(err.ids[0], ERROR_TOKEN_LINE);
}

/* A file that others may write to is rejected: they could add a token of their own. */
static void test_files(void **state)
{
	static const mode_t open_to_others[] = { 0620, 0602, 0666 };
	char text[TOKEN_TEXT_SIZE];
	struct err err;

	(void)state;
	assert_int_equal(read_file("read " HASH_A "\n", &err), 0);
	for (size_t i = 0; i < sizeof(open_to_others) / sizeof(*open_to_others); i++) {
		chmod(path, open_to_others[i]);
		assert_int_equal(tokens_read(path, &tokens, &err), -1);
		assert_int_equal(err.ids[0], ERROR_TOKENS_NOT_OURS);
		assert_int_equal(token_make(path, WIRE_ROLE_READ, NULL, text, &err), -1);
		assert_int_equal(err.ids[0], ERROR_TOKENS_NOT_OURS);
	}
	chmod(path, 0644);
	assert_int_equal(tokens_read(path, &tokens, &err), 0);
	err = (struct err)ERR_INIT;
	assert_int_equal(tokens_read(folder, &tokens, &err), -1);
	assert_int_equal(err.ids[0], ERROR_TOKENS_NOT_OURS);
	unlink(path);
	assert_int_equal(tokens_read(path, &tokens, &err), -1);
	assert_int_equal(err.ids[0], ERROR_TOKENS_UNREADABLE);
	assert_int_equal(err.sys, ENOENT);
	assert_int_equal(symlink("elsewhere", path), 0);
	assert_int_equal(token_make(path, WIRE_ROLE_READ, NULL, text, &err), -1);
	assert_int_equal(err.ids[0], ERROR_TOKENS_UNWRITTEN);
	unlink(path);
}

static int setup(void **state)
{
	(void)state;
	if (scratch_make(":"))
		return -1;
	snprintf(path, sizeof(path), "%s/tokens", folder);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_find),	    cmocka_unit_test(test_make),
		cmocka_unit_test(test_make_behind), cmocka_unit_test(test_lines),
		cmocka_unit_test(test_too_many),    cmocka_unit_test(test_files),
	};

	return cmocka_run_group_tests(tests, setup, scratch_remove);
}
