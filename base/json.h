// SPDX-License-Identifier: Apache-2.0
/*
 * JSON documents, a thin layer over json-c: members are named by paths, and text from a target need
 * not be UTF-8.
 */
#ifndef BASE_JSON_H
#define BASE_JSON_H

#include <json-c/json.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

/* For _cleanup_(): releases the document unless ownership was passed on. NULL is allowed. */
void json_close(struct json_object **doc);

/*
 * Set the member at `path`, where dots mean nesting: "prof.active" is {"prof":{"active":value}}.
 * Takes ownership of `value`; a NULL value is JSON's null.
 */
void json_set(struct json_object *doc, const char *path, struct json_object *value);

void json_set_bool(struct json_object *doc, const char *path, bool value);
void json_set_int(struct json_object *doc, const char *path, int64_t value);
void json_set_u64(struct json_object *doc, const char *path, uint64_t value);
/* In UTC, with `digits` fractional digits, up to 9: "2026-11-26T03:54:40.123Z". */
void json_set_time(struct json_object *doc, const char *path, const struct timespec *time,
		   int digits);

/* The member with this name; 0 if there is none, or it is not a positive number. */
uint64_t json_get_u64(struct json_object *doc, const char *name);

/* Parse one document and nothing else except white space, or NULL. The caller releases it. */
struct json_object *json_parse(const char *text, size_t len);

/* `raw` after output_safe(); NULL is JSON's null. */
void json_set_text(struct json_object *doc, const char *path, const char *raw);
struct json_object *json_text(const char *raw);

#endif
