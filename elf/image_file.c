// SPDX-License-Identifier: Apache-2.0
#include "elf/image_file.h"

#include "base/cleanup.h"
#include "base/write.h"
#include "elf/image_head.h"
#include "process/proc.h"
#include "process/procfs.h"
#include "sandbox/door.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <setjmp.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

/* --- files that are truncated --- */

static sigjmp_buf out;
static volatile sig_atomic_t guarded;

static void cut_short(int sig)
{
	if (guarded)
		siglongjmp(out, 1);
	/* Not ours: restore the default action. */
	signal(sig, SIG_DFL);
	raise(sig);
}

bool image_guard(void (*fn)(void *ctx), void *ctx)
{
	struct sigaction guard = { .sa_handler = cut_short, .sa_flags = SA_NODEFER }, before;
	volatile bool whole = false;

	if (guarded) {
		fn(ctx);
		return true;
	}
	sigaction(SIGBUS, &guard, &before);
	if (sigsetjmp(out, 1) == 0) {
		guarded = 1;
		fn(ctx);
		whole = true;
	}
	guarded = 0;
	sigaction(SIGBUS, &before, NULL);
	return whole;
}

/* --- files that cannot be opened --- */

/*
 * The file of a deleted image is reached through /proc/PID/map_files, which needs a capability
 * (proc_pid_map_files(5)), or, for the program itself, through /proc/PID/exe. A user who may use
 * neither may still read the memory of their own processes.
 */

#define CHUNK (64u << 10)
#define SYMBOLS_MAX (4u << 20)
#define ENTRIES_MAX 4096 /* of PT_DYNAMIC; real ones have dozens */

enum { NONE, DYNSYM, DYNSTR, VERSYM, RELA_DYN, RELA_PLT, SECTIONS };

static uint64_t held; /* total bytes of open rebuilt files */

struct rebuild {
	const struct image *img;
	struct image_head head;
	char *bytes;   /* contents of the rebuilt file */
	uint64_t size; /* excluding the section headers, which follow */
	Elf64_Shdr sections[SECTIONS];
};

/* Values in PT_DYNAMIC, by d_tag (elf(5)). */
struct dynamic {
	uint64_t symtab, strtab, strsz, versym, gnu_hash, hash, rela, relasz, jmprel, pltrelsz;
};

/* The size of the file; false when the segments exceed the limit. */
static bool whole_size(const struct image_head *head, uint64_t *size)
{
	uint64_t end = 0, sum = 0;

	for (size_t i = 0; i < head->n_loads; i++) {
		const struct segment *s = &head->loads[i];

		if (s->offset + s->filesz > end)
			end = s->offset + s->filesz;
		sum += s->filesz;
		if (end > IMAGE_REBUILT_MAX || sum > IMAGE_REBUILT_MAX)
			return false;
	}
	*size = (end + 7) & ~UINT64_C(7);
	return true;
}

/* Unreadable memory stays zero, and zeros take no memory. */
static void copy_segment(const struct rebuild *b, const struct segment *s)
{
	static char chunk[CHUNK];
	uint64_t start = b->img->bias + s->vaddr;
	struct err ignored;

	if (start < b->img->start || start >= b->img->end)
		return;
	for (uint64_t done = 0; done < s->filesz && start + done < b->img->end; done += CHUNK) {
		uint64_t len = s->filesz - done;

		if (len > b->img->end - start - done)
			len = b->img->end - start - done;
		if (len > CHUNK)
			len = CHUNK;
		memset(chunk, 0, len);
		(void)!proc_read(b->img->file->pid, start + done, chunk, len, &ignored);
		if (chunk[0] || memcmp(chunk, chunk + 1, len - 1) != 0)
			memcpy(b->bytes + s->offset + done, chunk, len);
	}
}

/* The `len` bytes in the file for `vaddr`, or NULL. */
static const void *at(const struct rebuild *b, uint64_t vaddr, uint64_t len)
{
	for (size_t i = 0; i < b->head.n_loads; i++) {
		const struct segment *s = &b->head.loads[i];

		if (vaddr >= s->vaddr && vaddr - s->vaddr < s->filesz &&
		    len <= s->filesz - (vaddr - s->vaddr))
			return b->bytes + s->offset + (vaddr - s->vaddr);
	}
	return NULL;
}

static const struct {
	int64_t tag;
	size_t field;
	bool is_addr;
} entries[] = {
#define ENTRY(tag, field, is_addr)                            \
	{                                                     \
		tag, offsetof(struct dynamic, field), is_addr \
	}
	ENTRY(DT_SYMTAB, symtab, true),	    ENTRY(DT_STRTAB, strtab, true),
	ENTRY(DT_STRSZ, strsz, false),	    ENTRY(DT_VERSYM, versym, true),
	ENTRY(DT_GNU_HASH, gnu_hash, true), ENTRY(DT_HASH, hash, true),
	ENTRY(DT_RELA, rela, true),	    ENTRY(DT_RELASZ, relasz, false),
	ENTRY(DT_JMPREL, jmprel, true),	    ENTRY(DT_PLTRELSZ, pltrelsz, false),
#undef ENTRY
};

static struct dynamic read_dynamic(const struct rebuild *b)
{
	const struct segment *s = &b->head.dynamic;
	struct dynamic d = { 0 };
	Elf64_Dyn entry;

	for (uint64_t i = 0; i + sizeof(entry) <= s->filesz && i / sizeof(entry) < ENTRIES_MAX;
	     i += sizeof(entry)) {
		const void *p = at(b, s->vaddr + i, sizeof(entry));

		if (!p)
			break;
		memcpy(&entry, p, sizeof(entry));
		if (entry.d_tag == DT_NULL)
			break;
		for (size_t k = 0; k < sizeof(entries) / sizeof(*entries); k++) {
			uint64_t value = entry.d_un.d_val;

			if (entries[k].tag != entry.d_tag)
				continue;
			/* glibc's loader relocates the addresses, musl's does not. */
			if (entries[k].is_addr && value >= b->img->start && value < b->img->end)
				value -= b->img->bias;
			memcpy((char *)&d + entries[k].field, &value, sizeof(value));
		}
	}
	return d;
}

static bool word_at(const struct rebuild *b, uint64_t vaddr, uint32_t *word)
{
	const void *p = at(b, vaddr, sizeof(*word));

	if (p)
		memcpy(word, p, sizeof(*word));
	return p;
}

/*
 * DT_GNU_HASH consists of the number of buckets, the index of the first hashed symbol, the size of
 * the filter, the filter, the buckets, and a word per symbol that is odd at the end of a chain: the
 * last symbol ends the chain of the highest bucket.
 */
static uint64_t count_by_gnu_hash(const struct rebuild *b, uint64_t hash)
{
	uint32_t n_buckets, first, filter, last = 0, word = 0;
	uint64_t buckets, chains;

	if (!word_at(b, hash, &n_buckets) || !word_at(b, hash + 4, &first) ||
	    !word_at(b, hash + 8, &filter) || n_buckets > SYMBOLS_MAX)
		return 0;
	buckets = hash + 16 + (uint64_t)filter * 8;
	chains = buckets + (uint64_t)n_buckets * 4;
	for (uint32_t i = 0; i < n_buckets; i++) {
		if (!word_at(b, buckets + (uint64_t)i * 4, &word))
			return 0;
		last = word > last ? word : last;
	}
	if (last < first)
		return first;
	for (; last < SYMBOLS_MAX; last++) {
		if (!word_at(b, chains + (uint64_t)(last - first) * 4, &word))
			return 0;
		if (word & 1)
			return last + UINT64_C(1);
	}
	return 0;
}

static bool add_section(struct rebuild *b, size_t i, Elf64_Shdr sh)
{
	const char *p = sh.sh_addr && sh.sh_size ? at(b, sh.sh_addr, sh.sh_size) : NULL;

	if (!p)
		return false;
	sh.sh_flags = SHF_ALLOC;
	sh.sh_offset = (uint64_t)(p - b->bytes);
	sh.sh_addralign = 1;
	b->sections[i] = sh;
	return true;
}

static void add_sections(struct rebuild *b)
{
	struct dynamic d = read_dynamic(b);
	uint32_t hashed;
	uint64_t n = 0;

	/* DT_HASH: the second word is the number of symbols. */
	if (d.hash && word_at(b, d.hash + 4, &hashed))
		n = hashed;
	else if (d.gnu_hash)
		n = count_by_gnu_hash(b, d.gnu_hash);
	if (n > SYMBOLS_MAX ||
	    !add_section(b, DYNSTR,
			 (Elf64_Shdr){ .sh_type = SHT_STRTAB,
				       .sh_addr = d.strtab,
				       .sh_size = d.strsz }) ||
	    !add_section(b, DYNSYM,
			 (Elf64_Shdr){ .sh_type = SHT_DYNSYM,
				       .sh_addr = d.symtab,
				       .sh_size = n * sizeof(Elf64_Sym),
				       .sh_entsize = sizeof(Elf64_Sym),
				       .sh_link = DYNSTR }))
		return;
	add_section(b, VERSYM,
		    (Elf64_Shdr){ .sh_type = SHT_GNU_versym,
				  .sh_addr = d.versym,
				  .sh_size = n * sizeof(Elf64_Versym),
				  .sh_entsize = sizeof(Elf64_Versym),
				  .sh_link = DYNSYM });
	add_section(b, RELA_DYN,
		    (Elf64_Shdr){ .sh_type = SHT_RELA,
				  .sh_addr = d.rela,
				  .sh_size = d.relasz,
				  .sh_entsize = sizeof(Elf64_Rela),
				  .sh_link = DYNSYM });
	add_section(b, RELA_PLT,
		    (Elf64_Shdr){ .sh_type = SHT_RELA,
				  .sh_addr = d.jmprel,
				  .sh_size = d.pltrelsz,
				  .sh_entsize = sizeof(Elf64_Rela),
				  .sh_link = DYNSYM });
}

/* Update the header: the section headers are at the end now. */
static bool set_header(struct rebuild *b)
{
	Elf64_Ehdr eh;

	memcpy(&eh, b->bytes, sizeof(eh));
	if (memcmp(eh.e_ident, ELFMAG, SELFMAG) != 0 || eh.e_ident[EI_CLASS] != ELFCLASS64)
		return false;
	eh.e_shoff = b->size;
	eh.e_shentsize = sizeof(Elf64_Shdr);
	eh.e_shnum = SECTIONS;
	eh.e_shstrndx = SHN_UNDEF;
	memcpy(b->bytes, &eh, sizeof(eh));
	memcpy(b->bytes + b->size, b->sections, sizeof(b->sections));
	return true;
}

static void image_rebuild_close(int fd)
{
	struct stat st;

	if (!fstat(fd, &st))
		held -= (uint64_t)st.st_size;
	close(fd);
}

int image_rebuild(const struct image *img)
{
	_cleanup_(cleanup_close) int fd = memfd_create("image", MFD_CLOEXEC);
	struct rebuild b = { .img = img };
	bool made = false;
	struct err ignored;
	char bytes[4096];
	uint64_t total;

	if (fd < 0 || img->start >= img->end ||
	    proc_read(img->file->pid, img->start, bytes, sizeof(bytes), &ignored) ||
	    !image_head_parse(&b.head, bytes, sizeof(bytes)) || b.head.elf_class != ELFCLASS64 ||
	    !whole_size(&b.head, &b.size) || b.size < sizeof(bytes))
		return -1;
	total = b.size + sizeof(b.sections);
	if (total > IMAGE_REBUILT_MAX - held || ftruncate(fd, (off_t)total))
		return -1;
	held += total;
	b.bytes = mmap(NULL, total, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (b.bytes != MAP_FAILED) {
		for (size_t i = 0; i < b.head.n_loads; i++)
			copy_segment(&b, &b.head.loads[i]);
		add_sections(&b);
		made = set_header(&b);
		munmap(b.bytes, total);
	}
	if (made)
		return take_fd(fd);
	image_rebuild_close(take_fd(fd));
	return -1;
}

/* --- files --- */

#define MAX_VDSO (64u << 10)
#define MAX_SECTIONS 65536

struct image_file *image_file_new(pid_t pid, const struct map *map)
{
	struct image_file *file = calloc(1, sizeof(*file));

	if (!file)
		return NULL;
	*file = (struct image_file){
		.pid = pid,
		.start = map->start,
		.end = map->end,
		.inode = map->inode,
		.dev_major = map->dev_major,
		.dev_minor = map->dev_minor,
		.fd = -1,
		.debug.fd = -1,
		.debug.common_fd = -1,
		.debug.plain_fd = -1,
	};
	return file;
}

void image_file_free(struct image_file *file)
{
	if (!file)
		return;
	elf_end(file->elf);
	if (file->is_rebuilt)
		image_rebuild_close(file->fd);
	else
		cleanup_close(&file->fd);
	free(file->memory);
	free(file->root);
	free(file);
}

/*
 * Open the file of the mapping itself, whatever its name refers to now. Needs
 * CAP_CHECKPOINT_RESTORE.
 */
static int open_map_file(pid_t pid, uint64_t start, uint64_t end)
{
	char name[MAP_FILE_NAME_SIZE];

	return door_proc_file(pid, map_file_name(start, end, name), IMAGE_FILE_MAX);
}

void images_open_ahead(const struct images *images)
{
	char name[MAP_FILE_NAME_SIZE];

	for (size_t i = 0; i < images->n; i++) {
		const struct image_file *file = images->v[i].file;

		if (!file->inode || file->tried || images->v[i].is_plain)
			continue;
		door_proc_file_ahead(file->pid, map_file_name(file->start, file->end, name),
				     IMAGE_FILE_MAX);
	}
}

Elf_Scn *image_file_section(Elf *elf, Elf_Scn *scn, const char *name, GElf_Shdr *sh)
{
	size_t names;

	if (elf_getshdrstrndx(elf, &names))
		return NULL;
	while ((scn = elf_nextscn(elf, scn))) {
		const char *found =
			gelf_getshdr(scn, sh) ? elf_strptr(elf, names, sh->sh_name) : NULL;

		if (found && !strcmp(found, name))
			break;
	}
	return scn;
}

int image_file_open_mapped(pid_t pid, const struct map *map, struct stat *st)
{
	_cleanup_(cleanup_close) int fd = open_map_file(pid, map->start, map->end);

	if (fd >= 0)
		return fstat(fd, st) ? -1 : take_fd(fd);
	fd = procfs_open_in_root(pid, map->path, IMAGE_FILE_MAX);
	if (fd < 0 || fstat(fd, st) || st->st_ino != map->inode ||
	    major(st->st_dev) != map->dev_major || minor(st->st_dev) != map->dev_minor)
		return -1;
	return take_fd(fd);
}

size_t image_file_build_id(int fd, unsigned char *id, size_t size)
{
	Elf *elf = elf_begin(fd, ELF_C_READ, NULL);
	unsigned char bytes[4096];
	struct image_head head;
	size_t len = 0;

	if (elf && image_head_read(&head, elf)) {
		for (size_t i = 0; i < head.n_notes && !len; i++) {
			ssize_t got =
				read_at(fd, bytes, sizeof(bytes), (off_t)head.notes[i].offset);
			size_t want = (size_t)(got > 0 ? got : 0);

			if (want > head.notes[i].filesz)
				want = head.notes[i].filesz;
			len = image_head_build_id(bytes, want, id, size);
		}
	}
	elf_end(elf);
	return len;
}

/*
 * The name may refer to another file by now. On btrfs and overlayfs, device numbers in maps differ
 * from those of stat(2): then the build ID decides.
 */
static bool is_same_file(const struct image *img, int fd, const struct stat *st)
{
	const struct image_file *file = img->file;
	unsigned char id[IMAGE_BUILD_ID_MAX];

	if (st->st_ino == file->inode && major(st->st_dev) == file->dev_major &&
	    minor(st->st_dev) == file->dev_minor)
		return true;
	return img->build_id_len && image_file_build_id(fd, id, sizeof(id)) == img->build_id_len &&
	       !memcmp(id, img->build_id, img->build_id_len);
}

int image_file_open_in_root(const struct image_file *file, const char *path, uint64_t max)
{
	return file->root ? door_below(file->root, path, max)
			  : procfs_open_in_root(file->pid, path, max);
}

bool image_stat(const struct image *img, struct stat *st)
{
	return img->file && img->file->fd >= 0 && !fstat(img->file->fd, st);
}

static int open_by_name(const struct image *img)
{
	_cleanup_(cleanup_close) int fd =
		image_file_open_in_root(img->file, img->path, IMAGE_FILE_MAX);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) || !is_same_file(img, fd, &st))
		return -1;
	return take_fd(fd);
}

static Elf *usable(Elf *elf)
{
	size_t sections;

	if (elf_kind(elf) == ELF_K_ELF && !elf_getshdrnum(elf, &sections) &&
	    sections <= MAX_SECTIONS)
		return elf;
	elf_end(elf);
	return NULL;
}

Elf *image_file_elf(int fd)
{
	Elf64_Ehdr eh;
	Elf64_Shdr first;

	if (fd < 0 || read_at(fd, &eh, sizeof(eh), 0) != sizeof(eh) ||
	    eh.e_ident[EI_CLASS] != ELFCLASS64)
		return NULL;
	/*
	 * libelf allocates all sections at once, and their number may be bogus: when e_shnum is 0,
	 * section 0 has a 32-bit number (elf(5)).
	 */
	if (!eh.e_shnum && eh.e_shoff &&
	    (read_at(fd, &first, sizeof(first), (off_t)eh.e_shoff) != sizeof(first) ||
	     first.sh_size > MAX_SECTIONS))
		return NULL;
	/* Mapped, so that a huge or sparse file takes no memory. */
	return usable(elf_begin(fd, ELF_C_READ_MMAP, NULL));
}

static Elf *open_file(struct image *img)
{
	struct image_file *file = img->file;

	file->fd = open_map_file(file->pid, file->start, file->end);
	if (file->fd < 0 && img->is_main)
		file->fd = door_proc_file(file->pid, "exe", IMAGE_FILE_MAX);
	if (file->fd < 0)
		file->fd = open_by_name(img);
	if (file->fd < 0) {
		file->fd = image_rebuild(img);
		file->is_rebuilt = file->fd >= 0;
	}
	return image_file_elf(file->fd);
}

static void open_elf(void *arg)
{
	struct image *img = arg;
	struct image_file *file = img->file;
	size_t len = file->end - file->start;
	struct err ignored;

	if (file->inode) {
		file->elf = open_file(img);
		return;
	}
	if (len > MAX_VDSO)
		return;
	file->memory = malloc(len);
	if (file->memory && !proc_read(file->pid, file->start, file->memory, len, &ignored))
		file->elf = usable(elf_memory(file->memory, len));
}

Elf *image_elf(struct image *img)
{
	struct image_file *file = img->file;

	if (!file)
		return NULL;
	if (!file->tried) {
		file->tried = true;
		elf_version(EV_CURRENT);
		image_guard(open_elf, img);
	}
	return file->elf;
}
