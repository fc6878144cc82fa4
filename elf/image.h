// SPDX-License-Identifier: Apache-2.0
/*
 * The ELF images mapped into a process: the main program and its shared
 * objects, whatever became of their files since.
 *
 * Files are opened through /proc/PID/map_files (deleted, replaced and
 * containerised images included), else through /proc/PID/root, else put
 * together from what is in memory. libelf reads them; its limits are image.c's:
 * MAX_FILE bytes, MAX_SYMBOLS symbols.
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
	uint64_t start, end; /* [start, end), the target's addresses */
};

#define IMAGE_BUILD_ID_MAX 32

struct image {
	char *path;		 /* as maps names it, "[vdso]" included */
	uint64_t start, end;	 /* lowest and highest address mapped */
	uint64_t bias;		 /* what to add to the file's addresses */
	bool is_main;		 /* the program itself (/proc/PID/exe) */
	bool is_deleted;	 /* its file was unlinked or replaced */
	bool is_loaded;		 /* its segments are where a loader puts them: else it is a file
				  * that is read, and nothing in it can be called */
	bool is_plain;		 /* it is known to hold no jemalloc: by the caller, or since
				  * jemalloc_find() searched it */
	unsigned char elf_class; /* ELFCLASS64 or ELFCLASS32 */
	unsigned int machine;	 /* EM_..., see <elf.h> */
	unsigned int type;	 /* ET_DYN, ET_EXEC */
	bool has_interp;	 /* PT_INTERP: linked dynamically */
	struct range *exec;	 /* executable mappings of it, ascending */
	size_t n_exec;
	uint64_t eh_frame_hdr; /* address of PT_GNU_EH_FRAME, 0 if none */
	uint64_t eh_frame_hdr_size;
	unsigned char build_id[IMAGE_BUILD_ID_MAX];
	size_t build_id_len;
	struct image_file *file; /* private: symbol tables, opened at first use; NULL in images of
				  * another process's answer (jemalloc/answer.h), which have none */
	char *symbols_from;	 /* of such an image: image_debug_source() */
};

struct images {
	struct image *v; /* in the order of their addresses */
	size_t n, room;
	bool ask_debuginfod; /* for symbols found nowhere else; the caller's to set */
};

/*
 * Every ELF image of a process. An image whose file cannot be read or is no
 * ELF file is left out; the main program failing is an error (ERR_PERM,
 * ERR_LOST or ERR_FAILED).
 */
int images_read(struct images *out, pid_t pid, const struct maps *maps, struct err *err)
	__must_check;
void images_fini(struct images *images);

/* Close the file of one, and what was read from it; images_fini() does so. */
void image_close(struct image *img);

/*
 * Have the files of those that are not known to be plain opened while the caller does something
 * else; see door_proc_file_ahead().
 */
void images_open_ahead(const struct images *images);

/* How an image was mapped, in a process that need not live any more. */
struct image_past {
	const char *path;
	bool unbiased;		       /* it counts as mapped where its file says; else */
	uint64_t start, offset;	       /* its part at `offset` began at the address `start` */
	const unsigned char *build_id; /* of build_id_len bytes; 0: not known */
	size_t build_id_len;
	const char *root; /* the folder where its path counts from */
};

enum image_past_found {
	IMAGE_PAST_FOUND,
	IMAGE_PAST_ABSENT, /* no such file, or it cannot be read */
	IMAGE_PAST_OTHER,  /* the file has another build id, or no code where that was mapped */
};

/*
 * That image, on its own in `out`, which the caller ends. When its file is not
 * found, `out` holds an image with nothing in it yet, but image_past_debug()
 * may find its debug file by the build id. ERR_FAILED without memory.
 */
int images_open_past(struct images *out, const struct image_past *past,
		     enum image_past_found *found, struct err *err) __must_check;

/* image_debug_next() for such an image; `start` is that of its first mapping with code. */
bool image_past_debug(struct image *img, uint64_t start, struct err *server);

/* The image that holds `addr`, or NULL. */
const struct image *images_find(const struct images *images, uint64_t addr);

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
	 * Of a local one of .symtab: the file that the table says it is of, "" where it says none.
	 * NULL for others. For as long as the function lasts that it is handed to.
	 */
	const char *file;
};

/*
 * The defined symbol `name` from .dynsym, then .symtab, then what
 * image_debug_next() found (default version first). False if there is none.
 */
bool image_symbol(struct image *img, const char *name, struct symbol *sym);

/*
 * Call `fn` for each defined symbol, .dynsym first, with its plain name (no
 * "@VERSION"); stops early when fn returns non-zero, and returns that.
 */
typedef int image_symbol_fn(void *ctx, const char *name, const struct symbol *sym);
int image_each_symbol(struct image *img, image_symbol_fn *fn, void *ctx);

/*
 * False when no symbol's name has `part` in it: looked up in the tables of
 * names alone, which is quicker than image_each_symbol() by far.
 */
bool image_may_name(struct image *img, const char *part);

/*
 * Call `fn` with the image's file, or with `debug` the one image_debug_next()
 * found last, as libelf sees it. False when there is none, or it was cut
 * short meanwhile; then `fn` was left in the midst of its work.
 */
struct Elf;
typedef void image_elf_fn(void *ctx, struct Elf *elf);
bool image_with_elf(struct image *img, bool debug, image_elf_fn *fn, void *ctx);

/*
 * The same for those who read its debug data. Where that is packed, `fn` gets
 * a file of its sections as they were before, for the time of the call
 * (elf/image_debug.h).
 */
bool image_with_debug(struct image *img, bool debug, image_elf_fn *fn, void *ctx);

/*
 * The addresses of what the image's file has at `offsets`, without its bias: 0 for what is not in
 * just one segment of code. False when the file cannot be read.
 */
bool image_code_addresses(struct image *img, const uint64_t *offsets, size_t n, uint64_t *addrs);

/* What fstat(2) says of the image's file. False when none is open. */
struct stat;
bool image_stat(const struct image *img, struct stat *st);

/* Has the image no .symtab (any more)? */
bool image_is_stripped(struct image *img);

/* False when the image imports functions, but not this one: then nothing in it calls it. */
bool image_may_call(struct image *img, const char *name);

/*
 * Where the symbols come from that are not in the tables of the image's file:
 * ".gnu_debugdata", the path of a debug file, "debuginfod", memory (see
 * elf/image_file.h); NULL when none were needed or there are none. Raw
 * text of the target's.
 */
const char *image_debug_source(const struct image *img);

/* Where the section `name` lies in the target; false if there is none, or it is not loaded. */
bool image_section(struct image *img, const char *name, struct range *where);

/*
 * The address of the first occurrence of `len` bytes in the file's segments
 * with all of the flags `pflags` (PF_X for code, PF_R alone for data, which may
 * lie between the code where the linker left it there), 0 if there is none.
 */
uint64_t image_search(struct image *img, unsigned int pflags, const void *bytes, size_t len);

/*
 * The same in code alone, for what `find` finds: it returns where that begins among the bytes it
 * is given, or NULL. `longest` is how many bytes what it finds may have.
 */
typedef const char *image_find_fn(const char *bytes, size_t len);
uint64_t image_search_code(struct image *img, image_find_fn *find, size_t longest);

#endif
