// SPDX-License-Identifier: Apache-2.0
#include "elf/image_data.h"

#include "arch/machine.h"
#include "base/cleanup.h"
#include "base/vec.h"
#include "base/write.h"
#include "elf/image_file.h"
#include "elf/image_head.h"

#include <elf.h>
#include <errno.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PAGE 4096
#define SHT_RELR_TYPE 19 /* SHT_RELR: missing in older elf.h */

struct reloc {
	uint64_t at, value; /* addresses in the image */
};

struct image_data {
	int fd; /* owned by the image */
	uint64_t bias;
	struct image_head head;
	struct reloc *relocs; /* ascending */
	size_t n, room;
};

/* State while relocations are collected. */
struct fill {
	struct image_data *data;
	Elf *elf;
	bool ok;
};

static bool add(struct image_data *d, uint64_t at, uint64_t value)
{
	if (d->n == DATA_RELOCS_MAX || !vec_grow(d->relocs, d->room, d->n))
		return false;
	d->relocs[d->n++] = (struct reloc){ d->bias + at, d->bias + value };
	return true;
}

static bool add_relas(struct fill *f, Elf_Scn *scn, const GElf_Shdr *sh)
{
	Elf_Data *relocs = elf_getdata(scn, NULL);
	Elf_Scn *linked = sh->sh_link ? elf_getscn(f->elf, sh->sh_link) : NULL;
	Elf_Data *symbols = linked ? elf_getdata(linked, NULL) : NULL;
	size_t n = relocs ? relocs->d_size / gelf_fsize(f->elf, ELF_T_RELA, 1, EV_CURRENT) : 0;

	for (size_t i = 0; i < n; i++) {
		GElf_Sym sym = { 0 };
		enum arch_reloc kind;
		GElf_Rela r;

		if (i > DATA_RELOCS_MAX || !gelf_getrela(relocs, (int)i, &r))
			return false;
		kind = arch_reloc(GELF_R_TYPE(r.r_info));
		if (kind == ARCH_RELOC_OTHER)
			continue;
		if (kind != ARCH_RELOC_BASE && symbols)
			gelf_getsym(symbols, (int)GELF_R_SYM(r.r_info), &sym);
		if (!add(f->data, r.r_offset,
			 sym.st_value + (kind == ARCH_RELOC_SYMBOL ? 0 : (uint64_t)r.r_addend)))
			return false;
	}
	return true;
}

/* The value is in the file, at the place that is relocated. */
static bool add_relr(struct image_data *d, uint64_t at)
{
	for (size_t i = 0; i < d->head.n_loads; i++) {
		const struct segment *s = &d->head.loads[i];
		uint64_t word;

		if (at >= s->vaddr && at - s->vaddr + sizeof(word) <= s->filesz)
			return read_at(d->fd, &word, sizeof(word),
				       (off_t)(s->offset + at - s->vaddr)) != sizeof(word) ||
			       add(d, at, word);
	}
	return true;
}

/* Each entry is an address, or, if the lowest bit is set, a bitmap of the next 63 words. */
static bool add_relrs(struct fill *f, Elf_Scn *scn)
{
	Elf_Data *words = elf_rawdata(scn, NULL);
	size_t n = words && words->d_buf ? words->d_size / sizeof(uint64_t) : 0;
	uint64_t next = 0;

	for (size_t i = 0; i < n && i <= DATA_RELOCS_MAX; i++) {
		uint64_t word;

		memcpy(&word, (const char *)words->d_buf + i * sizeof(word), sizeof(word));
		if (!(word & 1)) {
			if (!add_relr(f->data, word))
				return false;
			next = word + sizeof(word);
			continue;
		}
		for (unsigned int bit = 1; bit < 64; bit++)
			if ((word >> bit & 1) &&
			    !add_relr(f->data, next + (bit - 1) * sizeof(word)))
				return false;
		next += 63 * sizeof(word);
	}
	return true;
}

static void fill(void *arg)
{
	struct fill *f = arg;
	Elf_Scn *scn = NULL;
	bool ok = true;
	GElf_Shdr sh;

	while (ok && (scn = elf_nextscn(f->elf, scn))) {
		if (!gelf_getshdr(scn, &sh))
			continue;
		if (sh.sh_type == SHT_RELA && (sh.sh_flags & SHF_ALLOC))
			ok = add_relas(f, scn, &sh);
		else if (sh.sh_type == SHT_RELR_TYPE)
			ok = add_relrs(f, scn);
	}
	f->ok = ok;
}

static int by_address(const void *a, const void *b)
{
	const struct reloc *x = a, *y = b;

	return (x->at > y->at) - (x->at < y->at);
}

struct image_data *image_data_new(struct image *img, const struct image_head *head)
{
	struct image_data *d = calloc(1, sizeof(*d));
	struct fill f = { .data = d, .elf = img->file->elf };

	if (!d)
		return NULL;
	d->fd = img->file->fd;
	d->bias = img->bias;
	d->head = *head;
	if (img->machine == ARCH_ELF_MACHINE && !image_guard(fill, &f))
		img->file->elf = NULL;
	if (img->machine == ARCH_ELF_MACHINE && !f.ok) {
		image_data_free(d);
		return NULL;
	}
	vec_sort(d->relocs, d->n, by_address);
	return d;
}

void image_data_free(struct image_data *data)
{
	if (!data)
		return;
	free(data->relocs);
	free(data);
}

/* Read the segment's part of that page; false if there is none. */
static bool read_segment(const struct image_data *d, const struct segment *s, uint64_t start,
			 unsigned char page[PAGE])
{
	uint64_t low = d->bias + s->vaddr, high = low + s->memsz, end = low + s->filesz;
	uint64_t from = low > start ? low : start, to = end < start + PAGE ? end : start + PAGE;

	if (high <= start || low >= start + PAGE)
		return false;
	if (from < to &&
	    read_at(d->fd, page + (from - start), to - from, (off_t)(s->offset + (from - low))) < 0)
		return false;
	return true;
}

static size_t first_reloc(const struct image_data *d, uint64_t at)
{
	size_t low = 0, high = d->n;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (d->relocs[mid].at < at)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

bool image_data_page(const struct image_data *d, uint64_t start, unsigned char page[PAGE])
{
	bool any = false;

	memset(page, 0, PAGE);
	for (size_t i = 0; i < d->head.n_loads; i++)
		any |= read_segment(d, &d->head.loads[i], start, page);
	/* The pointers of interest are aligned: one that crosses a page boundary is skipped. */
	for (size_t i = first_reloc(d, start); any && i < d->n; i++) {
		uint64_t within = d->relocs[i].at - start;

		if (within + sizeof(d->relocs[i].value) > PAGE)
			break;
		memcpy(page + within, &d->relocs[i].value, sizeof(d->relocs[i].value));
	}
	return any;
}

/* --- an image by its file alone --- */

/* Opens the image in a file that a process has mapped, using only the file. */

/* The assumed load address of a position-independent file. */
#define SOMEWHERE (UINT64_C(1) << 40)

static void open_elf(void *arg)
{
	struct image_file *file = arg;

	elf_version(EV_CURRENT);
	file->elf = image_file_elf(file->fd);
}

struct look {
	struct image *img;
	struct image_head *head;
	bool ok;
};

static void read_head(void *arg)
{
	struct look *l = arg;

	l->ok = image_head_read(l->head, l->img->file->elf);
}

/* Lay it out as if a loader had put it at an unused address. */
static bool lay_out(struct image *img, const struct image_head *head)
{
	image_head_extent(head, &img->start, &img->end);
	img->bias = head->type == ET_EXEC ? 0 : SOMEWHERE - img->start;
	img->start += img->bias;
	img->end += img->bias;
	img->is_loaded = true;
	img->elf_class = head->elf_class;
	img->machine = head->machine;
	img->type = head->type;
	img->has_interp = head->has_interp;
	img->is_main = head->has_interp || head->type == ET_EXEC;
	if (head->eh_frame_hdr.memsz) {
		img->eh_frame_hdr = img->bias + head->eh_frame_hdr.vaddr;
		img->eh_frame_hdr_size = head->eh_frame_hdr.memsz;
	}
	img->build_id_len =
		image_file_build_id(img->file->fd, img->build_id, sizeof(img->build_id));
	img->exec = calloc(head->n_loads, sizeof(*img->exec));
	if (!img->exec)
		return false;
	for (size_t i = 0; i < head->n_loads; i++) {
		const struct segment *s = &head->loads[i];

		if (s->flags & PF_X)
			img->exec[img->n_exec++] =
				(struct range){ img->bias + s->vaddr,
						img->bias + s->vaddr + s->memsz };
	}
	return true;
}

static enum image_mapped look_at(struct image *img, struct image_head *head)
{
	struct look l = { .img = img, .head = head };
	unsigned char ident[EI_NIDENT] = { 0 };

	image_guard(open_elf, img->file);
	if (!img->file->elf) {
		/* A file that is not a 64-bit ELF file contains no jemalloc that we support. */
		if (read_at(img->file->fd, ident, sizeof(ident), 0) >= 0 &&
		    (memcmp(ident, ELFMAG, SELFMAG) != 0 || ident[EI_CLASS] != ELFCLASS64))
			return IMAGE_MAPPED_NONE;
		return IMAGE_MAPPED_UNKNOWN;
	}
	if (!image_guard(read_head, &l)) {
		img->file->elf = NULL;
		return IMAGE_MAPPED_UNKNOWN;
	}
	return l.ok && lay_out(img, head) ? IMAGE_MAPPED_FOUND : IMAGE_MAPPED_UNKNOWN;
}

enum image_mapped images_open_mapped(struct images *out, pid_t pid, const struct map *map,
				     struct image_head *head, struct stat *st)
{
	_cleanup_(images_fini) struct images got = { 0 };
	enum image_mapped ret;
	struct image *img;

	got.v = calloc(1, sizeof(*got.v));
	if (!got.v)
		return IMAGE_MAPPED_UNKNOWN;
	got.n = 1;
	img = got.v;
	img->path = strdup("/"); /* not the root of the process, which could choose the files */
	img->file = image_file_new(0, map);
	if (!img->path || !img->file)
		return IMAGE_MAPPED_UNKNOWN;
	img->file->tried = true;
	img->file->fd = image_file_open_mapped(pid, map, st);
	if (img->file->fd < 0)
		return IMAGE_MAPPED_UNKNOWN;
	ret = look_at(img, head);
	if (ret == IMAGE_MAPPED_FOUND) {
		*out = got;
		got = (struct images){ 0 };
	}
	return ret;
}

bool image_mapped_relocate(struct image *img, const struct image_head *head)
{
	img->file->data = image_data_new(img, head);
	return img->file->data;
}
