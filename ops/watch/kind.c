// SPDX-License-Identifier: Apache-2.0
#include "ops/watch/kind.h"

#include <stddef.h>
#include <string.h>

const char *watch_kind_name(enum watch_kind kind)
{
	static const char *const names[] = {
		[WATCH_KIND_UNKNOWN] = "unknown", [WATCH_MANUAL] = "manual",
		[WATCH_INTERVAL] = "interval",	  [WATCH_GDUMP] = "gdump",
		[WATCH_FINAL] = "final",
	};

	return names[kind];
}

static size_t digits_before(const char *name, size_t end)
{
	size_t n = 0;

	while (n < end && name[end - n - 1] >= '0' && name[end - n - 1] <= '9')
		n++;
	return n;
}

/* Read from its end: the prefix can hold anything. */
enum watch_kind watch_kind_by_name(const char *name)
{
	static const char suffix[] = ".heap";
	size_t end = name ? strlen(name) : 0, number, n;
	enum watch_kind kind;
	char letter;

	if (end < sizeof(suffix) || strcmp(name + end - sizeof(suffix) + 1, suffix) != 0)
		return WATCH_KIND_UNKNOWN;
	end -= sizeof(suffix) - 1;
	number = digits_before(name, end);
	end -= number;
	if (end < 2 || name[end - 2] != '.')
		return WATCH_KIND_UNKNOWN;
	letter = name[end - 1];
	kind = letter == 'm'   ? WATCH_MANUAL
	       : letter == 'i' ? WATCH_INTERVAL
	       : letter == 'u' ? WATCH_GDUMP
	       : letter == 'f' ? WATCH_FINAL
			       : WATCH_KIND_UNKNOWN;
	/* The last dump alone has no number behind its letter. */
	if ((kind == WATCH_FINAL) == (number != 0))
		return WATCH_KIND_UNKNOWN;
	end -= 2;
	for (int i = 0; i < 2; i++) {
		n = digits_before(name, end);
		if (!n || end <= n || name[end - n - 1] != '.')
			return WATCH_KIND_UNKNOWN;
		end -= n + 1;
	}
	return kind;
}

enum watch_convention watch_convention_of(const struct watch_dump *dump)
{
	enum watch_convention told = dump->cookie & WATCH_CONVENTION_MASK;

	if (!dump->cookie)
		return WATCH_UNKNOWN;
	if (told == WATCH_UNKNOWN && dump->opened)
		told = dump->args[1] == dump->opened   ? WATCH_SECOND
		       : dump->args[2] == dump->opened ? WATCH_THIRD
						       : WATCH_UNKNOWN;
	return told;
}

bool watch_is_confirmed(const struct watch_dump *dump)
{
	switch (watch_convention_of(dump)) {
	case WATCH_SECOND:
		return dump->opened && dump->args[1] == dump->opened;
	case WATCH_THIRD:
		return dump->opened && dump->args[2] == dump->opened;
	default:
		return false;
	}
}

/* Arguments are bools: only the lowest byte of their register is defined. */
enum watch_kind watch_kind_of(const struct watch_dump *dump, const char *name)
{
	enum watch_convention c = watch_convention_of(dump);
	enum watch_kind by_name = watch_kind_by_name(name);
	bool propagate, leak;

	if (c == WATCH_UNKNOWN)
		return by_name;
	propagate = dump->args[c - 1] & 0xff;
	leak = dump->args[c + 1] & 0xff;
	if (propagate) /* only who asked for it is told of errors */
		return WATCH_MANUAL;
	if (leak)
		return WATCH_FINAL;
	return by_name == WATCH_MANUAL ? WATCH_KIND_UNKNOWN : by_name;
}
