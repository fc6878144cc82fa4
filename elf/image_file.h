// SPDX-License-Identifier: Apache-2.0
/* The file behind an image, opened when first needed. */
#ifndef ELF_IMAGE_FILE_H
#define ELF_IMAGE_FILE_H

#include "elf/image.h"

#include <libelf.h>
#include <stdbool.h>
#include <sys/stat.h>

/*
 * The files of a target are read through a mapping, so
 * that a giant one costs no memory. Their owner may cut one short meanwhile;
 * then reading it raises SIGBUS, which must not end us.
 */

/*
 * Call `fn`; false when the file was cut short on the way. What fn had begun
 * is left as it was then, so that a libelf handle in use may not be used
 * again, not even closed. Not for more than one thread; nests.
 */
bool image_guard(void (*fn)(void *ctx), void *ctx);

/* The file of an image that cannot be opened, from what is in memory. */

/*
 * A file with the loaded segments of `img` where its file has them, as they are
 * in the target's memory now: data as the program changed it, zeros where
 * nothing can be read. Of section headers it has those that can be told from
 * PT_DYNAMIC: .dynsym, .dynstr, .gnu.version, relocations; no .symtab, no debug
 * data, no name of a section.
 *
 * A descriptor that image_file_free() closes, or -1: not a 64-bit image, its first
 * page is not mapped, all that are open together would be larger than
 * IMAGE_REBUILT_MAX, or there is no memory.
 */
#define IMAGE_REBUILT_MAX (UINT64_C(1) << 30)
int image_rebuild(const struct image *img);

/* The symbol table in use that lies outside of the image (elf/image_debug.h). */
struct image_debug {
	unsigned int tried; /* so many of the places were looked at */
	int fd;		    /* each -1 unless open */
	Elf *elf;	    /* NULL when there is none */
	char *source;
	int common_fd; /* see image_common() */
	Elf *common;   /* NULL unless open */
	int plain_fd;  /* see image_with_debug() */
	Elf *plain;    /* NULL unless open */
};

struct image_file {
	pid_t pid;	     /* 0: of no process */
	char *root;	     /* the folder that is the root of its paths; NULL: the process's own */
	uint64_t start, end; /* one mapping of the file, as /proc/PID/map_files names it */
	uint64_t inode;
	uint32_t dev_major, dev_minor;
	bool tried;		 /* opened or failed: not tried again */
	bool is_rebuilt;	 /* fd is what image_rebuild() made */
	int fd;			 /* -1 unless open */
	void *memory;		 /* the vdso's bytes: it has no file */
	Elf *elf;		 /* NULL unless open */
	struct image_data *data; /* NULL, or what is read in place of the process's memory */
	struct image_debug debug;
};

#define IMAGE_FILE_MAX (UINT64_C(4) << 30) /* bytes of a file that is read as ELF */

struct image_file *image_file_new(pid_t pid, const struct map *map);
/* After image_debug_fini(), and image_data_free() of its data. */
void image_file_free(struct image_file *file);

/*
 * The very file of a mapping, whatever its name leads to now; `st` is what
 * fstat(2) says of it. -1 where that cannot be opened, or is no regular file.
 */
int image_file_open_mapped(pid_t pid, const struct map *map, struct stat *st);

/* A path in the root of the image's process, see procfs_open_in_root(). */
int image_file_open_in_root(const struct image_file *file, const char *path, uint64_t max);

/* The GNU build id of an ELF file by its program headers; its length, 0 if there is none. */
size_t image_file_build_id(int fd, unsigned char *id, size_t size);

/* The file as libelf sees it, or NULL; owned by the image. */
Elf *image_elf(struct image *img);

/*
 * A descriptor of an ELF file as libelf sees it, mapped; NULL unless it is a
 * 64-bit one with a sane number of sections. To be called under image_guard()
 * when its owner may cut it short.
 */
Elf *image_file_elf(int fd);

/*
 * Call `fn` with the bytes in the file of each loaded segment, its PF_ flags
 * and its address in the target; stops early when fn returns non-zero, and
 * returns that. Those with code come last: what is searched for seldom lies there.
 */
typedef int image_segment_fn(void *ctx, unsigned int pflags, const char *bytes, size_t len,
			     uint64_t addr);
int image_each_segment(struct image *img, image_segment_fn *fn, void *ctx);

/* Have `peek` read the image's code from its file, see peek_code(). */
struct peek;
void image_peek_code(struct image *img, struct peek *peek);

/*
 * What the dynamic linker is asked to fill in: the name of the symbol whose address belongs at
 * `slot`; false if there is none, or no name.
 */
bool image_reloc_name(struct image *img, uint64_t slot, char *buf, size_t size);

#endif
