// SPDX-License-Identifier: Apache-2.0
/*
 * The symbols of a symbolized file. jeprof(1) stores the address before the return address of each
 * call, and for the innermost place the address itself. It names only functions; jeprof-ctl adds
 * lines that begin with '#', which jeprof ignores (doc/heap-format.md).
 */
#include "base/cleanup.h"
#include "base/vec.h"
#include "profile/parse.h"
#include "profile/symbols.h"

#include <ctype.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAME_MAX_BYTES 8192

struct names {
	struct parse *ps;
	struct symbols_build *build;
	uint64_t at; /* the address of `lines` */
	struct profile_line lines[SYMBOLS_INLINED_MAX];
	size_t n;
};

int parse_find_symbols(struct parse *ps, struct err *err)
{
	struct reader *section = &ps->section;

	*section = (struct reader){ .number = ps->file.number };
	section->before = ps->file.before + (size_t)(ps->file.next - ps->file.start);
	while (reader_line(&ps->file)) {
		struct span s = ps->file.line;

		if (!reader_text(&s, "---")) {
			size_t len = (size_t)(ps->file.next - ps->file.line.at);

			if (!vec_room(ps->symbols, ps->symbols_room, ps->n_symbols, len))
				return err_no_memory(err);
			memcpy(ps->symbols + ps->n_symbols, ps->file.line.at, len);
			ps->n_symbols += len;
			continue;
		}
		section->start = section->next = ps->symbols;
		section->end = ps->symbols ? ps->symbols + ps->n_symbols : NULL;
		if (!reader_line(&ps->file))
			break;
		return 0;
	}
	return reader_fail(&ps->file, "the file ends before the profile", err);
}

/* "0x..." and "[image+0x...]" are not names: they mean that none is known. */
static bool is_known(const char *name)
{
	return name[0] != '[' && strncmp(name, "0x", 2) != 0;
}

static bool copy_text(const char *from, size_t len, char to[NAME_MAX_BYTES])
{
	if (!len || memchr(from, '\0', len))
		return false;
	len = len < NAME_MAX_BYTES ? len : NAME_MAX_BYTES - 1;
	memcpy(to, from, len);
	to[len] = '\0';
	return true;
}

/* Assign the lines read to their address, if the profile has it. */
static void give(struct names *names, uint64_t pc)
{
	uint32_t address = hashmap_get(&names->ps->addresses, pc);

	if (address != HASHMAP_NONE)
		symbols_build_location(names->build, address, names->lines, names->n);
}

/* Does a name end at `end`, before "--"? The "--" of operator-- is part of its name. */
static bool is_separator(const char *start, const char *end)
{
	static const char word[] = "operator";
	size_t len = sizeof(word) - 1, before = (size_t)(end - start);

	if (memcmp(end, "--", 2) != 0)
		return false;
	if (before < len || memcmp(end - len, word, len) != 0)
		return true;
	return before > len && (isalnum((unsigned char)end[-(ptrdiff_t)len - 1]) ||
				end[-(ptrdiff_t)len - 1] == '_');
}

/* Read "outer--inner--innermost" as lines, innermost first. False: there is no name. */
static bool read_names(struct names *names, const struct span *s)
{
	const char *end = s->end;

	names->n = 0;
	while (end > s->at && names->n < SYMBOLS_INLINED_MAX) {
		char name[NAME_MAX_BYTES];
		struct profile_function f = { .name = name };
		const char *from = end;

		while (from - s->at >= 2 && !is_separator(s->at, from - 2))
			from--;
		if (from - s->at < 2)
			from = s->at;
		if (!copy_text(from, (size_t)(end - from), name))
			return false;
		f.known = is_known(name);
		names->lines[names->n++] =
			(struct profile_line){ .function =
						       symbols_build_function(names->build, &f) };
		end = from > s->at ? from - 2 : s->at;
	}
	return names->n;
}

/* One pass over the lines "0xPLACE names", for the addresses PLACE + `after`. */
static int names_round(struct names *names, struct reader section, uint64_t after, struct err *err)
{
	while (reader_line(&section)) {
		struct span s = section.line;
		uint64_t place;

		if (s.end - s.at < 2 || s.at[0] != '0' || s.at[1] != 'x')
			continue;
		if (!reader_hex(&s, &place) || !reader_text(&s, " ") || !reader_blank(&s) ||
		    !read_names(names, &s))
			return reader_fail(&section, "not an address and its names", err);
		give(names, place + after);
	}
	return 0;
}

/* Up to the next tab or the end. */
static bool take_field(struct span *s, char to[NAME_MAX_BYTES])
{
	size_t len = (size_t)(s->end - s->at);
	const char *tab = memchr(s->at, '\t', len);

	if (!copy_text(s->at, tab ? (size_t)(tab - s->at) : len, to))
		return false;
	s->at = tab ? tab + 1 : s->end;
	return true;
}

/*
 * "#0xRETURN line TAB file TAB linkage TAB name": one call. Calls of one address are adjacent,
 * innermost first.
 */
static bool read_detail(struct names *names, struct span s)
{
	char file[NAME_MAX_BYTES], linkage[NAME_MAX_BYTES], name[NAME_MAX_BYTES];
	struct profile_function f = { .name = name, .linkage = linkage };
	const struct parse *ps = names->ps;
	uint32_t address, mapping;
	uint64_t line, pc;

	if (!reader_text(&s, "#") || !reader_hex(&s, &pc) || !reader_text(&s, " ") ||
	    !reader_number(&s, &line) || !reader_text(&s, "\t") || !take_field(&s, file) ||
	    !take_field(&s, linkage) || !take_field(&s, name) || line > UINT32_MAX)
		return false;
	if (pc != names->at) {
		give(names, names->at);
		names->at = pc;
		names->n = 0;
	}
	f.known = is_known(name);
	address = hashmap_get(&ps->addresses, pc);
	mapping = address == HASHMAP_NONE ? PROFILE_NONE : ps->p->addresses[address].mapping;
	f.allocator =
		!f.known && (ps->go || (mapping != PROFILE_NONE &&
					symbols_is_allocator_image(ps->p->mappings[mapping].path)));
	if (strcmp(file, "?") != 0)
		f.file = file;
	if (names->n < SYMBOLS_INLINED_MAX)
		names->lines[names->n++] = (struct profile_line){
			.function = symbols_build_function(names->build, &f),
			.line = (uint32_t)line,
		};
	return true;
}

static int details_round(struct names *names, struct reader section, struct err *err)
{
	while (reader_line(&section)) {
		if (section.line.at < section.line.end && *section.line.at == '#' &&
		    !read_detail(names, section.line))
			return reader_fail(&section, "not a call", err);
	}
	give(names, names->at);
	return 0;
}

/* --- Go --- */

static void skip_tabs(struct span *s)
{
	while (s->at < s->end && (*s->at == '\t' || *s->at == ' '))
		s->at++;
}

/* Step over the next field, up to a tab; it is empty if it is not text. */
static struct span next_field(struct span *s)
{
	struct span field;
	const char *tab;

	skip_tabs(s);
	tab = memchr(s->at, '\t', (size_t)(s->end - s->at));
	field = (struct span){ s->at, tab ? tab : s->end };
	s->at = field.end;
	if (memchr(field.at, '\0', (size_t)(field.end - field.at)))
		field.end = field.at;
	return field;
}

/* Cut off the end from the last `mark` on; NULL: no such mark. */
static const char *cut_at_last(struct span *s, char mark)
{
	const char *at = s->end > s->at ? memrchr(s->at, mark, (size_t)(s->end - s->at)) : NULL;

	if (at)
		s->end = at;
	return at;
}

/* Append a call to the symbols kept, in the form that read_detail() reads. */
static bool keep_call(struct parse *ps, uint64_t pc, uint64_t line, struct span file,
		      struct span name)
{
	int file_len = (int)(file.end - file.at), name_len = (int)(name.end - name.at);
	size_t room = (size_t)file_len + 2 * (size_t)name_len + 64;

	if (!vec_room(ps->symbols, ps->symbols_room, ps->n_symbols, room) ||
	    !hashmap_put(&ps->called, pc, 0))
		return false;
	ps->n_symbols +=
		(size_t)snprintf(ps->symbols + ps->n_symbols, room,
				 "#0x%" PRIx64 " %" PRIu64 "\t%.*s\t%.*s\t%.*s\n", pc, line,
				 file_len, file.at, name_len, name.at, name_len, name.at);
	return true;
}

/* Go does not name the innermost functions of a stack, which are its allocator's. */
static bool keep_runtime(struct parse *ps, uint64_t named)
{
	static const char name[] = "[runtime]", file[] = "?";
	const struct profile *p = ps->p;
	uint32_t n = 0, depth = ps->go_depth;

	ps->go_depth = 0; /* only once per stack */
	while (n < depth && p->addresses[p->frames[ps->go_first + n]].pc != named)
		n++;
	for (uint32_t i = 0; n < depth && i < n; i++) {
		uint64_t pc = p->addresses[p->frames[ps->go_first + i]].pc;

		if (hashmap_get(&ps->called, pc) == HASHMAP_NONE &&
		    !keep_call(ps, pc, 0, (struct span){ file, file + 1 },
			       (struct span){ name, name + sizeof(name) - 1 }))
			return false;
	}
	return true;
}

int parse_go_call(struct parse *ps, struct err *err)
{
	struct span s = ps->file.line, name, file, number;
	uint64_t pc, line;
	const char *colon;

	reader_text(&s, "#");
	skip_tabs(&s);
	if (ps->symbolized || !reader_hex(&s, &pc))
		return 0;
	name = next_field(&s);
	file = next_field(&s);
	cut_at_last(&name, '+');
	colon = cut_at_last(&file, ':');
	pc++; /* the line has the address of the call, the stack its return address */
	number = (struct span){ colon ? colon + 1 : s.at, s.at };
	if (!colon || name.at == name.end || file.at == file.end ||
	    file.end - file.at >= NAME_MAX_BYTES || name.end - name.at >= NAME_MAX_BYTES ||
	    !reader_number(&number, &line) || number.at != number.end || line > UINT32_MAX ||
	    hashmap_get(&ps->addresses, pc) == HASHMAP_NONE)
		return 0;
	if (ps->go_depth && !keep_runtime(ps, pc))
		return err_no_memory(err);
	if (hashmap_get(&ps->called, pc) != HASHMAP_NONE)
		return 0;
	return keep_call(ps, pc, line, file, name) ? 0 : err_no_memory(err);
}

int parse_symbols(struct parse *ps, struct err *err)
{
	_cleanup_(symbols_build_close) struct symbols_build *build =
		symbols_build_new(ps->p->n_addresses);
	struct names names = { .ps = ps, .build = build };

	if (!build)
		return err_no_memory(err);
	if (details_round(&names, ps->section, err) || names_round(&names, ps->section, 1, err) ||
	    names_round(&names, ps->section, 0, err))
		return -1;
	return symbols_build_finish(build, ps->p, err);
}
