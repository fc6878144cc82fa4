// SPDX-License-Identifier: Apache-2.0
/*
 * The ELF images mapped into a process: the main program and its shared objects, even if their
 * files have changed or are gone.
 *
 * Files are opened through /proc/PID/map_files (including deleted, replaced and containerized
 * images), else through /proc/PID/root, else rebuilt from memory. They are read with libelf, up to
 * IMAGE_FILE_MAX bytes and MAX_SYMBOLS symbols.
 */
#ifndef ELF_IMAGE_H
#define ELF_IMAGE_H

#include "base/err.h"
#include "process/maps.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct range {
	uint64_t start, end; /* [start, end), addresses in the target */
};

#define IMAGE_BUILD_ID_MAX 32

struct image {
	char *path;		 /* as in maps, including "[vdso]" */
	uint64_t start, end;	 /* lowest and highest mapped address */
	uint64_t bias;		 /* offset from the file's addresses to those in memory */
	bool is_main;		 /* the program itself (/proc/PID/exe) */
	bool is_deleted;	 /* its file was unlinked or replaced */
	bool is_loaded;		 /* its segments are laid out as by a loader; otherwise it is a file
				  * mapped for reading, and its code cannot be called */
	bool is_plain;		 /* known to contain no jemalloc; set by the caller or
				  * jemalloc_find() */
	unsigned char elf_class; /* ELFCLASS64 or ELFCLASS32 */
	unsigned int machine;	 /* EM_..., see <elf.h> */
	unsigned int type;	 /* ET_DYN, ET_EXEC */
	bool has_interp;	 /* PT_INTERP: linked dynamically */
	struct range *exec;	 /* its executable mappings, ascending */
	size_t n_exec;
	uint64_t eh_frame_hdr; /* address of PT_GNU_EH_FRAME, 0 if none */
	uint64_t eh_frame_hdr_size;
	unsigned char build_id[IMAGE_BUILD_ID_MAX];
	size_t build_id_len;
	struct image_file *file; /* private: symbol tables, opened at first use; NULL in images from
				  * a message (jemalloc/answer.h) */
	char *symbols_from;	 /* in images from a message: image_debug_source() */
};

struct images {
	struct image *v; /* by ascending address */
	size_t n, room;
	bool ask_debuginfod; /* for symbols found nowhere else; set by the caller */
};

/*
 * Every ELF image of a process. An image whose file cannot be read or is not an ELF file is
 * omitted; if that is the main program, it is an error (ERR_PERM, ERR_LOST or ERR_FAILED).
 */
int images_read(struct images *out, pid_t pid, const struct maps *maps, struct err *err)
	__must_check;
void images_fini(struct images *images);

/* Close the file of one image and free what was read from it; images_fini() includes that. */
void image_close(struct image *img);

/*
 * Have the files of images not known to be plain opened in the background; see
 * door_proc_file_ahead().
 */
void images_open_ahead(const struct images *images);

/* How an image was mapped in a process that may have exited. */
struct image_past {
	const char *path;
	bool unbiased;		       /* mapped at the addresses in its file; otherwise */
	uint64_t start, offset;	       /* file offset `offset` was mapped at `start` */
	const unsigned char *build_id; /* build_id_len bytes; 0: not known */
	size_t build_id_len;
	const char *root; /* the directory that its path is relative to */
};

enum image_past_found {
	IMAGE_PAST_FOUND,
	IMAGE_PAST_ABSENT, /* no such file, or it cannot be read */
	IMAGE_PAST_OTHER,  /* the file has another build ID, or no code at that place */
};

/*
 * Open that single image in `out`, which the caller releases. When its file is not found, `out` has
 * an empty image, but image_past_debug() may find its debug file by the build ID. ERR_FAILED if out
 * of memory.
 */
int images_open_past(struct images *out, const struct image_past *past,
		     enum image_past_found *found, struct err *err) __must_check;

/* image_debug_next() for such an image; `start` is that of its first mapping with code. */
bool image_past_debug(struct image *img, uint64_t start, struct err *server);

/* The image that contains `addr`, or NULL. */
const struct image *images_find(const struct images *images, uint64_t addr);
bool image_contains(const struct image *img, uint64_t addr);
/* Is the address in one of its executable mappings? */
bool image_has_code(const struct image *img, uint64_t addr);

/*
 * The first image whose file name starts with `prefix` ("libc.so", "ld-linux",
 * "libgcc_s"), or NULL.
 */
struct image *images_by_name(const struct images *images, const char *prefix);

struct symbol {
	uint64_t addr;	    /* in the target */
	uint64_t size;	    /* st_size, 0 if unknown */
	unsigned char type; /* STT_FUNC, STT_OBJECT, STT_GNU_IFUNC, STT_TLS (addr: offset) */
	bool dynamic;	    /* from .dynsym */
	bool weak;
	/*
	 * For a local symbol of .symtab: its source file according to the table, or "". NULL for
	 * others. Valid only during the callback.
	 */
	const char *file;
};

/*
 * The defined symbol `name` from .dynsym, then .symtab, then the table of image_debug_next()
 * (default version first). False if there is none.
 */
bool image_symbol(struct image *img, const char *name, struct symbol *sym);

/*
 * Call `fn` for each defined symbol, .dynsym first, with its plain name (no
 * "@VERSION"); stops early when fn returns non-zero, and returns that.
 */
typedef int image_symbol_fn(void *ctx, const char *name, const struct symbol *sym);
int image_each_symbol(struct image *img, image_symbol_fn *fn, void *ctx);

/*
 * False when no symbol's name contains `part`: searches only the string tables, which is much
 * faster than image_each_symbol().
 */
bool image_may_name(struct image *img, const char *part);

/*
 * Call `fn` with the libelf handle of the image's file, or with `debug` of the one that
 * image_debug_next() found last. False when there is none, or it was truncated meanwhile; then `fn`
 * was aborted midway.
 */
struct Elf;
typedef void image_elf_fn(void *ctx, struct Elf *elf);
bool image_with_elf(struct image *img, bool debug, image_elf_fn *fn, void *ctx);

/*
 * The same for reading debug data. If that is compressed, `fn` gets a temporary file with
 * decompressed sections for the duration of the call (elf/image_debug.h).
 */
bool image_with_debug(struct image *img, bool debug, image_elf_fn *fn, void *ctx);

/*
 * The addresses, without bias, of the file offsets `offsets`: 0 if not in exactly one code segment.
 * False when the file cannot be read.
 */
bool image_code_addresses(struct image *img, const uint64_t *offsets, size_t n, uint64_t *addrs);

/* fstat(2) of the image's file. False when none is open. */
struct stat;
bool image_stat(const struct image *img, struct stat *st);

/* Does the image lack a .symtab? */
bool image_is_stripped(struct image *img);

/* False when the image imports functions, but not this one, so that it cannot call it. */
bool image_may_call(struct image *img, const char *name);

/*
 * The source of symbols beyond those in the image's file: ".gnu_debugdata", the path of a debug
 * file, "debuginfod", memory (see elf/image_file.h); NULL if none were needed or found. Unescaped
 * text from the target.
 */
const char *image_debug_source(const struct image *img);

/*
 * The address range of section `name` in the target; false if there is none, or it is not loaded.
 */
bool image_section(struct image *img, const char *name, struct range *where);

/*
 * The address of the first occurrence of `len` bytes in the file's segments that have all flags in
 * `pflags` (PF_X for code; PF_R for data, which may be within code segments, depending on the
 * linker), 0 if there is none.
 */
uint64_t image_search(struct image *img, unsigned int pflags, const void *bytes, size_t len);

/*
 * The same only in code, with a matcher: `find` returns the start of a match in the given bytes, or
 * NULL. `longest` is the maximum length of a match.
 */
typedef const char *image_find_fn(const char *bytes, size_t len);
uint64_t image_search_code(struct image *img, image_find_fn *find, size_t longest);

#endif
