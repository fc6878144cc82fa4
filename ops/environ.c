// SPDX-License-Identifier: Apache-2.0
#include "ops/environ.h"

#include <elf.h>
#include <stdint.h>
#include <string.h>

#define VARIABLES_MAX 4096
#define NAME_SIZE 128

/* Of a program linked statically, or one that took the variable over; else the C library's. */
static uint64_t find_environ(const struct session *s)
{
	struct image *libc = images_by_name(&s->images, "libc.so");
	struct symbol sym;

	if (!libc)
		libc = images_by_name(&s->images, "ld-musl-");
	for (size_t i = 0; i < s->images.n; i++) {
		struct image *img = &s->images.v[i];

		if (img->is_main && image_symbol(img, "environ", &sym) && sym.type == STT_OBJECT)
			return sym.addr;
	}
	return libc && image_symbol(libc, "environ", &sym) ? sym.addr : 0;
}

/* Is this string the variable? Then its value is in `buf`. */
static bool is_variable(const struct session *s, uint64_t addr, const char *name, char *buf,
			size_t size)
{
	size_t len = strlen(name);
	char start[NAME_SIZE];
	struct err ignored;

	return len + 2 <= sizeof(start) &&
	       !proc_read_string(s->proc.mm_pid, addr, start, len + 2, &ignored) &&
	       !strncmp(start, name, len) && start[len] == '=' &&
	       !proc_read_string(s->proc.mm_pid, addr + len + 1, buf, size, &ignored);
}

static bool find_now(const struct session *s, const char *name, char *buf, size_t size)
{
	uint64_t at = find_environ(s), text;
	struct err ignored;

	if (!at || proc_read(s->proc.mm_pid, at, &at, sizeof(at), &ignored) || !at)
		return false;
	for (size_t i = 0; i < VARIABLES_MAX; i++, at += sizeof(text)) {
		if (proc_read(s->proc.mm_pid, at, &text, sizeof(text), &ignored) || !text)
			return false;
		if (is_variable(s, text, name, buf, size))
			return true;
	}
	return false;
}

enum environ_found environ_get(const struct session *s, const char *name, char *buf, size_t size)
{
	struct err err = ERR_INIT;

	if (!proc_getenv(s->proc.mm_pid, name, buf, size, &err))
		return ENVIRON_INITIAL;
	if (find_now(s, name, buf, size))
		return ENVIRON_NOW;
	return err.sys ? ENVIRON_UNREADABLE : ENVIRON_ABSENT;
}
