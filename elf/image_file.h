// SPDX-License-Identifier: Apache-2.0
/* The file behind an image, opened when first needed. */
#ifndef ELF_IMAGE_FILE_H
#define ELF_IMAGE_FILE_H

#include "elf/image.h"

#include <gelf.h>
#include <libelf.h>
#include <stdbool.h>
#include <sys/stat.h>

/*
 * The files of a target are read through mappings, so that a huge one takes no memory. If their
 * owner truncates one meanwhile, reading it raises SIGBUS, which must not kill us.
 */

/*
 * Call `fn`; false when the file was truncated meanwhile. Then fn was aborted midway, so that a
 * libelf handle it used must not be used again, or even closed. For single-threaded use; nests.
 */
bool image_guard(void (*fn)(void *ctx), void *ctx);

/* Rebuilds the file of an image from memory if it cannot be opened. */

/*
 * A file with the loaded segments of `img` at their file offsets, with the present contents of the
 * target's memory: data as modified by the program, zeros for what cannot be read. It has the
 * section headers that follow from PT_DYNAMIC: .dynsym, .dynstr, .gnu.version, relocations; no
 * .symtab, no debug data, no section names.
 *
 * Returns a descriptor that image_file_free() closes, or -1: not a 64-bit image, its first page is
 * not mapped, the total of open rebuilt files would exceed IMAGE_REBUILT_MAX, or out of memory.
 */
#define IMAGE_REBUILT_MAX (UINT64_C(1) << 30)
int image_rebuild(const struct image *img);

/* The separate symbol table in use (elf/image_debug.h). */
struct image_debug {
	unsigned int tried; /* number of sources tried */
	int fd;		    /* this and the others: -1 unless open */
	Elf *elf;	    /* NULL when there is none */
	char *source;
	int common_fd; /* see image_common() */
	Elf *common;   /* NULL unless open */
	int plain_fd;  /* see image_with_debug() */
	Elf *plain;    /* NULL unless open */
};

struct image_file {
	pid_t pid;	     /* 0: not of a process */
	char *root;	     /* root directory for its paths; NULL: that of the process */
	uint64_t start, end; /* a mapping of the file, which names it in /proc/PID/map_files */
	uint64_t inode;
	uint32_t dev_major, dev_minor;
	bool tried;		 /* opening was tried: not repeated */
	bool is_rebuilt;	 /* fd is from image_rebuild() */
	int fd;			 /* -1 unless open */
	void *memory;		 /* the bytes of the vDSO, which has no file */
	Elf *elf;		 /* NULL unless open */
	struct image_data *data; /* read in place of the process's memory; may be NULL */
	struct image_debug debug;
};

#define IMAGE_FILE_MAX (UINT64_C(4) << 30) /* maximum size of an ELF file, in bytes */

struct image_file *image_file_new(pid_t pid, const struct map *map);
/* Call it after image_debug_fini(), and image_data_free() of its data. */
void image_file_free(struct image_file *file);

/*
 * Open the mapped file itself, whatever its name refers to now; `st` receives its fstat(2). -1 if
 * it cannot be opened, or is not a regular file.
 */
int image_file_open_mapped(pid_t pid, const struct map *map, struct stat *st);

/* Open a path in the root of the image's process, see procfs_open_in_root(). */
int image_file_open_in_root(const struct image_file *file, const char *path, uint64_t max);

/* Read the GNU build ID of an ELF file via its program headers; returns its length, or 0. */
size_t image_file_build_id(int fd, unsigned char *id, size_t size);

/* The libelf handle of the file, or NULL; owned by the image. */
Elf *image_elf(struct image *img);

/*
 * A mapped libelf handle for a descriptor; NULL unless it is a 64-bit ELF file with a sane number
 * of sections. Call it under image_guard() when its owner may truncate it.
 */
Elf *image_file_elf(int fd);

/*
 * The next section with that name after `scn`, or after the start if that is NULL; NULL if there is
 * none. Call it under image_guard().
 */
Elf_Scn *image_file_section(Elf *elf, Elf_Scn *scn, const char *name, GElf_Shdr *sh);

/*
 * Call `fn` with the bytes in the file of each loaded segment, its PF_ flags and its address in the
 * target; stops early when fn returns non-zero, and returns that. Segments with code come last, as
 * they seldom contain what is searched for.
 */
typedef int image_segment_fn(void *ctx, unsigned int pflags, const char *bytes, size_t len,
			     uint64_t addr);
int image_each_segment(struct image *img, image_segment_fn *fn, void *ctx);

/* Have `peek` read the image's code from its file, see peek_code(). */
struct peek;
void image_peek_code(struct image *img, struct peek *peek);

/*
 * The name of the symbol whose address the dynamic linker stores at `slot`; false if there is no
 * such relocation, or no name.
 */
bool image_reloc_name(struct image *img, uint64_t slot, char *buf, size_t size);

#endif
