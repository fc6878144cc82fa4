// SPDX-License-Identifier: Apache-2.0

#include "elf/image_debug.h"

#include "base/cleanup.h"
#include "base/pace.h"
#include "base/write.h"
#include "elf/image_file.h"
#include "elf/image_head.h"
#include "process/procfs.h"
#include "sandbox/door.h"

#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <lzma.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/statvfs.h>
#include <unistd.h>
#include <zlib.h>

/* --- decompression --- */

#define CHUNK 65536
#define ALIGN 16

/* A section to be copied. */
struct section {
	Elf64_Shdr sh; /* header in the copy */
	uint64_t from; /* offset of its bytes in the compressed file */
	uint64_t len;  /* and their number */
	bool packed;
};

struct copy {
	Elf *elf;
	int in, out;
	struct section *sections;
	size_t n, names; /* their number, and the index of the one with their names */
	uint64_t size;	 /* of everything before the section headers */
	bool any;	 /* a section is compressed */
};

static void copy_fini(struct copy *c)
{
	free(c->sections);
	cleanup_close(&c->out);
}

/* --- choice and layout of sections --- */

/* Sections needed for names, lines and inlined calls, or referring to a file with the rest. */
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

static bool place_section(struct copy *c, struct section *s, Elf_Scn *scn)
{
	const char *name =
		gelf_getshdr(scn, &s->sh) ? elf_strptr(c->elf, c->names, s->sh.sh_name) : NULL;
	GElf_Chdr ch;

	if (!name)
		return false;
	if (s->sh.sh_type == SHT_NOBITS || (!is_needed(name) && elf_ndxscn(scn) != c->names)) {
		s->sh.sh_type = SHT_NOBITS;
		s->sh.sh_flags &= ~(Elf64_Xword)SHF_COMPRESSED;
		return true;
	}
	s->from = s->sh.sh_offset;
	s->len = s->sh.sh_size;
	/* The header of a compressed section precedes its bytes. */
	if ((s->sh.sh_flags & SHF_COMPRESSED) && gelf_getchdr(scn, &ch) &&
	    ch.ch_type == ELFCOMPRESS_ZLIB && s->len >= sizeof(Elf64_Chdr)) {
		s->packed = true;
		s->from += sizeof(Elf64_Chdr);
		s->len -= sizeof(Elf64_Chdr);
		s->sh.sh_flags &= ~(Elf64_Xword)SHF_COMPRESSED;
		s->sh.sh_size = ch.ch_size;
		s->sh.sh_addralign = ch.ch_addralign;
		c->any = true;
	}
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

	/* From SHN_LORESERVE on, their number is stored elsewhere. */
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

/* Read the next bytes of the section, which ends at `end`, from *at on. */
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

/* True when the stream has the size stated in its header. */
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

static bool fill(const struct copy *c)
{
	GElf_Ehdr eh;

	for (size_t i = 0; i < c->n; i++) {
		if (c->sections[i].sh.sh_type != SHT_NOBITS && !copy_section(c, &c->sections[i]))
			return false;
	}
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

Elf *image_plain(Elf *packed, int fd, int *plain_fd)
{
	_cleanup_(copy_fini) struct copy c = { .elf = packed, .in = fd, .out = -1 };
	struct statvfs fs;
	Elf *elf = NULL;

	if (fd < 0 || !place_sections(&c))
		return NULL;
	c.out = door_temporary();
	if (c.out >= 0 && !fstatvfs(c.out, &fs) && fs.f_bavail / 2 > c.size / fs.f_frsize &&
	    fill(&c))
		elf = image_file_elf(c.out);
	if (elf)
		*plain_fd = take_fd(c.out);
	return elf;
}

/* --- debug files --- */

#define XZ_MEMORY_MAX (72u << 20) /* "xz -9" needs 65 MiB, the usual settings 9 MiB */
#define XZ_OUT_MAX (64u << 20)
#define LINK_FILE_MAX (UINT64_C(1) << 30) /* read completely, for its CRC */
#define NOTES_MAX 4096
#define FOLDER "/usr/lib/debug"

/* Sources, in this order. */
enum place {
	IN_DEBUGDATA,
	BY_ID_IN_TARGET,
	BY_ID_ON_HOST,
	LINK_IN_TARGET,
	LINK_ON_HOST,
	ON_SERVER,
	PLACES
};

static void close_elf(Elf **elf, int *fd)
{
	elf_end(*elf);
	cleanup_close(fd);
	*elf = NULL;
	*fd = -1;
}

void image_debug_fini(struct image_debug *debug)
{
	close_elf(&debug->common, &debug->common_fd);
	close_elf(&debug->plain, &debug->plain_fd);
	close_elf(&debug->elf, &debug->fd);
	free(debug->source);
	debug->source = NULL;
}

/* --- sections: their positions, then their bytes by pread(2), which needs no guard --- */

struct wanted {
	Elf *elf;
	const char *name;
	GElf_Shdr sh;
	bool found;
};

static void find_section(void *arg)
{
	struct wanted *w = arg;
	Elf_Scn *scn = NULL;

	while (!w->found && (scn = image_file_section(w->elf, scn, w->name, &w->sh)))
		w->found = w->sh.sh_type != SHT_NOBITS;
}

static bool section_of(Elf **elf, const char *name, GElf_Shdr *sh)
{
	struct wanted w = { .elf = *elf, .name = name };

	if (*elf && !image_guard(find_section, &w))
		*elf = NULL;
	*sh = w.sh;
	return w.found;
}

/* Read as much of the section as fits; 0 if there is none. */
static size_t section_read(Elf **elf, int fd, const char *name, void *buf, size_t size)
{
	GElf_Shdr sh;
	ssize_t got;

	if (!section_of(elf, name, &sh) || sh.sh_offset > INT64_MAX)
		return 0;
	got = read_at(fd, buf, sh.sh_size < size ? sh.sh_size : size, (off_t)sh.sh_offset);
	return got > 0 ? (size_t)got : 0;
}

static size_t build_id_of(Elf **elf, int fd, unsigned char id[IMAGE_BUILD_ID_MAX])
{
	unsigned char notes[NOTES_MAX];
	size_t len = section_read(elf, fd, ".note.gnu.build-id", notes, sizeof(notes));

	return image_head_build_id(notes, len, id, IMAGE_BUILD_ID_MAX);
}

/* --- taking a file --- */

enum proof { BY_CONTENT, BY_BUILD_ID, BY_CRC };

/*
 * Does it have symbols, and do they belong to this image? BY_CRC: the CRC matches; a build ID, if
 * any, must match too.
 */
static bool belongs(const struct image *img, struct image_debug *debug, enum proof proof)
{
	unsigned char id[IMAGE_BUILD_ID_MAX];
	GElf_Shdr sh;
	size_t len;

	if (!section_of(&debug->elf, ".symtab", &sh))
		return false;
	if (proof == BY_CONTENT)
		return true;
	len = build_id_of(&debug->elf, debug->fd, id);
	if (proof == BY_CRC && (!len || !img->build_id_len))
		return true;
	return len && len == img->build_id_len && !memcmp(id, img->build_id, len);
}

static void open_elf(void *arg)
{
	struct image_debug *debug = arg;

	debug->elf = image_file_elf(debug->fd);
}

/* Takes ownership of `fd`. */
static bool take(struct image *img, int fd, enum proof proof, const char *source)
{
	struct image_debug *debug = &img->file->debug;

	debug->fd = fd;
	image_guard(open_elf, debug);
	debug->source = strdup(source);
	/* It may turn out to be truncated while its build ID is read. */
	if (debug->elf && debug->source && belongs(img, debug, proof) && debug->elf)
		return true;
	image_debug_fini(debug);
	return false;
}

/* --- .gnu_debugdata --- */

/* True if a complete xz stream within the limits was decompressed. */
static bool unpack_minidebug(int in, const GElf_Shdr *sh, int out)
{
	_cleanup_(lzma_end) lzma_stream s = LZMA_STREAM_INIT;
	uint8_t packed[CHUNK], plain[CHUNK];
	lzma_ret ret = lzma_stream_decoder(&s, XZ_MEMORY_MAX, 0);
	uint64_t at = sh->sh_offset, left = sh->sh_size;

	while (ret == LZMA_OK && s.total_out <= XZ_OUT_MAX) {
		pace();
		if (!s.avail_in) {
			ssize_t got = read_at(in, packed, left < CHUNK ? left : CHUNK, (off_t)at);

			if (got <= 0)
				return false;
			s.next_in = packed;
			s.avail_in = (size_t)got;
			at += (size_t)got;
			left -= (size_t)got;
		}
		s.next_out = plain;
		s.avail_out = CHUNK;
		ret = lzma_code(&s, LZMA_RUN);
		if (!write_all(out, plain, CHUNK - s.avail_out))
			return false;
	}
	return ret == LZMA_STREAM_END && s.total_out <= XZ_OUT_MAX;
}

static bool from_debugdata(struct image *img)
{
	static const char name[] = ".gnu_debugdata";
	_cleanup_(cleanup_close) int fd = -1;
	GElf_Shdr sh;

	if (!section_of(&img->file->elf, name, &sh) || sh.sh_offset > INT64_MAX)
		return false;
	fd = memfd_create("debugdata", MFD_CLOEXEC);
	return fd >= 0 && unpack_minidebug(img->file->fd, &sh, fd) &&
	       take(img, take_fd(fd), BY_CONTENT, name);
}

/* --- separate files --- */

/* A path in the target's root, or on the host. */
static int open_at(const struct image *img, bool on_host, const char *path, uint64_t max)
{
	return on_host ? door_below("/", path, max) : image_file_open_in_root(img->file, path, max);
}

/* The path of the debug file for a build ID of 2 to IMAGE_BUILD_ID_MAX bytes. */
#define ID_PATH_SIZE (sizeof(FOLDER) + 2 * IMAGE_BUILD_ID_MAX + 32)
static void path_of_id(const unsigned char *id, size_t len, char path[ID_PATH_SIZE])
{
	char hex[2 * IMAGE_BUILD_ID_MAX + 1];

	for (size_t i = 0; i < len; i++)
		snprintf(hex + 2 * i, 3, "%02x", id[i]);
	snprintf(path, ID_PATH_SIZE, FOLDER "/.build-id/%.2s/%s.debug", hex, hex + 2);
}

static bool from_build_id(struct image *img, bool on_host)
{
	char path[ID_PATH_SIZE];
	int fd;

	if (img->build_id_len < 2)
		return false;
	path_of_id(img->build_id, img->build_id_len, path);
	fd = open_at(img, on_host, path, IMAGE_FILE_MAX);
	return fd >= 0 && take(img, fd, BY_BUILD_ID, path);
}

struct link {
	char name[NAME_MAX + 1];
	uint32_t crc;
};

/* The name, zero padding to a multiple of four, and the CRC (gdb, "Separate Debug Files"). */
static bool read_link(struct image *img, struct link *link)
{
	char bytes[NAME_MAX + 1 + 3 + sizeof(link->crc)];
	size_t len = section_read(&img->file->elf, img->file->fd, ".gnu_debuglink", bytes,
				  sizeof(bytes));
	size_t name = strnlen(bytes, len), at = (name + 4) & ~(size_t)3;

	if (!name || name > NAME_MAX || at + sizeof(link->crc) > len || memchr(bytes, '/', name))
		return false;
	memcpy(link->name, bytes, name);
	link->name[name] = '\0';
	memcpy(&link->crc, bytes + at, sizeof(link->crc));
	return true;
}

static bool has_crc(int fd, uint32_t crc)
{
	uint8_t bytes[CHUNK];
	uint32_t sum = 0;
	uint64_t at = 0;
	ssize_t got;

	/* It may grow while it is read. */
	while (at <= LINK_FILE_MAX && (got = read_at(fd, bytes, sizeof(bytes), (off_t)at)) > 0) {
		pace();
		sum = lzma_crc32(bytes, (size_t)got, sum);
		at += (uint64_t)got;
	}
	return at && at <= LINK_FILE_MAX && sum == crc;
}

/* The image's directory in the target's root: maps shows the path from our root. */
static bool folder_of(const struct image *img, char *buf, size_t size)
{
	const char *path = img->path, *slash = strrchr(path, '/');
	char root[PATH_MAX];
	struct err ignored;
	size_t len = 0;

	if (!slash || (!img->file->root &&
		       procfs_readlink(img->file->pid, "root", root, sizeof(root), &ignored)))
		return false;
	if (!img->file->root && strcmp(root, "/") != 0)
		len = strlen(root);
	if (!strncmp(path, root, len) && path[len] == '/')
		path += len;
	return snprintf(buf, size, "%.*s", (int)(slash - path), path) < (int)size;
}

static bool from_link(struct image *img, bool on_host)
{
	static const char *const around[][2] = { { "", "" }, { "", "/.debug" }, { FOLDER, "" } };
	char folder[PATH_MAX], path[PATH_MAX];
	struct link link;

	if (!read_link(img, &link) || !folder_of(img, folder, sizeof(folder)))
		return false;
	for (size_t i = 0; i < sizeof(around) / sizeof(around[0]); i++) {
		_cleanup_(cleanup_close) int fd = -1;

		if (snprintf(path, sizeof(path), "%s%s%s/%s", around[i][0], folder, around[i][1],
			     link.name) >= (int)sizeof(path))
			continue;
		fd = open_at(img, on_host, path, LINK_FILE_MAX);
		if (fd >= 0 && has_crc(fd, link.crc) && take(img, take_fd(fd), BY_CRC, path))
			return true;
	}
	return false;
}

static bool from_server(struct image *img, struct err *server)
{
	int fd;

	if (!server || img->build_id_len < 2)
		return false;
	fd = door_debuginfod(img->build_id, img->build_id_len, server);
	return fd >= 0 && take(img, fd, BY_BUILD_ID, "debuginfod");
}

bool image_debug_next(struct image *img, struct err *server)
{
	struct image_debug *debug = &img->file->debug;
	bool found = false;

	image_debug_fini(debug);
	if (image_elf(img) ? img->file->fd < 0 : img->file->pid)
		return false;
	while (!found && debug->tried < PLACES) {
		enum place place = (enum place)debug->tried++;

		switch (place) {
		case IN_DEBUGDATA:
			found = from_debugdata(img);
			break;
		case BY_ID_IN_TARGET:
		case BY_ID_ON_HOST:
			found = from_build_id(img, place == BY_ID_ON_HOST);
			break;
		case LINK_IN_TARGET:
		case LINK_ON_HOST:
			found = from_link(img, place == LINK_ON_HOST);
			break;
		case ON_SERVER:
			found = from_server(img, server);
			break;
		case PLACES:
			break;
		}
	}
	return found;
}

const char *image_debug_source(const struct image *img)
{
	const struct image_file *file = img->file;

	if (!file)
		return img->symbols_from;
	return file->debug.source || !file->is_rebuilt ? file->debug.source
						       : "memory: its file cannot be opened";
}

/* --- decompressed debug data --- */

struct with {
	image_elf_fn *fn;
	void *ctx;
	struct image *img;
	bool debug;
};

static void call_with_plain(void *arg, Elf *elf)
{
	const struct with *w = arg;
	struct image_debug *d = &w->img->file->debug;

	d->plain = image_plain(elf, w->debug ? d->fd : w->img->file->fd, &d->plain_fd);
	w->fn(w->ctx, d->plain ? d->plain : elf);
	/* A confined process may have only few temporary files at a time. */
	close_elf(&d->plain, &d->plain_fd);
	close_elf(&d->common, &d->common_fd);
}

bool image_with_debug(struct image *img, bool debug, image_elf_fn *fn, void *ctx)
{
	struct with w = { fn, ctx, img, debug };

	if (image_with_elf(img, debug, call_with_plain, &w))
		return true;
	/* These handles may have been in use. */
	img->file->debug.common = img->file->debug.plain = NULL;
	return false;
}

/* --- shared debug data (dwz) --- */

/* The file that .gnu_debugaltlink refers to. */
struct needed {
	char path[PATH_MAX]; /* unescaped text; "": none is needed */
	unsigned char id[IMAGE_BUILD_ID_MAX];
	size_t len;
};

static void read_needed(Elf **elf, int fd, struct needed *needed)
{
	char bytes[sizeof(needed->path) + sizeof(needed->id)];
	size_t len = section_read(elf, fd, ".gnu_debugaltlink", bytes, sizeof(bytes));
	size_t name = strnlen(bytes, len);

	*needed = (struct needed){ 0 };
	if (!name || name >= sizeof(needed->path) || name >= len)
		return;
	memcpy(needed->path, bytes, name);
	needed->len = len - name - 1;
	if (needed->len > sizeof(needed->id))
		needed->len = 0;
	memcpy(needed->id, bytes + name + 1, needed->len);
}

static void open_common(void *arg)
{
	struct image_debug *debug = arg;

	debug->common = image_file_elf(debug->common_fd);
}

/* Takes ownership of `fd`. */
static bool take_common(struct image *img, int fd, const struct needed *needed)
{
	struct image_debug *debug = &img->file->debug;
	unsigned char id[IMAGE_BUILD_ID_MAX];
	Elf *plain;
	int plain_fd;

	debug->common_fd = fd;
	if (fd >= 0)
		image_guard(open_common, debug);
	if (!debug->common || build_id_of(&debug->common, fd, id) != needed->len ||
	    memcmp(id, needed->id, needed->len) != 0 || !debug->common) {
		close_elf(&debug->common, &debug->common_fd);
		return false;
	}
	plain = image_plain(debug->common, debug->common_fd, &plain_fd);
	if (plain) {
		close_elf(&debug->common, &debug->common_fd);
		debug->common = plain;
		debug->common_fd = plain_fd;
	}
	return true;
}

/* A relative name is relative to the directory of the file that contains it. */
static bool path_of_needed(const struct image *img, bool debug, const char *name, char *path,
			   size_t size)
{
	const char *source = debug ? img->file->debug.source : NULL;
	const char *slash = source ? strrchr(source, '/') : NULL;
	char folder[PATH_MAX];

	if (*name == '/')
		return snprintf(path, size, "%s", name) < (int)size;
	if (slash)
		return snprintf(path, size, "%.*s/%s", (int)(slash - source), source, name) <
		       (int)size;
	return folder_of(img, folder, sizeof(folder)) &&
	       snprintf(path, size, "%s/%s", folder, name) < (int)size;
}

struct Elf *image_common(struct image *img, bool debug, struct err *server, char *path, size_t size)
{
	struct image_debug *d = &img->file->debug;
	char by_name[PATH_MAX], by_id[ID_PATH_SIZE];
	const char *const paths[] = { by_name, by_id };
	struct needed needed;
	int fd;

	close_elf(&d->common, &d->common_fd);
	read_needed(debug ? &d->elf : &img->file->elf, debug ? d->fd : img->file->fd, &needed);
	snprintf(path, size, "%s", needed.path);
	if (needed.len < 2)
		return NULL;
	path_of_id(needed.id, needed.len, by_id);
	if (!path_of_needed(img, debug, needed.path, by_name, sizeof(by_name)))
		*by_name = '\0';
	for (size_t i = 0; i < 4; i++) {
		fd = open_at(img, i % 2, paths[i / 2], IMAGE_FILE_MAX);
		if (take_common(img, fd, &needed))
			return d->common;
	}
	fd = server ? door_debuginfod(needed.id, needed.len, server) : -1;
	if (fd >= 0)
		take_common(img, fd, &needed);
	return d->common;
}
