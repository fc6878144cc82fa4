// SPDX-License-Identifier: Apache-2.0
#include "profile/regex.h"

#include "base/text.h"

#include <stdlib.h>

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

/* Plenty for names; an expression that goes back and forth is stopped within milliseconds. */
#define MATCH_LIMIT 200000
#define DEPTH_LIMIT 20000
#define HEAP_LIMIT_KIB 20000

struct regex {
	const char *what;
	pcre2_code *code;
	pcre2_match_data *data;
	pcre2_match_context *context;
	int failed; /* the first error of a match, 0 if none */
};

void regex_free(struct regex *re)
{
	if (!re)
		return;
	pcre2_code_free(re->code);
	pcre2_match_data_free(re->data);
	pcre2_match_context_free(re->context);
	free(re);
}

void regex_close(struct regex **re)
{
	regex_free(*re);
}

static int compile_failed(const char *what, const char *pattern, int code, size_t at,
			  struct err *err)
{
	char safe[256];
	PCRE2_UCHAR why[128];

	pcre2_get_error_message(code, why, sizeof(why));
	return err_set(err, ERR_USAGE, "--%s %s: at character %zu: %s", what,
		       output_safe(pattern, safe, sizeof(safe)), at, (const char *)why);
}

int regex_new(const char *what, const char *pattern, struct regex **out, struct err *err)
{
	struct regex *re = calloc(1, sizeof(*re));
	PCRE2_SIZE at;
	int code;

	if (!re)
		return err_set(err, ERR_FAILED, "no memory for --%s", what);
	re->what = what;
	re->code = pcre2_compile((PCRE2_SPTR)pattern, PCRE2_ZERO_TERMINATED, 0, &code, &at, NULL);
	if (!re->code) {
		regex_free(re);
		return compile_failed(what, pattern, code, at, err);
	}
	re->data = pcre2_match_data_create(1, NULL);
	re->context = pcre2_match_context_create(NULL);
	if (!re->data || !re->context) {
		regex_free(re);
		return err_set(err, ERR_FAILED, "no memory for --%s", what);
	}
	pcre2_set_match_limit(re->context, MATCH_LIMIT);
	pcre2_set_depth_limit(re->context, DEPTH_LIMIT);
	pcre2_set_heap_limit(re->context, HEAP_LIMIT_KIB);
	*out = re;
	return 0;
}

bool regex_matches(struct regex *re, const char *text)
{
	int got;

	if (re->failed)
		return false;
	got = pcre2_match(re->code, (PCRE2_SPTR)text, PCRE2_ZERO_TERMINATED, 0, 0, re->data,
			  re->context);
	if (got >= 0)
		return true;
	if (got != PCRE2_ERROR_NOMATCH)
		re->failed = got;
	return false;
}

int regex_check(const struct regex *re, struct err *err)
{
	PCRE2_UCHAR why[128];

	if (!re || !re->failed)
		return 0;
	pcre2_get_error_message(re->failed, why, sizeof(why));
	return err_set(err, ERR_USAGE, "--%s: %s", re->what, (const char *)why);
}
