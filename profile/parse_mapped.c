// SPDX-License-Identifier: Apache-2.0
#include "base/vec.h"
#include "profile/parse.h"

#include <string.h>

/* "START-END perms offset": how a line of proc_pid_maps(5) begins. */
static bool read_place(struct span *s, struct profile_mapping *m, bool *code)
{
	if (!reader_hex(s, &m->start) || !reader_text(s, "-") || !reader_hex(s, &m->end) ||
	    !reader_text(s, " ") || s->end - s->at < 5 || s->at[4] != ' ')
		return false;
	*code = s->at[2] == 'x';
	s->at += 5;
	return reader_hex(s, &m->offset) && reader_text(s, " ") && m->start < m->end;
}

/* "major:minor inode   path", where there may be no path. */
static bool read_file(struct span *s)
{
	uint64_t n;

	if (!reader_hex(s, &n) || !reader_text(s, ":") || !reader_hex(s, &n) ||
	    !reader_text(s, " ") || !reader_number(s, &n))
		return false;
	reader_blank(s);
	return !memchr(s->at, '\0', (size_t)(s->end - s->at));
}

static const char *keep_path(struct parse *ps, const struct span *s, bool *deleted)
{
	static const char mark[] = " (deleted)";
	size_t len = (size_t)(s->end - s->at), mark_len = sizeof(mark) - 1;

	*deleted = len > mark_len && !memcmp(s->end - mark_len, mark, mark_len);
	return intern_add(ps->text, s->at, *deleted ? len - mark_len : len);
}

static int parse_mapping(struct parse *ps, size_t *room, struct err *err)
{
	struct profile *p = ps->p;
	struct profile_mapping m = { 0 };
	struct span s = ps->file.line;
	bool code = false;

	if (!read_place(&s, &m, &code) || !read_file(&s))
		return reader_fail(&ps->file, "not a line of /proc/PID/maps", err);
	if (!code)
		return 0;
	if (p->n_mappings && m.start < p->mappings[p->n_mappings - 1].end)
		return reader_fail(&ps->file, "a mapping that is not above the last", err);
	m.path = keep_path(ps, &s, &m.deleted);
	if (!m.path || !vec_grow(p->mappings, *room, p->n_mappings))
		return err_set(err, ERR_FAILED, PARSE_NO_MEMORY);
	p->mappings[p->n_mappings++] = m;
	return 0;
}

/* Lines that say where something is mapped begin with "START-END"; others may be between. */
static bool is_mapping(struct span s)
{
	uint64_t n;

	return reader_hex(&s, &n) && reader_text(&s, "-");
}

/* The mapping that holds `at`: they are in order and disjoint. */
static uint32_t find_mapping(const struct profile *p, uint64_t at)
{
	size_t low = 0, high = p->n_mappings;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (p->mappings[mid].end <= at)
			low = mid + 1;
		else
			high = mid;
	}
	return low < p->n_mappings && p->mappings[low].start <= at ? (uint32_t)low : PROFILE_NONE;
}

int parse_mapped(struct parse *ps, struct err *err)
{
	struct profile *p = ps->p;
	size_t room = 0;

	while (reader_line(&ps->file)) {
		if (is_mapping(ps->file.line) && parse_mapping(ps, &room, err))
			return -1;
	}
	/* A return address may be the first one after the code that made the call. */
	for (size_t i = 0; i < p->n_addresses; i++)
		p->addresses[i].mapping = find_mapping(p, p->addresses[i].pc - 1);
	return 0;
}
