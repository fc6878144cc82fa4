// SPDX-License-Identifier: Apache-2.0
/* The JSON embedded in an HTML page, for unit tests. */
#ifndef TESTS_UNIT_MADE_PAGE_H
#define TESTS_UNIT_MADE_PAGE_H

#include "base/cleanup.h"
#include "base/json.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

/* Parse the data element, which must not contain '<'. The caller frees it with json_close(). */
static inline struct json_object *data_in(const char *page)
{
	static const char start[] = "<script type=\"application/json\" id=\"data\">";
	const char *at = strstr(page, start), *end;
	_cleanup_(cleanup_free) char *text = NULL;
	struct json_object *doc;

	assert_non_null(at);
	at += sizeof(start) - 1;
	end = strstr(at, "</script>");
	assert_non_null(end);
	text = strndup(at, (size_t)(end - at));
	assert_null(strchr(text, '<'));
	doc = json_tokener_parse(text);
	assert_non_null(doc);
	return doc;
}

/* The member at a path, as compact JSON. */
static inline const char *member(struct json_object *doc, const char *pointer)
{
	struct json_object *value;

	assert_int_equal(json_pointer_get(doc, pointer, &value), 0);
	return json_object_to_json_string_ext(value, JSON_C_TO_STRING_PLAIN);
}

#endif
