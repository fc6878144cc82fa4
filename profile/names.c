// SPDX-License-Identifier: Apache-2.0
#include "profile/names.h"

#include "base/cleanup.h"
#include "base/text.h"

#include <stdlib.h>
#include <string.h>

static const char cut[] = "...";

/* Bytes that safe_name() may write for `raw`. */
static size_t room_for(const char *raw)
{
	size_t room = strnlen(raw, PROFILE_NAME_MAX) * 4 + 1;

	return room < PROFILE_NAME_MAX ? room : PROFILE_NAME_MAX;
}

/* Returns how many bytes of `buf` it took, the 0 among them. */
static size_t safe_name(const char *raw, char *buf)
{
	size_t room = room_for(raw), len;

	if (!*raw)
		raw = "?";
	len = strlen(output_safe(raw, buf, room < 2 ? 2 : room));
	/* An escape is 4 bytes: less room than that was left. */
	if (room == PROFILE_NAME_MAX && len + 4 >= room - 1) {
		len = strlen(output_safe(raw, buf, PROFILE_NAME_MAX - sizeof(cut)));
		memcpy(buf + len, cut, sizeof(cut));
		len += sizeof(cut) - 1;
	}
	return len + 1;
}

static int by_name(const void *left, const void *right, void *names)
{
	uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
	const char *const *name = names;
	int order = strcmp(name[a], name[b]);

	return order ? order : a < b ? -1 : a > b;
}

/* Equal names get one rank: its function is the first that has it. */
static void rank_names(struct profile_names *names)
{
	size_t n = 0;

	for (size_t i = 0; i < names->n; i++)
		names->ranked[i] = (uint32_t)i;
	if (names->n)
		qsort_r(names->ranked, names->n, sizeof(*names->ranked), by_name, names->name);
	for (size_t i = 0; i < names->n; i++) {
		uint32_t function = names->ranked[i];

		if (!n || strcmp(names->name[names->ranked[n - 1]], names->name[function]) != 0)
			names->ranked[n++] = function;
		names->rank[function] = (uint32_t)(n - 1);
	}
}

int profile_names_init(struct profile_names *out, const struct profile_symbols *symbols,
		       struct err *err)
{
	_cleanup_(profile_names_fini) struct profile_names names = { .n = symbols->n_functions };
	size_t size = 1, at = 0;

	for (size_t i = 0; i < names.n; i++)
		size += room_for(symbols->functions[i].name) + 1;
	names.name = calloc(names.n + 1, sizeof(*names.name));
	names.rank = calloc(names.n + 1, sizeof(*names.rank));
	names.ranked = calloc(names.n + 1, sizeof(*names.ranked));
	names.text = malloc(size);
	if (!names.name || !names.rank || !names.ranked || !names.text)
		return err_set(err, ERR_FAILED, "no memory for %zu names", names.n);
	for (size_t i = 0; i < names.n; i++) {
		names.name[i] = names.text + at;
		at += safe_name(symbols->functions[i].name, names.text + at);
	}
	rank_names(&names);
	*out = names;
	names = (struct profile_names){ 0 };
	return 0;
}

void profile_names_fini(struct profile_names *names)
{
	free(names->name);
	free(names->rank);
	free(names->ranked);
	free(names->text);
	*names = (struct profile_names){ 0 };
}
