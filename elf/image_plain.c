// SPDX-License-Identifier: Apache-2.0
#include "elf/image_plain.h"

#include "base/cleanup.h"
#include "base/pace.h"
#include "base/write.h"
#include "elf/image_file.h"
#include "sandbox/door.h"

#include <fcntl.h>
#include <gelf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>
#include <zlib.h>

#define CHUNK 65536
#define ALIGN 16

/* A section on its way to the copy. */
struct section {
	Elf64_Shdr sh; /* as it is there */
	uint64_t from; /* where its bytes are in the packed file */
	uint64_t len;  /* so many */
	bool packed;
};

struct copy {
	Elf *elf;
	int in, out;
	struct section *sections;
	size_t n, names; /* how many, and which has their names */
	uint64_t size;	 /* of all that comes before the section headers */
	bool any;	 /* is packed */
};

static void copy_fini(struct copy *c)
{
	free(c->sections);
	cleanup_close(&c->out);
}

/* --- which sections, and where they go --- */

/* What names, lines and inlined calls are made of, and where the rest of that is. */
static bool is_needed(const char *name)
{
	static const char *const needed[] = {
		".debug_info", ".debug_types",	  ".debug_abbrev",	".debug_line",
		".debug_str",  ".debug_ranges",	  ".debug_str_offsets", ".debug_line_str",
		".debug_addr", ".debug_rnglists", ".gnu_debugaltlink",
	};

	for (size_t i = 0; i < sizeof(needed) / sizeof(*needed); i++) {
		if (!strcmp(name, needed[i]))
			return true;
	}
	return !strncmp(name, ".zdebug_", 8);
}

/* The header of a packed section lies before its bytes. */
static void unpack_header(struct section *s, Elf_Scn *scn)
{
	GElf_Chdr ch;

	if (!(s->sh.sh_flags & SHF_COMPRESSED) || !gelf_getchdr(scn, &ch) ||
	    ch.ch_type != ELFCOMPRESS_ZLIB || s->len < sizeof(Elf64_Chdr))
		return;
	s->packed = true;
	s->from += sizeof(Elf64_Chdr);
	s->len -= sizeof(Elf64_Chdr);
	s->sh.sh_flags &= ~(Elf64_Xword)SHF_COMPRESSED;
	s->sh.sh_size = ch.ch_size;
	s->sh.sh_addralign = ch.ch_addralign;
}

static bool place_section(struct copy *c, struct section *s, Elf_Scn *scn)
{
	const char *name =
		gelf_getshdr(scn, &s->sh) ? elf_strptr(c->elf, c->names, s->sh.sh_name) : NULL;

	if (!name)
		return false;
	if (s->sh.sh_type == SHT_NOBITS || (!is_needed(name) && elf_ndxscn(scn) != c->names)) {
		s->sh.sh_type = SHT_NOBITS;
		s->sh.sh_flags &= ~(Elf64_Xword)SHF_COMPRESSED;
		return true;
	}
	s->from = s->sh.sh_offset;
	s->len = s->sh.sh_size;
	unpack_header(s, scn);
	c->any |= s->packed;
	s->sh.sh_offset = c->size;
	if (s->len > IMAGE_FILE_MAX || s->from > IMAGE_FILE_MAX ||
	    s->sh.sh_size > IMAGE_FILE_MAX - c->size)
		return false;
	c->size = (c->size + s->sh.sh_size + ALIGN - 1) & ~(uint64_t)(ALIGN - 1);
	return true;
}

static bool place_sections(struct copy *c)
{
	Elf_Scn *scn = NULL;

	/* From SHN_LORESERVE on their number stands elsewhere. */
	if (elf_getshdrnum(c->elf, &c->n) || elf_getshdrstrndx(c->elf, &c->names) ||
	    c->n >= SHN_LORESERVE)
		return false;
	c->sections = calloc(c->n, sizeof(*c->sections));
	c->size = sizeof(Elf64_Ehdr);
	while (c->sections && (scn = elf_nextscn(c->elf, scn))) {
		if (!place_section(c, &c->sections[elf_ndxscn(scn)], scn))
			return false;
	}
	return c->sections && c->any;
}

/* --- the file --- */

static bool has_room(int fd, uint64_t size)
{
	struct statvfs fs;

	return !fstatvfs(fd, &fs) && fs.f_bavail / 2 > size / fs.f_frsize;
}

/* The next bytes of the section, from *at on, whose end is `end`. */
static size_t next_bytes(const struct copy *c, unsigned char chunk[CHUNK], uint64_t *at,
			 uint64_t end)
{
	uint64_t left = end - *at;
	ssize_t got = read_at(c->in, chunk, left < CHUNK ? left : CHUNK, (off_t)*at);

	pace();
	*at += got > 0 ? (uint64_t)got : 0;
	return got > 0 ? (size_t)got : 0;
}

static void end_inflate(z_stream *z)
{
	inflateEnd(z);
}

/* True when the stream has as many bytes as its header says. */
static bool unpack(const struct copy *c, const struct section *s)
{
	_cleanup_(end_inflate) z_stream z = { 0 };
	unsigned char packed[CHUNK], plain[CHUNK];
	uint64_t at = s->from, end = s->from + s->len;
	int status = inflateInit(&z);

	while (status == Z_OK && z.total_out <= s->sh.sh_size) {
		if (!z.avail_in) {
			z.next_in = packed;
			z.avail_in = (unsigned int)next_bytes(c, packed, &at, end);
		}
		z.next_out = plain;
		z.avail_out = sizeof(plain);
		status = inflate(&z, Z_NO_FLUSH);
		if (!write_all(c->out, plain, sizeof(plain) - z.avail_out))
			return false;
	}
	return status == Z_STREAM_END && z.total_out == s->sh.sh_size;
}

static bool copy_section(const struct copy *c, const struct section *s)
{
	unsigned char chunk[CHUNK];
	uint64_t at = s->from, end = s->from + s->len;

	if (lseek(c->out, (off_t)s->sh.sh_offset, SEEK_SET) < 0)
		return false;
	if (s->packed)
		return unpack(c, s);
	while (at < end) {
		size_t got = next_bytes(c, chunk, &at, end);

		if (!got || !write_all(c->out, chunk, got))
			return false;
	}
	return true;
}

static bool copy_headers(const struct copy *c)
{
	GElf_Ehdr eh;

	if (!gelf_getehdr(c->elf, &eh) || eh.e_ident[EI_DATA] != ELFDATA2LSB)
		return false;
	eh.e_phoff = eh.e_phnum = 0;
	eh.e_shoff = c->size;
	if (lseek(c->out, 0, SEEK_SET) || !write_all(c->out, &eh, sizeof(eh)) ||
	    lseek(c->out, (off_t)c->size, SEEK_SET) < 0)
		return false;
	for (size_t i = 0; i < c->n; i++) {
		if (!write_all(c->out, &c->sections[i].sh, sizeof(c->sections[i].sh)))
			return false;
	}
	return true;
}

static bool fill(const struct copy *c)
{
	for (size_t i = 0; i < c->n; i++) {
		if (c->sections[i].sh.sh_type != SHT_NOBITS && !copy_section(c, &c->sections[i]))
			return false;
	}
	return copy_headers(c);
}

Elf *image_plain(Elf *packed, int fd, int *plain_fd)
{
	_cleanup_(copy_fini) struct copy c = { .elf = packed, .in = fd, .out = -1 };
	Elf *elf = NULL;

	if (fd < 0 || !place_sections(&c))
		return NULL;
	c.out = door_temporary();
	if (c.out >= 0 && has_room(c.out, c.size) && fill(&c))
		elf = image_file_elf(c.out);
	if (elf)
		*plain_fd = take_fd(c.out);
	return elf;
}
