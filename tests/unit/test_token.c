// SPDX-License-Identifier: Apache-2.0
/* Which values of the Authorization header contain a token. */
#include "front/token.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define DIGITS "00112233445566778899aabbccddeeffFFEEDDCCBBAA99887766554433221100"
/* base64(1) of "me:" and of ":", each followed by these digits. */
#define OF_ME                                          \
	"bWU6MDAxMTIyMzM0NDU1NjY3Nzg4OTlhYWJiY2NkZGVl" \
	"ZmZGRkVFRERDQ0JCQUE5OTg4Nzc2NjU1NDQzMzIyMTEwMA=="
#define OF_NOBODY                                      \
	"OjAwMTEyMjMzNDQ1NTY2Nzc4ODk5YWFiYmNjZGRlZWZm" \
	"RkZFRUREQ0NCQkFBOTk4ODc3NjY1NTQ0MzMyMjExMDA="

static void test_shown(void **state)
{
	static const char *const values[] = {
		"Bearer " DIGITS,   "bearer  " DIGITS,	  "Basic " OF_ME,
		"Basic " OF_NOBODY, "BASIC   " OF_NOBODY,
	};
	static const unsigned char wanted[WIRE_TOKEN_SIZE] = {
		0x00, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88, 0x99, 0xaa,
		0xbb, 0xcc, 0xdd, 0xee, 0xff, 0xff, 0xee, 0xdd, 0xcc, 0xbb, 0xaa,
		0x99, 0x88, 0x77, 0x66, 0x55, 0x44, 0x33, 0x22, 0x11, 0x00,
	};

	(void)state;
	for (size_t i = 0; i < sizeof(values) / sizeof(*values); i++) {
		unsigned char token[WIRE_TOKEN_SIZE] = { 1 };

		assert_true(token_parse(values[i], token));
		assert_memory_equal(token, wanted, sizeof(wanted));
	}
}

static void test_none(void **state)
{
	static const char *const values[] = {
		"",
		DIGITS,
		"Bearer",
		"Bearer ",
		"Bearer\t" DIGITS,
		"Bearer" DIGITS,
		"Bearer 0" DIGITS,
		"Bearer " DIGITS " ",
		"Bearer 0x112233445566778899aabbccddeeffFFEEDDCCBBAA99887766554433221100",
		"Digest " DIGITS,
		"Basic " DIGITS,
		"Basic bWU6cGFzc3dvcmQ=", /* me:password */
		"Basic bWU=",		  /* me */
		"Basic bQA6",		  /* m, 0, : */
		"Basic ====",
		"Basic !",
		"Basic",
	};
	unsigned char token[WIRE_TOKEN_SIZE];
	char longer[4096];

	(void)state;
	for (size_t i = 0; i < sizeof(values) / sizeof(*values); i++)
		assert_false(token_parse(values[i], token));
	snprintf(longer, sizeof(longer), "Basic ");
	memset(longer + 6, 'A', sizeof(longer) - 7);
	longer[sizeof(longer) - 1] = '\0';
	for (size_t len = sizeof(longer) - 1; len > 6; len--) {
		longer[len] = '\0';
		assert_false(token_parse(longer, token));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_shown),
		cmocka_unit_test(test_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
