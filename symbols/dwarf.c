// SPDX-License-Identifier: Apache-2.0

#include "symbols/dwarf.h"

#include "base/cleanup.h"
#include "base/intern.h"
#include "base/pace.h"
#include "base/vec.h"
#include "profile/profile.h"
#include "symbols/lookup.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <gelf.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* Inlining nests a few dozen levels deep; a file that nests deeper than this is bogus. */
#define DEPTH_MAX 256

/* A function, or a call inlined into one, that covers a place. */
struct scope {
	Dwarf_Die die;
	uint32_t parent; /* index of the one it was inlined into; SCOPE_NONE: a function */
};
#define SCOPE_NONE UINT32_MAX

/* Where a function is declared. */
struct declaration {
	const char *file; /* interned; NULL: not known, or in another unit */
	uint64_t line;
};

/* A function with only an unqualified name in DWARF. */
struct bare {
	Dwarf_Off at;
	Dwarf_Off within; /* the function that contains it, with the same information; 0: none */
	const char *name; /* qualified by what else contains it; NULL: not found */
	struct declaration declaration;
};

struct unit {
	struct symbols_lookup *lookup;
	uint64_t bias;
	Dwarf_Die die;
	const char *folder; /* of the compilation; NULL if unknown */
	bool mangles;	    /* its language mangles names */
	uint64_t work;	    /* remaining budget: DIEs and ranges to examine */
	uint32_t *mine;	    /* indices of the places within it */
	size_t n_mine, mine_room;
	uint32_t *innermost; /* scope of each place of the lookup; SCOPE_NONE: none yet */
	struct scope *scopes;
	size_t n_scopes, scopes_room;
	struct bare *bare; /* sorted by `at` */
	size_t n_bare, bare_room;
	Dwarf_Word declaring; /* index of the file that was last found to declare a function */
	const char *declaring_path; /* NULL: none yet */
	Dwarf_Die path[DEPTH_MAX];  /* from the unit to the current position of the search */
};

/* Called for each place within the ranges of a DIE. */
typedef void unit_place_fn(struct unit *u, size_t place, uint32_t scope);

/* --- scopes --- */

/*
 * The tree of a compile unit is walked once for all places within it; libdw's dwarf_getscopes()
 * would walk it for each of them. Subtrees without any are skipped.
 */

static bool spend(struct unit *u)
{
	if (!u->work)
		return false;
	u->work--;
	return true;
}

/* True when there is any. */
static bool unit_each_place(struct unit *u, Dwarf_Die *die, uint32_t scope, unit_place_fn *fn)
{
	const struct symbols_lookup *l = u->lookup;
	Dwarf_Addr base, start, end;
	ptrdiff_t at = 0;
	bool any = false;

	while ((at = dwarf_ranges(die, at, &base, &start, &end)) > 0 && spend(u)) {
		uint64_t size = end - start;
		size_t i = start < end ? symbols_lookup_find(l, start + u->bias) : l->n;

		for (; i < l->n && l->places[i].address - u->bias - start < size && spend(u); i++) {
			fn(u, i, scope);
			any = true;
		}
	}
	return any;
}

static void set_scope(struct unit *u, size_t place, uint32_t scope)
{
	u->innermost[place] = scope;
}

static void nothing(struct unit *u, size_t place, uint32_t scope)
{
	(void)u;
	(void)place;
	(void)scope;
}

/* Returns the scope of the children of `die`; SCOPE_NONE when they are irrelevant. */
static uint32_t enter(struct unit *u, Dwarf_Die *die, uint32_t parent)
{
	uint32_t scope = (uint32_t)u->n_scopes;

	if (!vec_grow(u->scopes, u->scopes_room, u->n_scopes) || u->n_scopes >= SCOPE_NONE ||
	    !unit_each_place(u, die, scope, set_scope))
		return SCOPE_NONE;
	u->scopes[u->n_scopes++] = (struct scope){ *die, parent };
	return scope;
}

static void walk_children(struct unit *u, Dwarf_Die *die, uint32_t scope, unsigned int depth);

static void walk(struct unit *u, Dwarf_Die *die, uint32_t scope, unsigned int depth)
{
	switch (dwarf_tag(die)) {
	case DW_TAG_namespace:
	case DW_TAG_module:
	case DW_TAG_class_type:
	case DW_TAG_structure_type:
	case DW_TAG_union_type:
		if (scope == SCOPE_NONE)
			walk_children(u, die, SCOPE_NONE, depth);
		break;
	case DW_TAG_subprogram:
		scope = enter(u, die, SCOPE_NONE);
		if (scope != SCOPE_NONE)
			walk_children(u, die, scope, depth);
		break;
	case DW_TAG_inlined_subroutine:
		scope = enter(u, die, scope);
		if (scope != SCOPE_NONE)
			walk_children(u, die, scope, depth);
		break;
	case DW_TAG_lexical_block:
	case DW_TAG_try_block:
	case DW_TAG_catch_block:
		if (scope != SCOPE_NONE && unit_each_place(u, die, scope, nothing))
			walk_children(u, die, scope, depth);
		break;
	default:
		break;
	}
}

static void walk_children(struct unit *u, Dwarf_Die *die, uint32_t scope, unsigned int depth)
{
	Dwarf_Die child;
	Dwarf_Off before;

	if (depth == DEPTH_MAX || dwarf_child(die, &child))
		return;
	do {
		before = dwarf_dieoffset(&child);
		walk(u, &child, scope, depth + 1);
		/* A sibling at a lower offset would cause an endless loop. */
	} while (spend(u) && dwarf_siblingof(&child, &child) == 0 &&
		 dwarf_dieoffset(&child) > before);
}

/* --- functions and lines --- */

/*
 * Files, lines and inlined calls. libdw must not open files itself: split units are not read, and
 * the file with shared debug data (dwz) is passed to it.
 */

#define UNITS_MAX (1u << 20)
/* Limits on compressed data, and on one unit's line program: libdw expands both in memory. */
#define UNPACKED_MAX (UINT64_C(1) << 30)
#define LINE_PROGRAM_MAX (32u << 20)
/* libdw keeps the lines of all units, 40 bytes each; beyond this number it is reopened. */
#define LINES_KEPT_MAX (64u << 10)
/* Bytes of units walked before their memory is released. */
#define WALKED_MAX (1u << 20)

/* --- is this file safe for libdw? --- */

static uint64_t unpacked_size(Elf_Scn *scn, const GElf_Shdr *sh, const char *name)
{
	const unsigned char *bytes;
	uint64_t size = 0;
	Elf_Data *data;
	GElf_Chdr ch;

	if (strncmp(name, ".zdebug_", 8) != 0)
		return (sh->sh_flags & SHF_COMPRESSED) && gelf_getchdr(scn, &ch) ? ch.ch_size : 0;
	/* An old section: the size is after "ZLIB" in big-endian order. */
	data = elf_rawdata(scn, NULL);
	bytes = data ? data->d_buf : NULL;
	if (!bytes || data->d_size < 12)
		return 0;
	for (size_t i = 4; i < 12; i++)
		size = size << 8 | bytes[i];
	return size;
}

static bool is_usable(Elf *elf, bool has_common)
{
	uint64_t unpacked = 0;
	Elf_Scn *scn = NULL;
	bool found = false;
	size_t names;

	if (elf_getshdrstrndx(elf, &names))
		return false;
	while ((scn = elf_nextscn(elf, scn))) {
		GElf_Shdr sh;
		const char *name =
			gelf_getshdr(scn, &sh) ? elf_strptr(elf, names, sh.sh_name) : NULL;
		uint64_t size = name ? unpacked_size(scn, &sh, name) : 0;

		if (!name || sh.sh_type == SHT_NOBITS)
			continue;
		/* Then part of its names are in another file, which libdw would open. */
		if (size > UNPACKED_MAX - unpacked ||
		    (!has_common && !strcmp(name, ".gnu_debugaltlink")))
			return false;
		unpacked += size;
		found |= !strcmp(name, ".debug_info") || !strcmp(name, ".zdebug_info");
	}
	return found;
}

/* --- names --- */

/* A string from the file; NULL when it is missing or too long. */
static const char *bounded(const char *s)
{
	return s && *s && strnlen(s, SYMBOLS_NAME_MAX) < SYMBOLS_NAME_MAX ? s : NULL;
}

static const char *string_of(Dwarf_Die *die, unsigned int name)
{
	Dwarf_Attribute attr;

	return bounded(dwarf_formstring(dwarf_attr_integrate(die, name, &attr)));
}

/* *bare: there is no linkage name. */
static const char *linkage_of(Dwarf_Die *die, bool *bare)
{
	const char *name = string_of(die, DW_AT_linkage_name);

	if (!name)
		name = string_of(die, DW_AT_MIPS_linkage_name);
	*bare = !name;
	return name ? name : string_of(die, DW_AT_name);
}

/*
 * The name of the outermost function. The symbol table distinguishes clones ("f.part.0"), which
 * DWARF does not, and has the full name where DWARF has only the unqualified one.
 */
static const char *outermost_name(const struct place *p, const char *name)
{
	size_t len = name ? strlen(name) : 0;

	if (!p->linkage || !name)
		return p->linkage ? p->linkage : name;
	if (!strncmp(p->linkage, name, len) && (!p->linkage[len] || p->linkage[len] == '.'))
		return p->linkage;
	return symbols_is_mangled(p->linkage) && !symbols_is_mangled(name) ? p->linkage : name;
}

/* --- lines --- */

struct source {
	const char *file; /* NULL: unknown */
	uint32_t line;
};

/* Relative names are relative to the directory of the compilation; as shown by addr2line. */
static const char *whole_path(struct unit *u, const char *file)
{
	const char *folder = u->folder;
	char path[PATH_MAX];
	int len;

	if (!file || *file == '/' || !folder)
		return file;
	len = snprintf(path, sizeof(path), "%s/%s", folder, file);
	if (len >= (int)sizeof(path))
		return file;
	return intern_add(u->lookup->text, path, (size_t)len);
}

static struct source line_at(struct unit *u, uint64_t address)
{
	Dwarf_Line *line = dwarf_getsrc_die(&u->die, address - u->bias);
	struct source s = { 0 };
	int number;

	if (!line)
		return s;
	s.file = whole_path(u, bounded(dwarf_linesrc(line, NULL, NULL)));
	if (!dwarf_lineno(line, &number) && number > 0)
		s.line = (uint32_t)number;
	return s;
}

static bool number_of(Dwarf_Die *die, unsigned int name, Dwarf_Word *n)
{
	Dwarf_Attribute attr;

	return dwarf_attr(die, name, &attr) && !dwarf_formudata(&attr, n);
}

/* The source line of an inlined call. */
static struct source call_site(struct unit *u, Dwarf_Die *inlined)
{
	struct source s = { 0 };
	Dwarf_Files *files;
	Dwarf_Word n;
	size_t n_files;

	if (number_of(inlined, DW_AT_call_file, &n) &&
	    !dwarf_getsrcfiles(&u->die, &files, &n_files) && n < n_files)
		s.file = whole_path(u, bounded(dwarf_filesrc(files, n, NULL, NULL)));
	if (number_of(inlined, DW_AT_call_line, &n) && n <= INT32_MAX)
		s.line = (uint32_t)n;
	return s;
}

/* --- which function it is --- */

/* Remove "." and ".." textually; `path` begins with '/'. */
static void simplify(char *path)
{
	char *to = path;

	for (const char *at = path; *at;) {
		size_t len = 1 + strcspn(at + 1, "/");

		if (len == 3 && !memcmp(at, "/..", 3)) {
			while (to > path && *--to != '/')
				;
		} else if (len > 1 && (len != 2 || at[1] != '.')) {
			memmove(to, at, len);
			to += len;
		}
		at += len;
	}
	*to = '\0';
}

/* The path of a file of the unit, interned; NULL when it is not known. */
static const char *declaring_path(struct unit *u, Dwarf_Word index)
{
	char text[PATH_MAX];
	Dwarf_Files *files;
	const char *path;
	size_t n;

	if (u->declaring_path && u->declaring == index)
		return u->declaring_path;
	if (dwarf_getsrcfiles(&u->die, &files, &n) || index >= n)
		return NULL;
	path = whole_path(u, bounded(dwarf_filesrc(files, index, NULL, NULL)));
	if (!path || strlen(path) >= sizeof(text))
		return NULL;
	strcpy(text, path);
	if (*text == '/')
		simplify(text);
	u->declaring = index;
	u->declaring_path = intern_add(u->lookup->text, text, strlen(text));
	return u->declaring_path;
}

static struct declaration declaration_of(struct unit *u, Dwarf_Die *die)
{
	struct declaration d = { 0 };
	Dwarf_Attribute attr;
	Dwarf_Word file, line;

	if (!dwarf_attr_integrate(die, DW_AT_decl_file, &attr) || attr.cu != u->die.cu ||
	    dwarf_formudata(&attr, &file) || !dwarf_attr_integrate(die, DW_AT_decl_line, &attr) ||
	    dwarf_formudata(&attr, &line))
		return d;
	d.file = declaring_path(u, file);
	d.line = d.file ? line : 0;
	return d;
}

/* The first declaration of a scope's function, which is within its class or namespace. */
static Dwarf_Off first_declaration(const struct unit *u, const Dwarf_Die *scope)
{
	Dwarf_Die die = *scope, next;
	Dwarf_Attribute attr;

	for (int i = 0; i < 4; i++) {
		if (!(dwarf_attr(&die, DW_AT_abstract_origin, &attr) ||
		      dwarf_attr(&die, DW_AT_specification, &attr)) ||
		    !dwarf_formref_die(&attr, &next) || next.cu != u->die.cu)
			break;
		die = next;
	}
	return dwarf_dieoffset(&die);
}

static int by_offset(const void *a, const void *b)
{
	const struct bare *x = a, *y = b;

	return (x->at > y->at) - (x->at < y->at);
}

static struct bare *find_bare(const struct unit *u, Dwarf_Off at)
{
	const struct bare key = { .at = at };

	return vec_find(&key, u->bare, u->n_bare, by_offset);
}

/* The name of one component, such as a namespace. */
static const char *part_of(Dwarf_Die *die, char buf[SYMBOLS_NAME_MAX])
{
	bool bare, function = dwarf_tag(die) == DW_TAG_subprogram;
	const char *name = function ? linkage_of(die, &bare) : string_of(die, DW_AT_name);

	if (name && function && symbols_demangle(name, buf))
		return buf;
	if (name)
		return name;
	return dwarf_tag(die) == DW_TAG_namespace ? "(anonymous namespace)" : "(anonymous class)";
}

/* False when it does not fit. */
static bool append(char name[SYMBOLS_NAME_MAX], size_t *len, const char *part, const char *behind)
{
	size_t room = SYMBOLS_NAME_MAX - *len;
	int n = snprintf(name + *len, room, "%s%s", part, behind);

	*len += (size_t)n;
	return (size_t)n < room;
}

/* `die` is within path[1 .. depth): its name begins with the innermost function there. */
static void qualify(struct unit *u, Dwarf_Die *die, unsigned int depth, struct bare *b)
{
	char name[SYMBOLS_NAME_MAX], part[SYMBOLS_NAME_MAX];
	const char *own = string_of(die, DW_AT_name);
	unsigned int first = 1;
	bool fits = own, bare = false;
	size_t len = 0;

	for (unsigned int i = 1; i < depth; i++)
		first = dwarf_tag(&u->path[i]) == DW_TAG_subprogram ? i : first;
	if (first < depth && dwarf_tag(&u->path[first]) == DW_TAG_subprogram)
		linkage_of(&u->path[first], &bare);
	/* A linkage name includes the enclosing scopes; for other functions they are looked up. */
	if (bare)
		b->within = first_declaration(u, &u->path[first++]);
	for (unsigned int i = first; fits && i < depth; i++) {
		if (dwarf_tag(&u->path[i]) != DW_TAG_lexical_block)
			fits = append(name, &len, part_of(&u->path[i], part), "::");
	}
	if (fits && append(name, &len, own, ""))
		b->name = intern_add(u->lookup->text, name, len);
	b->declaration = declaration_of(u, die);
	/* For a lambda, only its class has a declaration. */
	for (unsigned int i = depth; i-- > 1 && !b->declaration.file;)
		b->declaration = declaration_of(u, &u->path[i]);
}

/* The children of path[depth - 1]. */
static void qualify_children(struct unit *u, unsigned int depth)
{
	Dwarf_Die *die = &u->path[depth];
	Dwarf_Off before;

	if (depth + 1 == DEPTH_MAX || dwarf_child(&u->path[depth - 1], die))
		return;
	do {
		struct bare *b;

		before = dwarf_dieoffset(die);
		switch (dwarf_tag(die)) {
		case DW_TAG_subprogram:
			b = find_bare(u, before);
			if (b)
				qualify(u, die, depth, b);
			/* fallthrough */
		case DW_TAG_namespace:
		case DW_TAG_module:
		case DW_TAG_class_type:
		case DW_TAG_structure_type:
		case DW_TAG_union_type:
		case DW_TAG_lexical_block:
			qualify_children(u, depth + 1);
			break;
		default:
			break;
		}
	} while (spend(u) && !dwarf_siblingof(die, die) && dwarf_dieoffset(die) > before);
}

static void sort_bare(struct unit *u)
{
	size_t n = 0;

	vec_sort(u->bare, u->n_bare, by_offset);
	for (size_t i = 1; i < u->n_bare; i++)
		if (u->bare[i].at != u->bare[n].at)
			u->bare[++n] = u->bare[i];
	u->n_bare = n + 1;
}

static void add_bare(struct unit *u, Dwarf_Off at)
{
	if (vec_grow(u->bare, u->bare_room, u->n_bare))
		u->bare[u->n_bare++] = (struct bare){ .at = at };
}

/* Nesting limit of classes within functions within classes ... for looking up enclosing scopes. */
#define WITHIN_MAX 4

/* Find the enclosing scopes of functions with unqualified names. */
static void find_bare_names(struct unit *u)
{
	size_t before = 0;

	u->n_bare = 0;
	for (size_t i = 0; i < u->n_scopes; i++) {
		bool bare = false;

		linkage_of(&u->scopes[i].die, &bare);
		if (bare)
			add_bare(u, first_declaration(u, &u->scopes[i].die));
	}
	u->path[0] = u->die;
	for (int round = 0; round < WITHIN_MAX && u->n_bare > before; round++) {
		size_t n;

		sort_bare(u);
		qualify_children(u, 1);
		before = n = u->n_bare;
		for (size_t i = 0; i < n; i++) {
			const struct bare key = { .at = u->bare[i].within };

			if (key.at && !vec_find(&key, u->bare, n, by_offset))
				add_bare(u, key.at);
		}
	}
	if (u->n_bare > before)
		sort_bare(u);
}

/* Its fully qualified name; false when that is unknown, or too long. */
static bool append_bare(const struct unit *u, const struct bare *b, char name[SYMBOLS_NAME_MAX],
			size_t *len, int depth)
{
	const struct bare *around = b->within ? find_bare(u, b->within) : NULL;

	if (!b->name || depth == WITHIN_MAX)
		return false;
	if (b->within && (!around || !append_bare(u, around, name, len, depth + 1) ||
			  !append(name, len, "", "()::")))
		return false;
	return append(name, len, b->name, "");
}

/* The function of a scope, outermost or inlined, with `name` from DWARF or the symbol table. */
static struct profile_function function_of(struct unit *u, struct scope *scope, const char *name,
					   bool bare, const char *file)
{
	struct profile_function f = { .linkage = name, .file = file, .bare = bare && u->mangles };
	const struct bare *b = f.bare ? find_bare(u, first_declaration(u, &scope->die)) : NULL;
	struct declaration declaration = { 0 };
	char whole[SYMBOLS_NAME_MAX];
	size_t len = 0;

	if (b && !symbols_is_mangled(name) && append_bare(u, b, whole, &len, 0))
		f.name = intern_add(u->lookup->text, whole, len);
	if (scope && bare)
		declaration = declaration_of(u, &scope->die);
	if (!declaration.file && b)
		declaration = b->declaration;
	f.origin = declaration.file;
	f.origin_at = declaration.line;
	return f;
}

/* --- one place --- */

/* False when one of its calls has no name: incomplete locations are not used. */
static bool name_place(struct unit *u, size_t index)
{
	struct symbols_lookup *l = u->lookup;
	struct place *p = &l->places[index];
	struct source source = line_at(u, p->address);
	struct profile_line lines[SYMBOLS_INLINED_MAX];
	uint32_t at = u->innermost[index];
	size_t n = 0;

	while (n < SYMBOLS_INLINED_MAX) {
		struct scope *scope = at == SCOPE_NONE ? NULL : &u->scopes[at];
		bool outermost = !scope || scope->parent == SCOPE_NONE, bare = false;
		const char *name = scope ? linkage_of(&scope->die, &bare) : NULL;

		if (outermost)
			name = outermost_name(p, name);
		lines[n].function =
			name ? symbols_lookup_function(l, function_of(u, scope, name, bare,
								      source.file))
			     : PROFILE_NONE;
		if (lines[n].function == PROFILE_NONE)
			return false;
		lines[n++].line = source.line;
		if (outermost)
			break;
		source = call_site(u, &scope->die);
		at = scope->parent;
	}
	symbols_build_location(l->build, index, lines, n);
	return true;
}

/* --- units --- */

static void add_mine(struct unit *u, size_t place, uint32_t scope)
{
	(void)scope;
	if (!u->lookup->places[place].named && vec_grow(u->mine, u->mine_room, u->n_mine))
		u->mine[u->n_mine++] = (uint32_t)place;
}

/* Check the length of the unit's line program before libdw expands it. */
static bool has_sane_lines(Dwarf *dbg, Dwarf_Die *die)
{
	Elf *elf = dwarf_getelf(dbg);
	Elf_Scn *scn = NULL;
	Dwarf_Word at;
	size_t names;

	if (!number_of(die, DW_AT_stmt_list, &at) || elf_getshdrstrndx(elf, &names))
		return true;
	while ((scn = elf_nextscn(elf, scn))) {
		GElf_Shdr sh;
		const char *name =
			gelf_getshdr(scn, &sh) ? elf_strptr(elf, names, sh.sh_name) : NULL;
		Elf_Data *data;
		uint32_t len;

		if (!name || strcmp(name, ".debug_line") != 0)
			continue;
		data = elf_getdata(scn, NULL);
		if (!data || !data->d_buf || at > data->d_size || data->d_size - at < sizeof(len))
			return true;
		memcpy(&len, (const char *)data->d_buf + at, sizeof(len));
		return len <= LINE_PROGRAM_MAX;
	}
	return true;
}

/* As in addr2line(1): for C, the name is the linkage name. */
static bool mangles(Dwarf_Die *die)
{
	int language = dwarf_srclang(die);

	return language != DW_LANG_C89 && language != DW_LANG_C && language != DW_LANG_C99 &&
	       language != DW_LANG_C11;
}

/* Returns the number of its lines that libdw now keeps. */
static size_t read_unit(struct unit *u, Dwarf *dbg)
{
	Dwarf_Lines *lines;
	size_t n_lines = 0;

	u->n_mine = 0;
	unit_each_place(u, &u->die, SCOPE_NONE, add_mine);
	if (!u->n_mine || !has_sane_lines(dbg, &u->die))
		return 0;
	pace();
	u->lookup->split |= dwarf_tag(&u->die) == DW_TAG_skeleton_unit ||
			    dwarf_hasattr(&u->die, DW_AT_GNU_dwo_name);
	u->mangles = mangles(&u->die);
	u->folder = string_of(&u->die, DW_AT_comp_dir);
	u->n_scopes = 0;
	walk_children(u, &u->die, SCOPE_NONE, 0);
	u->n_bare = 0;
	u->declaring_path = NULL;
	if (u->mangles)
		find_bare_names(u);
	for (size_t i = 0; i < u->n_mine; i++)
		u->lookup->places[u->mine[i]].named = name_place(u, u->mine[i]);
	for (size_t i = 0; i < u->n_mine; i++)
		u->innermost[u->mine[i]] = SCOPE_NONE;
	return dwarf_getsrclines(&u->die, &lines, &n_lines) ? 0 : n_lines;
}

/* Read units from *at on, until too many lines are kept: then true, and *at is the next unit. */
static bool read_units(struct unit *u, Dwarf *dbg, Dwarf_Off *at, unsigned int *n_units)
{
	Dwarf_Off next, given_back = *at;
	size_t lines = 0, header, size;
	char *file;

	for (; *n_units < UNITS_MAX && lines < LINES_KEPT_MAX; ++*n_units, *at = next) {
		if (dwarf_next_unit(dbg, *at, &next, &header, NULL, NULL, NULL, NULL, NULL, NULL) !=
			    0 ||
		    next <= *at)
			return false;
		u->work = 4 * (next - *at) + 64 * (u->lookup->n + 16);
		if (dwarf_offdie(dbg, *at + header, &u->die) &&
		    (dwarf_tag(&u->die) == DW_TAG_compile_unit ||
		     dwarf_tag(&u->die) == DW_TAG_skeleton_unit))
			lines += read_unit(u, dbg);
		if (next - given_back <= WALKED_MAX)
			continue;
		given_back = next;
		/*
		 * Pages of a mapped file can be dropped: they are read again on access. If libelf
		 * could not map it, the memory is from malloc(3), and does not start at a page
		 * boundary.
		 */
		file = dwarf_getelf(dbg) ? elf_rawfile(dwarf_getelf(dbg), &size) : NULL;
		if (file && !((uintptr_t)file % (uintptr_t)sysconf(_SC_PAGESIZE)))
			madvise(file, size, MADV_DONTNEED);
	}
	return *n_units < UNITS_MAX;
}

static void unit_fini(struct unit *u)
{
	free(u->mine);
	free(u->innermost);
	free(u->scopes);
	free(u->bare);
}

static void close_dwarf(Dwarf **dbg)
{
	dwarf_end(*dbg);
}

bool symbols_has_dwarf(Elf *elf)
{
	return is_usable(elf, true);
}

static bool read_all(struct unit *u, Elf *elf, Elf *common)
{
	_cleanup_(close_dwarf) Dwarf *alt =
		common ? dwarf_begin_elf(common, DWARF_C_READ, NULL) : NULL;
	unsigned int n_units = 0;
	Dwarf_Off at = 0;
	bool more = true;

	if (common && !alt)
		return false;
	memset(u->innermost, 0xff, (u->lookup->n + 1) * sizeof(*u->innermost));
	while (more) {
		_cleanup_(close_dwarf) Dwarf *dbg = dwarf_begin_elf(elf, DWARF_C_READ, NULL);

		if (!dbg)
			return false;
		if (alt)
			dwarf_setalt(dbg, alt);
		more = read_units(u, dbg, &at, &n_units);
	}
	return true;
}

bool symbols_lookup_dwarf(struct symbols_lookup *l, Elf *elf, Elf *common, uint64_t bias)
{
	struct unit u = { .lookup = l, .bias = bias };
	bool read;

	u.innermost = malloc((l->n + 1) * sizeof(*u.innermost));
	read = u.innermost && is_usable(elf, common != NULL) &&
	       (!common || is_usable(common, false)) && read_all(&u, elf, common);
	unit_fini(&u);
	return read;
}
