// SPDX-License-Identifier: Apache-2.0
#include "base/pace.h"
#include "base/text.h"
#include "base/write.h"
#include "elf/image.h"
#include "elf/image_file.h"
#include "elf/image_head.h"
#include "elf/peek.h"

#include <elf.h>
#include <gelf.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* --- strings --- */

/*
 * Searches for bytes in an image. The file is read window by window: if mapped, a large program
 * would take as much of our memory.
 */

#define WINDOW (256u << 10)

struct search {
	unsigned int pflags;
	image_find_fn *find; /* NULL: search for `bytes` */
	const void *bytes;
	size_t len;
	uint64_t found;
};

static const char *find(const struct search *s, const char *bytes, size_t len)
{
	return s->find ? s->find(bytes, len) : text_search(bytes, len, s->bytes, s->len);
}

static int search_segment(void *ctx, unsigned int pflags, const char *bytes, size_t len,
			  uint64_t addr)
{
	struct search *s = ctx;
	const char *hit;

	if ((pflags & s->pflags) != s->pflags)
		return 0;
	hit = find(s, bytes, len);
	if (hit)
		s->found = addr + (uint64_t)(hit - bytes);
	return hit != NULL;
}

static void read_head(void *ctx, struct Elf *elf)
{
	struct image_head *head = ctx;

	if (!image_head_read(head, elf))
		head->n_loads = 0;
}

static void search_windows(struct search *s, int fd, const struct segment *segment, uint64_t bias)
{
	static char window[WINDOW];
	size_t kept = 0; /* bytes of the previous window, where a match may begin */

	for (uint64_t at = 0; at < segment->filesz;) {
		uint64_t left = segment->filesz - at, room = sizeof(window) - kept;
		ssize_t got = read_at(fd, window + kept, left < room ? left : room,
				      (off_t)(segment->offset + at));
		const char *hit;
		size_t len;

		if (got <= 0)
			return;
		len = kept + (size_t)got;
		hit = find(s, window, len);
		if (hit) {
			s->found = bias + segment->vaddr + at - kept + (uint64_t)(hit - window);
			return;
		}
		at += (uint64_t)got;
		kept = len < s->len - 1 ? len : s->len - 1;
		memmove(window, window + len - kept, kept);
	}
}

static void search_file(struct search *s, struct image *img)
{
	struct image_head head = { 0 };
	unsigned int skipped = 0;

	if (!image_with_elf(img, false, read_head, &head))
		return;
	/* Linkers that use a separate segment for constants put none into code segments. */
	for (size_t i = 0; i < head.n_loads; i++)
		if (!(s->pflags & PF_X) && (head.loads[i].flags & (PF_R | PF_W | PF_X)) == PF_R)
			skipped = PF_X;
	for (size_t i = 0; i < head.n_loads && !s->found; i++) {
		const struct segment *segment = &head.loads[i];

		if ((segment->flags & s->pflags) == s->pflags && !(segment->flags & skipped))
			search_windows(s, img->file->fd, segment, img->bias);
		pace();
	}
}

static uint64_t search(struct search *s, struct image *img)
{
	if (!image_elf(img) || !s->len || s->len > WINDOW / 2)
		return 0;
	if (img->file->fd >= 0)
		search_file(s, img);
	else
		image_each_segment(img, search_segment, s);
	return s->found;
}

uint64_t image_search(struct image *img, unsigned int pflags, const void *bytes, size_t len)
{
	struct search s = { .pflags = pflags, .bytes = bytes, .len = len };

	return search(&s, img);
}

uint64_t image_search_code(struct image *img, image_find_fn *fn, size_t longest)
{
	struct search s = { .pflags = PF_X, .find = fn, .len = longest };

	return search(&s, img);
}

/* --- symbols --- */

/* Symbols and bytes of an image's file. */

#define MAX_SYMBOLS (4u << 20) /* the largest programs have about 2 million */
#define MAX_NAME 1024
#define VERSYM_HIDDEN 0x8000

/* A symbol table being iterated over. */
struct table {
	struct image *img;
	Elf *elf;
	Elf_Data *symbols;
	Elf_Data *versions; /* NULL except for a .dynsym with versions */
	const char *names;  /* names_len bytes, ending with NUL */
	size_t names_len;
	size_t n;
	bool dynamic;
};

/* As image_symbol_fn; `hidden`: not the default version of its name. */
typedef int symbol_fn(void *ctx, const char *name, const struct symbol *sym, bool hidden);

static Elf_Scn *section_by_type(Elf *elf, unsigned int type, GElf_Shdr *sh)
{
	Elf_Scn *scn = NULL;

	while ((scn = elf_nextscn(elf, scn)))
		if (gelf_getshdr(scn, sh) && sh->sh_type == type)
			return scn;
	return NULL;
}

static bool table_open(struct table *t, struct image *img, Elf *elf, unsigned int type)
{
	GElf_Shdr sh, version_sh;
	Elf_Scn *scn = section_by_type(elf, type, &sh);
	Elf_Data *names;

	if (!scn || !sh.sh_entsize || sh.sh_size / sh.sh_entsize > MAX_SYMBOLS)
		return false;
	*t = (struct table){ .img = img, .elf = elf };
	t->dynamic = type == SHT_DYNSYM;
	t->symbols = elf_getdata(scn, NULL);
	if (!t->symbols)
		return false;
	scn = elf_getscn(elf, sh.sh_link);
	names = scn ? elf_rawdata(scn, NULL) : NULL;
	if (!names || !names->d_buf)
		return false;
	t->names = names->d_buf;
	t->names_len = names->d_size;
	while (t->names_len && t->names[t->names_len - 1])
		t->names_len--;
	if (!t->names_len)
		return false;
	t->n = t->symbols->d_size / gelf_fsize(elf, ELF_T_SYM, 1, EV_CURRENT);
	scn = t->dynamic ? section_by_type(elf, SHT_GNU_versym, &version_sh) : NULL;
	t->versions = scn ? elf_getdata(scn, NULL) : NULL;
	return true;
}

/* Addresses outside the image are unusable. */
static bool to_symbol(const struct table *t, const GElf_Sym *s, struct symbol *sym)
{
	unsigned int type = GELF_ST_TYPE(s->st_info);

	if (s->st_shndx == SHN_UNDEF || s->st_shndx == SHN_ABS || s->st_shndx == SHN_COMMON ||
	    type == STT_SECTION || type == STT_FILE)
		return false;
	*sym = (struct symbol){ .addr = s->st_value, .size = s->st_size };
	sym->type = (unsigned char)type;
	sym->dynamic = t->dynamic;
	sym->weak = GELF_ST_BIND(s->st_info) == STB_WEAK;
	if (type == STT_TLS)
		return true;
	sym->addr += t->img->bias;
	return sym->addr >= t->img->start && sym->addr <= t->img->end;
}

/* One walk over an image's tables, for image_guard(). */
struct walk {
	struct image *img;
	Elf *elf;
	const char *only; /* only symbols of this name; NULL: all */
	symbol_fn *fn;
	image_segment_fn *segment_fn;
	void *ctx;
	int ret;
};

/* Both tables of a file, until `fn` returns other than 0 for one. */
static void walk_tables(struct walk *w, int (*fn)(struct walk *w, const struct table *t))
{
	static const unsigned int types[] = { SHT_DYNSYM, SHT_SYMTAB };

	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]) && !w->ret; i++) {
		struct table t;

		if (table_open(&t, w->img, w->elf, types[i]))
			w->ret = fn(w, &t);
	}
}

static int walk_table(struct walk *w, const struct table *t)
{
	const size_t only_len = w->only ? strlen(w->only) : 0;
	const char *file = NULL;
	char plain[MAX_NAME];

	for (size_t i = 1; i < t->n; i++) {
		const char *name, *at;
		GElf_Versym version;
		struct symbol sym;
		bool hidden;
		GElf_Sym s;
		int ret;

		if (!gelf_getsym(t->symbols, (int)i, &s) || s.st_name >= t->names_len)
			continue;
		name = t->names + s.st_name;
		if (GELF_ST_TYPE(s.st_info) == STT_FILE)
			file = name; /* source file of the local symbols that follow */
		/* Perhaps with a version. */
		if (w->only && (strncmp(name, w->only, only_len) != 0 ||
				(name[only_len] && name[only_len] != '@')))
			continue;
		if (!*name || !to_symbol(t, &s, &sym))
			continue;
		sym.file = GELF_ST_BIND(s.st_info) == STB_LOCAL ? file : NULL;
		hidden = t->versions && gelf_getversym(t->versions, (int)i, &version) &&
			 (version & VERSYM_HIDDEN);
		/* .symtab has versions in the name: a single "@" is not the default. */
		at = t->dynamic ? NULL : strchr(name, '@');
		if (at) {
			hidden |= at[1] != '@';
			snprintf(plain, sizeof(plain), "%.*s", (int)(at - name), name);
			name = plain;
		}
		ret = w->fn(w->ctx, name, &sym, hidden);
		if (ret)
			return ret;
	}
	return 0;
}

static void walk_symbols(void *arg)
{
	walk_tables(arg, walk_table);
}

/* A file that was truncated is no longer used. */
static int walk_file(struct walk *w, void (*fn)(void *), Elf **elf)
{
	w->elf = *elf;
	if (w->elf && !image_guard(fn, w))
		*elf = NULL;
	return w->ret;
}

static int walk(struct walk *w, void (*fn)(void *))
{
	pace();
	return image_elf(w->img) ? walk_file(w, fn, &w->img->file->elf) : 0;
}

static int each_symbol(struct image *img, const char *only, symbol_fn *fn, void *ctx)
{
	struct walk w = { .img = img, .only = only, .fn = fn, .ctx = ctx };

	if (!walk(&w, walk_symbols))
		walk_file(&w, walk_symbols, &img->file->debug.elf);
	return w.ret;
}

static void find_symtab(void *arg)
{
	struct walk *w = arg;
	struct table t;

	w->ret = table_open(&t, w->img, w->elf, SHT_SYMTAB);
}

bool image_is_stripped(struct image *img)
{
	struct walk w = { .img = img };

	return !walk(&w, find_symtab);
}

/* What the image imports: symbols of .dynsym that are not defined. */
struct imports {
	struct walk walk;
	const char *name;
	bool any, found;
};

static void find_import(void *arg)
{
	struct imports *w = arg;
	struct table t;

	if (!table_open(&t, w->walk.img, w->walk.elf, SHT_DYNSYM))
		return;
	for (size_t i = 1; i < t.n && !w->found; i++) {
		GElf_Sym s;

		if (!gelf_getsym(t.symbols, (int)i, &s) || s.st_shndx != SHN_UNDEF)
			continue;
		w->any = true;
		w->found = s.st_name < t.names_len && !strcmp(t.names + s.st_name, w->name);
	}
}

bool image_may_call(struct image *img, const char *name)
{
	struct imports w = { .walk = { .img = img }, .name = name };

	walk(&w.walk, find_import);
	return w.found || !w.any;
}

struct with {
	struct walk walk;
	image_elf_fn *fn;
	bool whole;
};

static void call_with(void *arg)
{
	struct with *w = arg;

	w->fn(w->walk.ctx, w->walk.elf);
	w->whole = true;
}

bool image_with_elf(struct image *img, bool debug, image_elf_fn *fn, void *ctx)
{
	struct with w = { .walk = { .img = img, .ctx = ctx }, .fn = fn };

	if (debug)
		walk_file(&w.walk, call_with, &img->file->debug.elf);
	else
		walk(&w.walk, call_with);
	return w.whole;
}

struct each {
	image_symbol_fn *fn;
	void *ctx;
};

static int each_plain(void *ctx, const char *name, const struct symbol *sym, bool hidden)
{
	const struct each *e = ctx;

	(void)hidden;
	return e->fn(e->ctx, name, sym);
}

int image_each_symbol(struct image *img, image_symbol_fn *fn, void *ctx)
{
	struct each e = { fn, ctx };

	return each_symbol(img, NULL, each_plain, &e);
}

static int search_table(struct walk *w, const struct table *t)
{
	const char *part = w->ctx;

	return text_search(t->names, t->names_len, part, strlen(part)) != NULL;
}

static void search_names(void *arg)
{
	walk_tables(arg, search_table);
}

bool image_may_name(struct image *img, const char *part)
{
	struct walk w = { .img = img, .ctx = (void *)part };

	if (!walk(&w, search_names))
		walk_file(&w, search_names, &img->file->debug.elf);
	return w.ret;
}

struct wanted {
	struct symbol sym;
	bool found;
};

static int match(void *ctx, const char *name, const struct symbol *sym, bool hidden)
{
	struct wanted *w = ctx;

	(void)name;
	if (!w->found || !hidden)
		w->sym = *sym;
	w->sym.file = NULL;
	w->found = true;
	return !hidden;
}

bool image_symbol(struct image *img, const char *name, struct symbol *sym)
{
	struct wanted w = { .found = false };

	each_symbol(img, name, match, &w);
	if (w.found)
		*sym = w.sym;
	return w.found;
}

/* Walk the segments with code, or the others. */
static void walk_kind(struct walk *w, const struct image_head *head, unsigned int code)
{
	size_t size;
	char *raw = elf_rawfile(w->elf, &size);

	for (size_t i = 0; raw && i < head->n_loads && !w->ret; i++) {
		const struct segment *s = &head->loads[i];
		size_t len;

		if ((s->flags & PF_X) != code || s->offset >= size)
			continue;
		len = s->filesz < size - s->offset ? s->filesz : size - s->offset;
		w->ret = w->segment_fn(w->ctx, s->flags, raw + s->offset, len,
				       w->img->bias + s->vaddr);
	}
}

static void walk_segments(void *arg)
{
	struct walk *w = arg;
	struct image_head head;

	if (!image_head_read(&head, w->elf))
		return;
	walk_kind(w, &head, 0);
	walk_kind(w, &head, PF_X);
}

int image_each_segment(struct image *img, image_segment_fn *fn, void *ctx)
{
	struct walk w = { .img = img, .segment_fn = fn, .ctx = ctx };

	return walk(&w, walk_segments);
}

struct code_walk {
	struct walk walk;
	struct peek *peek;
};

static void walk_code(void *arg)
{
	struct code_walk *w = arg;
	const struct image *img = w->walk.img;
	struct image_head head;

	if (!image_head_read(&head, w->walk.elf))
		return;
	for (size_t i = 0; i < head.n_loads; i++) {
		const struct segment *s = &head.loads[i];

		if ((s->flags & PF_X) && !(s->flags & PF_W))
			peek_code(w->peek, img->file->fd, img->bias + s->vaddr,
				  img->bias + s->vaddr + s->filesz, s->offset);
	}
}

void image_peek_code(struct image *img, struct peek *peek)
{
	struct code_walk w = { .walk = { .img = img }, .peek = peek };

	walk(&w.walk, walk_code);
	peek->data = img->file->data;
}

struct wanted_section {
	struct walk walk;
	const char *name;
	struct range *where;
	bool found;
};

static void find_section(void *arg)
{
	struct wanted_section *w = arg;
	Elf_Scn *scn = NULL;
	GElf_Shdr sh;

	while (!w->found && (scn = image_file_section(w->walk.elf, scn, w->name, &sh))) {
		if (!(sh.sh_flags & SHF_ALLOC))
			continue;
		w->where->start = sh.sh_addr + w->walk.img->bias;
		w->where->end = w->where->start + sh.sh_size;
		w->found = true;
	}
}

bool image_section(struct image *img, const char *name, struct range *where)
{
	struct wanted_section w = { .walk = { .img = img }, .name = name, .where = where };

	walk(&w.walk, find_section);
	return w.found && where->start >= img->start && where->end <= img->end &&
	       where->start < where->end;
}

/* --- relocations --- */

#define RELOCS_MAX (16u << 20)

struct reloc {
	const struct image *img;
	Elf *elf;
	uint64_t slot;
	char *buf;
	size_t size;
	bool found;
};

static void search_relocs(struct reloc *w, Elf_Scn *scn, const GElf_Shdr *sh)
{
	Elf_Data *relocs = elf_getdata(scn, NULL), *symbols;
	size_t n = relocs ? relocs->d_size / gelf_fsize(w->elf, ELF_T_RELA, 1, EV_CURRENT) : 0;
	size_t number;
	const char *name;
	GElf_Shdr symbols_sh;
	GElf_Rela rela;
	GElf_Sym sym;

	for (size_t i = 0; i < n && i < RELOCS_MAX; i++) {
		if (!gelf_getrela(relocs, (int)i, &rela) || rela.r_offset + w->img->bias != w->slot)
			continue;
		number = GELF_R_SYM(rela.r_info);
		scn = elf_getscn(w->elf, sh->sh_link);
		symbols = scn ? elf_getdata(scn, NULL) : NULL;
		if (!number || !symbols || !gelf_getshdr(scn, &symbols_sh) ||
		    !gelf_getsym(symbols, (int)number, &sym))
			return;
		name = elf_strptr(w->elf, symbols_sh.sh_link, sym.st_name);
		if (!name || !*name)
			return;
		snprintf(w->buf, w->size, "%s", name);
		w->found = true;
		return;
	}
}

static void find_reloc(void *arg)
{
	struct reloc *w = arg;
	Elf_Scn *scn = NULL;
	GElf_Shdr sh;

	while (!w->found && (scn = elf_nextscn(w->elf, scn)))
		if (gelf_getshdr(scn, &sh) && sh.sh_type == SHT_RELA && sh.sh_link)
			search_relocs(w, scn, &sh);
}

bool image_reloc_name(struct image *img, uint64_t slot, char *buf, size_t size)
{
	struct reloc w = {
		.img = img, .elf = image_elf(img), .slot = slot, .buf = buf, .size = size
	};

	if (!w.elf)
		return false;
	if (!image_guard(find_reloc, &w))
		img->file->elf = NULL;
	return w.found;
}
