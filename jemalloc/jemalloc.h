// SPDX-License-Identifier: Apache-2.0
/* Finds jemalloc in a process's images. Reads only files and maps. */
#ifndef JEMALLOC_JEMALLOC_H
#define JEMALLOC_JEMALLOC_H

#include "base/err.h"
#include "elf/image.h"
#include "jemalloc/options.h"
#include "process/proc.h"

#include <string.h>

enum jemalloc_linkage { LINKAGE_SHARED, LINKAGE_STATIC, LINKAGE_PRELOAD, LINKAGE_NONE };
struct jemalloc {
	struct image *image; /* owned by the struct images it was found in */
	enum jemalloc_linkage linkage;
	bool by_scan;  /* found without symbols, from data and code: its addresses must be confirmed
		        * by a first call that changes nothing */
	bool is_alone; /* the only one in its image */
	bool opts_sought;	     /* jemalloc_find_opts() was called */
	char prefix[64];	     /* "", "je_", "_rjem_" */
	char conf_name[80];	     /* see jemalloc_conf_name(); "" if not looked up yet */
	uint64_t mallctl;	     /* address in the target, never 0 */
	uint64_t malloc_stats_print; /* 0 if unknown */
	uint64_t malloc_message;     /* address of the variable, 0 if unknown */
	/*
	 * Addresses of the variables of opt.* and prof.active; 0 if unknown, or before
	 * jemalloc_find_opts().
	 */
	uint64_t opt[JEMALLOC_OPTS], prof_active;
	enum jemalloc_unwinder unwinder; /* likewise */
	char version[64]; /* from the image's strings: "5.3.0-0-g54eaed1d..."; "" if unknown */
	enum tristate config_prof; /* does the image contain the string "heap_v2/"? */
};

/*
 * All jemallocs of a process, the one that provides the main program's malloc first, in a
 * malloc()ed array. ERR_NOJEMALLOC with cause and fix when there is none (a program without symbols
 * is distinguished from one without jemalloc as far as its strings allow).
 *
 * Symbols outside an image's own tables (elf/image_debug.h) are searched only for stripped images
 * that contain jemalloc's strings. debuginfod is asked only with images->ask_debuginfod. Images
 * marked as plain are skipped, and those found to be plain are marked.
 */
int jemalloc_find(const struct proc *p, struct images *images, struct jemalloc **found, size_t *n,
		  struct err *err) __must_check;

/*
 * The same in a single image of a file instead of a process (elf/image_data.h): `linkage` is not
 * set.
 */
int jemalloc_find_alone(struct images *images, struct jemalloc **found, size_t *n, struct err *err)
	__must_check;

/* Does the image contain the prefix of all messages of every jemalloc? */
bool jemalloc_has_mark(struct image *img);

/*
 * How a jemalloc got into a process: `path` is the file that contains it, perhaps the program
 * itself.
 */
enum jemalloc_linkage jemalloc_linkage_in(pid_t pid, const char *path, bool is_program);

/*
 * Find the variables behind its options and prof.active; takes as long as finding jemalloc itself,
 * so it is done only on demand. `pid` is the process that it was found in.
 */
void jemalloc_find_opts(struct jemalloc *je, pid_t pid);

/*
 * je->prof_active was found through the handler of prof.active. Is that confirmed by an independent
 * method: the variable's symbol (prof_active up to 5.2.1, prof_active_state since 5.3.0), or what
 * malloc(3) reads to decide whether to sample?
 */
bool jemalloc_confirm_active(struct jemalloc *je, pid_t pid);

/* The values of its options and of prof.active, read from the target's memory. */
struct jemalloc_values {
	struct {
		bool known;
		int64_t value;
	} opt[JEMALLOC_OPTS];
	enum tristate prof_active;
};

/* Find the variables, and read them. */
void jemalloc_read_values(struct jemalloc *je, const struct proc *p, struct jemalloc_values *out);

/* One of them, which must be a bool. */
enum tristate jemalloc_value_is(const struct jemalloc_values *values, enum jemalloc_opt opt);

/*
 * Where to find the state of a thread's data (tsd_t.state), jemalloc 5.0 to 5.3.1. A thread whose
 * data is in use has an arena; one that never called jemalloc gets one in its first call, and if
 * there is no memory for that, jemalloc continues without (arena_choose_hard()).
 */
struct jemalloc_tsd {
	bool is_known;
	int64_t state; /* offset of that byte from the thread pointer */
	uint8_t fresh; /* its value in a thread that never called jemalloc */
};

/*
 * Is data in this state in use? That is so for tsd_state_nominal, tsd_state_nominal_slow, and since
 * 5.2 tsd_state_nominal_recompute, from a change of hooks until the thread's next call of jemalloc.
 */
#define JEMALLOC_TSD_SLOW 1
#define JEMALLOC_TSD_RECOMPUTE 2
bool jemalloc_tsd_in_use(const struct jemalloc_tsd *tsd, uint8_t state);

/*
 * From the first comparison in mallctl, if in the image's file this byte is initialized to
 * tsd_state_uninitialized.
 */
void jemalloc_find_tsd(struct jemalloc_tsd *out, const struct jemalloc *je, pid_t pid);

/*
 * The address of tsd_cleanup(), which each thread calls when it exits, by its symbol; 0 without
 * one.
 */
uint64_t jemalloc_find_cleanup(const struct jemalloc *je);

/*
 * Is a thread with this name one of jemalloc's own, which may hold its locks (background_thread.c)?
 */
static inline bool jemalloc_is_background(const char *comm)
{
	return strncmp(comm, "jemalloc_bg", strlen("jemalloc_bg")) == 0;
}

/* The address ranges of its code. */
struct jemalloc_text {
	struct range *v; /* ascending; all code of a shared object, or the parts of a program that
			  * are jemalloc's */
	size_t n;
	bool whole; /* this is all of it; otherwise there may be more */
};

/*
 * Read from the image's file, and if symbols are missing from the memory of `pid`. The caller
 * releases `out` by jemalloc_text_fini(). ERR_FAILED if out of memory.
 */
int jemalloc_text(struct jemalloc_text *out, const struct jemalloc *je, pid_t pid, struct err *err)
	__must_check;
void jemalloc_text_fini(struct jemalloc_text *text);
bool jemalloc_text_has(const struct jemalloc_text *text, uint64_t addr);

/* The function that every dump calls, for probes. */
#define DUMP_FILE_ARG_MAX 3
struct jemalloc_dump {
	uint64_t prof_dump; /* its address, 0 if unknown */
	/* The number of its argument with the file name, from 1; 0: unknown. */
	unsigned int file_arg;
	size_t n_names; /* number of mallctl names in this jemalloc, 0 if unknown */
};
void jemalloc_find_dump(const struct jemalloc *je, const struct proc *p, struct jemalloc_dump *out);

/*
 * The same, but if the code does not lead to prof_dump, by its symbol; `file_arg` is 0 if the
 * compiler may have changed its arguments. False if it is not found, or inlined.
 */
bool jemalloc_find_prof_dump(const struct jemalloc *je, const struct proc *p,
			     struct jemalloc_dump *out);

/*
 * The function that each thread calls after a certain amount of allocation, for probes. Found by
 * its code, else by its symbol; if both give a result, they must agree.
 */
struct jemalloc_event {
	/*
	 * The address of te_event_trigger(tsd, ctx), which a thread calls whenever it has allocated
	 * or freed another opt.tcache_gc_incr_bytes, and for a few other reasons; 0 if unknown. It
	 * exists since 5.3.0.
	 */
	uint64_t te_event_trigger;
};
void jemalloc_find_event(const struct jemalloc *je, const struct proc *p,
			 struct jemalloc_event *out);

/* Read the variables whose addresses are known. */
void jemalloc_peek_values(const struct jemalloc *je, const struct proc *p,
			  struct jemalloc_values *out);

/* "shared", "static", "preload". */
const char *jemalloc_linkage_name(enum jemalloc_linkage linkage);

/*
 * The environment variable this jemalloc reads: MALLOC_CONF, JE_MALLOC_CONF, _RJEM_MALLOC_CONF.
 * Looked up in the image by the first call.
 */
const char *jemalloc_conf_name(struct jemalloc *je);
/* Is this a possible name? It is written to units and command lines. */
bool jemalloc_is_conf_name(const char *name);

/*
 * <0, 0, >0 if `version` is older than, equal to or newer than major.minor.patch; an unknown
 * version is newer than any other.
 */
int jemalloc_version_cmp(const char *version, int major, int minor, int patch);

/*
 * Does it call allocation hooks (hook.h) in a known way? 5.2.0 to 5.3.1 do. "" is an unknown
 * version.
 */
enum tristate jemalloc_has_hooks(const char *version);

#endif
