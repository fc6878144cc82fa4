// SPDX-License-Identifier: Apache-2.0
#include "injector/callsite.h"

#include "base/vec.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* Pointer encodings (LSB, "DWARF Exception Header Encoding"). */
#define PE_ABSPTR 0x00
#define PE_UDATA4 0x03
#define PE_SDATA4 0x0b
#define PE_PCREL 0x10
#define PE_FORMAT 0x0f

#define EXTENDED_LENGTH 0xffffffffu

/* A position in the section; `bad` after a read outside of it. */
struct cursor {
	const unsigned char *bytes;
	size_t at, end;
	bool bad;
};

static uint64_t take(struct cursor *c, size_t size)
{
	uint64_t v = 0;

	if (c->bad || c->end - c->at < size) {
		c->bad = true;
		return 0;
	}
	memcpy(&v, c->bytes + c->at, size);
	c->at += size;
	return v;
}

static uint64_t take_uleb(struct cursor *c)
{
	uint64_t v = 0, byte;
	unsigned int shift = 0;

	do {
		byte = take(c, 1);
		if (shift < 64)
			v |= (byte & 0x7f) << shift;
		shift += 7;
	} while ((byte & 0x80) && !c->bad);
	return v;
}

static size_t pointer_size(unsigned int encoding)
{
	switch (encoding & PE_FORMAT) {
	case PE_ABSPTR:
		return sizeof(uint64_t);
	case PE_UDATA4:
	case PE_SDATA4:
		return sizeof(uint32_t);
	default:
		return 0;
	}
}

/* The pointer encoding of this CIE's FDEs; -1 if unknown. */
static int cie_encoding(struct cursor c)
{
	unsigned int encoding = PE_ABSPTR, version;
	const char *augmentation;
	size_t size;

	version = (unsigned int)take(&c, 1);
	augmentation = (const char *)c.bytes + c.at;
	if (c.bad || (version != 1 && version != 3) || !memchr(augmentation, 0, c.end - c.at))
		return -1;
	c.at += strlen(augmentation) + 1;
	take_uleb(&c); /* code and data alignment, return register */
	take_uleb(&c);
	version == 1 ? take(&c, 1) : take_uleb(&c);
	if (*augmentation == 'z')
		take_uleb(&c);
	for (const char *a = augmentation; *a && !c.bad; a++) {
		if (*a == 'R')
			encoding = (unsigned int)take(&c, 1);
		if (*a == 'L')
			take(&c, 1);
		if (*a == 'P') {
			size = pointer_size((unsigned int)take(&c, 1));
			c.bad |= !size;
			take(&c, size);
		}
	}
	return c.bad ? -1 : (int)encoding;
}

static bool fits(int64_t v)
{
	return v == (int32_t)v;
}

static int add(struct unwind_table *t, size_t *cap, uint64_t start, uint64_t fde)
{
	if (!fits((int64_t)(start - t->base)) || !fits((int64_t)fde))
		return 0;
	if (!vec_grow(t->v, *cap, t->n))
		return -1;
	t->v[t->n++] = (struct unwind_entry){ (int32_t)(start - t->base), (int32_t)fde };
	return 0;
}

/* The entry at `at`; its body `c` follows the length. */
static int read_entry(struct unwind_table *t, size_t *cap, struct cursor c, size_t at)
{
	size_t id_at = c.at, cie_at;
	uint32_t id = (uint32_t)take(&c, sizeof(id));
	struct cursor cie = { .bytes = c.bytes };
	uint64_t start;
	int encoding;

	if (c.bad || id == 0 || id > id_at)
		return 0;
	cie_at = id_at - id;
	cie.end = c.end;
	cie.at = cie_at + 2 * sizeof(uint32_t); /* length and id */
	if (cie.at > cie.end)
		return 0;
	encoding = cie_encoding(cie);
	if (encoding < 0 || (encoding & ~(PE_FORMAT | PE_PCREL)) ||
	    !pointer_size((unsigned int)encoding))
		return 0;
	cie_at = c.at;
	start = take(&c, pointer_size((unsigned int)encoding));
	if ((encoding & PE_FORMAT) == PE_SDATA4)
		start = (uint64_t)(int64_t)(int32_t)start;
	if (encoding & PE_PCREL)
		start += t->base + cie_at;
	return c.bad ? 0 : add(t, cap, start, at);
}

static int entry_cmp(const void *a, const void *b)
{
	const struct unwind_entry *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

void unwind_table_make(struct unwind_table *t, const unsigned char *bytes, size_t len,
		       uint64_t addr)
{
	struct cursor c = { .bytes = bytes, .end = len };
	size_t cap = 0;

	*t = (struct unwind_table){ .base = addr };
	while (!c.bad && c.at < len) {
		size_t at = c.at;
		uint32_t length = (uint32_t)take(&c, sizeof(length));
		struct cursor body = { .bytes = bytes, .at = c.at };

		if (c.bad || length == EXTENDED_LENGTH || length > len - c.at)
			break;
		if (!length)
			continue; /* the terminator of an object file, perhaps not the last one */
		body.end = c.at + length;
		if (read_entry(t, &cap, body, at) < 0)
			break;
		c.at = body.end;
	}
	vec_sort(t->v, t->n, entry_cmp);
}

void unwind_table_fini(struct unwind_table *t)
{
	free(t->v);
	*t = (struct unwind_table){ 0 };
}
