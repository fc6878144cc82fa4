// SPDX-License-Identifier: Apache-2.0
#include "base/json.h"

#include "base/cleanup.h"
#include "base/text.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KEY_MAX 256

void json_close(struct json_object **doc)
{
	json_object_put(*doc);
	*doc = NULL;
}

struct json_object *json_parse(const char *text, size_t len)
{
	struct json_tokener *t = len <= INT_MAX ? json_tokener_new() : NULL;
	_cleanup_(json_close) struct json_object *doc = NULL;
	size_t end;

	if (!t)
		return NULL;
	doc = json_tokener_parse_ex(t, text, (int)len);
	end = json_tokener_get_parse_end(t);
	json_tokener_free(t);
	while (end < len && strchr(" \t\r\n", text[end]))
		end++;
	return end == len ? take_ptr(doc) : NULL;
}

/* The object member `key` of `parent`, created if missing. */
static struct json_object *child(struct json_object *parent, const char *key)
{
	struct json_object *found;

	if (json_object_object_get_ex(parent, key, &found) &&
	    json_object_is_type(found, json_type_object))
		return found;
	found = json_object_new_object();
	json_object_object_add(parent, key, found);
	return found;
}

void json_set(struct json_object *doc, const char *path, struct json_object *value)
{
	const char *dot;

	while ((dot = strchr(path, '.'))) {
		char key[KEY_MAX];
		size_t len = (size_t)(dot - path);

		len = len < sizeof(key) ? len : sizeof(key) - 1;
		memcpy(key, path, len);
		key[len] = '\0';
		doc = child(doc, key);
		path = dot + 1;
	}
	json_object_object_add(doc, path, value);
}

void json_set_bool(struct json_object *doc, const char *path, bool value)
{
	json_set(doc, path, json_object_new_boolean(value));
}

void json_set_int(struct json_object *doc, const char *path, int64_t value)
{
	json_set(doc, path, json_object_new_int64(value));
}

void json_set_u64(struct json_object *doc, const char *path, uint64_t value)
{
	json_set(doc, path, json_object_new_uint64(value));
}

void json_set_time(struct json_object *doc, const char *path, const struct timespec *time,
		   int digits)
{
	char date[32], fraction[16], text[64];
	struct tm tm;

	strftime(date, sizeof(date), "%Y-%m-%dT%H:%M:%S", gmtime_r(&time->tv_sec, &tm));
	snprintf(fraction, sizeof(fraction), "%09ld", time->tv_nsec);
	snprintf(text, sizeof(text), "%s.%.*sZ", date, digits, fraction);
	json_set_text(doc, path, text);
}

uint64_t json_get_u64(struct json_object *doc, const char *name)
{
	int64_t n = json_object_get_int64(json_object_object_get(doc, name));

	return n > 0 ? (uint64_t)n : 0;
}

struct json_object *json_text(const char *raw)
{
	struct json_object *value;
	size_t size;
	char *safe;

	if (!raw)
		return NULL;
	size = strlen(raw) * 4 + 1;
	safe = malloc(size);
	if (!safe)
		return NULL;
	value = json_object_new_string(output_safe(raw, safe, size));
	free(safe);
	return value;
}

void json_set_text(struct json_object *doc, const char *path, const char *raw)
{
	json_set(doc, path, json_text(raw));
}
