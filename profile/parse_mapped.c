// SPDX-License-Identifier: Apache-2.0
#include "base/vec.h"
#include "profile/mapping.h"
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
	/* vm.max_map_count is 65530 where nobody has changed it. */
	if (p->n_mappings == 1u << 16)
		return reader_fail(&ps->file, "more mappings than a process has", err);
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

int parse_mapped(struct parse *ps, struct err *err)
{
	size_t room = 0;

	while (reader_line(&ps->file)) {
		struct span s = ps->file.line;

		if (is_mapping(s) ? parse_mapping(ps, &room, err)
				  : reader_text(&s, "# ") && parse_fact(ps, err))
			return -1;
	}
	mapping_place(ps->p);
	return 0;
}
