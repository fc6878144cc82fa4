// SPDX-License-Identifier: Apache-2.0
#include "base/pack.h"

#include "base/text.h"

#include <stdlib.h>
#include <string.h>

#define ROOM_MIN 4096
#define NO_TEXT UINT64_MAX

void pack_bytes(struct pack *p, const void *bytes, size_t len)
{
	size_t max = p->max ? p->max : PACK_MAX, room = p->room ? p->room : ROOM_MIN;
	unsigned char *bigger;

	if (p->failed || !len)
		return;
	if (len > max - p->len) {
		p->failed = true;
		return;
	}
	while (room - p->len < len)
		room *= 2;
	if (room != p->room) {
		bigger = realloc(p->v, room);
		if (!bigger) {
			p->failed = true;
			return;
		}
		p->v = bigger;
		p->room = room;
	}
	memcpy(p->v + p->len, bytes, len);
	p->len += len;
}

void pack_u64(struct pack *p, uint64_t value)
{
	pack_bytes(p, &value, sizeof(value));
}

void pack_text(struct pack *p, const char *text)
{
	size_t len = text ? strlen(text) : 0;

	pack_u64(p, text ? len : NO_TEXT);
	pack_bytes(p, text, len);
}

void pack_fini(struct pack *p)
{
	free(p->v);
	*p = (struct pack){ 0 };
}

static bool has(struct unpack *u, uint64_t len)
{
	if (!u->bad && len <= (uint64_t)(u->end - u->at))
		return true;
	u->bad = true;
	return false;
}

void unpack_bytes(struct unpack *u, void *bytes, size_t len)
{
	if (!has(u, len)) {
		memset(bytes, 0, len);
		return;
	}
	memcpy(bytes, u->at, len);
	u->at += len;
}

uint64_t unpack_u64(struct unpack *u)
{
	uint64_t value;

	unpack_bytes(u, &value, sizeof(value));
	return value;
}

uint64_t unpack_max(struct unpack *u, uint64_t max)
{
	uint64_t value = unpack_u64(u);

	if (value <= max)
		return value;
	u->bad = true;
	return 0;
}

bool unpack_bool(struct unpack *u)
{
	return unpack_max(u, 1);
}

size_t unpack_count(struct unpack *u, size_t least)
{
	uint64_t n = unpack_u64(u);

	if (!u->bad && n <= (uint64_t)(u->end - u->at) / (least ? least : 1))
		return (size_t)n;
	u->bad = true;
	return 0;
}

/* The length of the text that follows; false for NULL. */
static bool text_len(struct unpack *u, size_t max, size_t *len)
{
	uint64_t n = unpack_u64(u);

	*len = 0;
	if (u->bad || n == NO_TEXT)
		return false;
	if (n >= max || !has(u, n) || memchr(u->at, '\0', (size_t)n)) {
		u->bad = true;
		return false;
	}
	*len = (size_t)n;
	return true;
}

void unpack_into(struct unpack *u, char *buf, size_t size)
{
	size_t len;

	if (text_len(u, size, &len)) {
		memcpy(buf, u->at, len);
		u->at += len;
	}
	buf[len] = '\0';
}

char *unpack_text(struct unpack *u, size_t max)
{
	size_t len;
	char *text;

	if (!text_len(u, max, &len))
		return NULL;
	text = malloc(len + 1);
	if (!text) {
		u->bad = true;
		return NULL;
	}
	memcpy(text, u->at, len);
	text[len] = '\0';
	u->at += len;
	return text;
}

void pack_err(struct pack *p, const struct err *err)
{
	pack_u64(p, err != NULL);
	if (!err)
		return;
	pack_u64(p, err->code);
	for (size_t i = 0; i < ERR_DEPTH; i++)
		pack_u64(p, err->ids[i]);
	for (size_t i = 0; i < ERR_FIXES; i++)
		pack_u64(p, err->fixes[i]);
	pack_u64(p, (uint64_t)err->sys);
	pack_u64(p, err->own);
#define FIELD(name, kind) pack_u64(p, (uint64_t)err->held.name);
	ERR_NUMBERS(FIELD)
#undef FIELD
#define FIELD(name, size) pack_text(p, err->held.name);
	ERR_TEXTS(FIELD)
#undef FIELD
}

bool unpack_err(struct unpack *u, struct err *err)
{
	struct err got = ERR_INIT;

	if (!unpack_bool(u))
		return false;
	got.code = (enum err_code)unpack_max(u, ERR_CODES - 1);
	for (size_t i = 0; i < ERR_DEPTH; i++)
		got.ids[i] = (enum error)unpack_max(u, ERRORS - 1);
	for (size_t i = 0; i < ERR_FIXES; i++)
		got.fixes[i] = (enum fix)unpack_max(u, FIXES - 1);
	got.sys = (int)unpack_max(u, 4095);
	got.own = unpack_bool(u);
#define FIELD(name, kind) got.held.name = (int64_t)unpack_u64(u);
	ERR_NUMBERS(FIELD)
#undef FIELD
#define FIELD(name, size) unpack_into(u, got.held.name, sizeof(got.held.name));
	ERR_TEXTS(FIELD)
#undef FIELD
	u->bad |= got.code != ERR_NONE && got.ids[0] == ERROR_NONE;
	if (u->bad)
		return false;
	*err = got;
	return true;
}

bool unpack_done(const struct unpack *u)
{
	return !u->bad && u->at == u->end;
}
