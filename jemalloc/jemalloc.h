// SPDX-License-Identifier: Apache-2.0
/* Finding jemalloc in a process's images. Looks at files and maps only. */
#ifndef JEMALLOC_JEMALLOC_H
#define JEMALLOC_JEMALLOC_H

#include "base/err.h"
#include "elf/image.h"
#include "jemalloc/options.h"
#include "process/proc.h"

#include <string.h>

enum jemalloc_linkage { LINKAGE_SHARED, LINKAGE_STATIC, LINKAGE_PRELOAD };
struct jemalloc {
	struct image *image; /* owned by the struct images it was found in */
	enum jemalloc_linkage linkage;
	bool by_scan;  /* no symbol named it: its addresses follow from its data and its code, and
		       * are to be confirmed by a first call that changes nothing */
	bool is_alone; /* it is the only one of its image */
	bool opts_sought;	     /* jemalloc_find_opts() was called */
	char prefix[64];	     /* "", "je_", "_rjem_" */
	char conf_name[80];	     /* see jemalloc_conf_name(); "" where it was not asked yet */
	uint64_t mallctl;	     /* address in the target, never 0 */
	uint64_t malloc_stats_print; /* 0 if unknown */
	uint64_t malloc_message;     /* address of the variable, 0 if unknown */
	/* Addresses of the variables of opt.* and prof.active; 0 if unknown, and until
	 * jemalloc_find_opts(). */
	uint64_t opt[JEMALLOC_OPTS], prof_active;
	enum jemalloc_unwinder unwinder; /* likewise */
	char version[64]; /* "5.3.0-0-g54eaed1d...", "" if unknown: from the image's strings */
	enum tristate config_prof; /* from the image's strings: does it hold "heap_v2/"? */
};

/*
 * All jemallocs of a process, the one that owns the main program's malloc
 * first, in a malloc()ed array. ERR_NOJEMALLOC with cause and fix when there
 * is none (a program without symbols is told apart from one without jemalloc
 * as far as its strings allow).
 *
 * Symbols outside of an image's own tables (elf/image_debug.h) are looked
 * for only in stripped images that hold a jemalloc's texts. debuginfod is asked
 * only with images->ask_debuginfod. Images that are marked as plain are passed
 * over, and those that turn out to be are marked.
 */
int jemalloc_find(const struct proc *p, struct images *images, struct jemalloc **found, size_t *n,
		  struct err *err) __must_check;

/*
 * The same in a single image that is of no process but of a file
 * (elf/image_data.h): `linkage` is not told.
 */
int jemalloc_find_alone(struct images *images, struct jemalloc **found, size_t *n, struct err *err)
	__must_check;

/* Does the image hold the mark that opens every message of every jemalloc? */
bool jemalloc_has_mark(struct image *img);

/* How a jemalloc came into a process, in whose file `path`, or the program's own. */
enum jemalloc_linkage jemalloc_linkage_in(pid_t pid, const char *path, bool is_program);

/*
 * Find the variables behind its options and prof.active, which takes as long
 * as to find jemalloc itself, for those who look at them. `pid` is the process
 * that it was found in.
 */
void jemalloc_find_opts(struct jemalloc *je, pid_t pid);

/*
 * What handles the name prof.active led to je->prof_active. Does a second way, which knows nothing
 * of the first, lead there too: the variable's symbol (prof_active up to 5.2.1, prof_active_state
 * since 5.3.0), or what malloc(3) reads where it decides whether to sample?
 */
bool jemalloc_confirm_active(struct jemalloc *je, pid_t pid);

/* What its options were set to, and prof.active, as the target's memory has them. */
struct jemalloc_values {
	struct {
		bool known;
		int64_t value;
	} opt[JEMALLOC_OPTS];
	enum tristate prof_active;
};

/* Find the variables, and read them. */
void jemalloc_read_values(struct jemalloc *je, const struct proc *p, struct jemalloc_values *out);

/* One of them that is a bool. */
enum tristate jemalloc_value_is(const struct jemalloc_values *values, enum jemalloc_opt opt);

/*
 * Where the state of a thread's data stands (tsd_t.state), jemalloc 5.0 to 5.3.1. A thread whose
 * data is in use has an arena; one that never called jemalloc gets one by its first call, and
 * where there is no memory for that, jemalloc goes on without (arena_choose_hard()).
 */
struct jemalloc_tsd {
	bool is_known;
	int64_t state; /* the address of that byte, from the thread pointer */
	uint8_t fresh; /* what it holds in a thread that never called jemalloc */
};

/*
 * Is data in this state in use? tsd_state_nominal, tsd_state_nominal_slow, and since 5.2
 * tsd_state_nominal_recompute, which it has after hooks came or went until its thread next calls
 * jemalloc.
 */
#define JEMALLOC_TSD_SLOW 1
#define JEMALLOC_TSD_RECOMPUTE 2
bool jemalloc_tsd_in_use(const struct jemalloc_tsd *tsd, uint8_t state);

/*
 * By what mallctl compares first, if the image's file agrees that this byte begins as
 * tsd_state_uninitialized.
 */
void jemalloc_find_tsd(struct jemalloc_tsd *out, const struct jemalloc *je, pid_t pid);

/* tsd_cleanup(), which each thread calls at its end, by its symbol; 0 where there is none. */
uint64_t jemalloc_find_cleanup(const struct jemalloc *je);

/* Is a thread of that name one of jemalloc's own? These hold its locks (background_thread.c). */
static inline bool jemalloc_is_background(const char *comm)
{
	return strncmp(comm, "jemalloc_bg", strlen("jemalloc_bg")) == 0;
}

/* Where its code lies. */
struct jemalloc_text {
	struct range *v; /* ascending: all of a shared object's code; of a program's the parts that
			  * are jemalloc's */
	size_t n;
	bool whole; /* all of it is known; else there may be more */
};

/*
 * Read from the image's file, and from the memory of `pid` where symbols are missing. `out` is
 * the caller's to end. ERR_FAILED without memory.
 */
int jemalloc_text(struct jemalloc_text *out, const struct jemalloc *je, pid_t pid, struct err *err)
	__must_check;
void jemalloc_text_fini(struct jemalloc_text *text);
bool jemalloc_text_has(const struct jemalloc_text *text, uint64_t addr);

/* Where dumps pass by, for those who watch them. */
#define DUMP_FILE_ARG_MAX 3
struct jemalloc_dump {
	uint64_t prof_dump; /* its address, 0 if unknown */
	/* Which argument of it is the file's name, counted from 1; 0: unknown. */
	unsigned int file_arg;
	size_t n_names; /* how many names of mallctl this jemalloc has, 0 if unknown */
};
void jemalloc_find_dump(const struct jemalloc *je, const struct proc *p, struct jemalloc_dump *out);

/*
 * The same, and where its code does not lead to prof_dump, by its symbol; `file_arg` is 0 where the
 * compiler may have changed its arguments. False if it is not found, or inlined.
 */
bool jemalloc_find_prof_dump(const struct jemalloc *je, const struct proc *p,
			     struct jemalloc_dump *out);

/*
 * Where each thread passes by whenever it has allocated so much, for those who count that. By its
 * code, else by its symbol; where both say something they must agree.
 */
struct jemalloc_event {
	/*
	 * The address of te_event_trigger(tsd, ctx), which is called by a thread that has
	 * allocated, or freed, another opt.tcache_gc_incr_bytes, and for a few other reasons;
	 * 0 if unknown, and before 5.3.0, which has none.
	 */
	uint64_t te_event_trigger;
};
void jemalloc_find_event(const struct jemalloc *je, const struct proc *p,
			 struct jemalloc_event *out);

/* Read the variables that are known. */
void jemalloc_peek_values(const struct jemalloc *je, const struct proc *p,
			  struct jemalloc_values *out);

/* "shared", "static", "preload". */
const char *jemalloc_linkage_name(enum jemalloc_linkage linkage);

/*
 * The environment variable this jemalloc reads: MALLOC_CONF, JE_MALLOC_CONF, _RJEM_MALLOC_CONF.
 * Looked up in the image at first.
 */
const char *jemalloc_conf_name(struct jemalloc *je);
/* Can a build have chosen this name? It goes into units and command lines. */
bool jemalloc_is_conf_name(const char *name);

/*
 * <0, 0, >0 as `version` is older than, equal to or newer than
 * major.minor.patch; unknown is newest.
 */
int jemalloc_version_cmp(const char *version, int major, int minor, int patch);

/*
 * Does it call hooks at each allocation (hook.h), in a way that is known? Those of 5.2.0 to 5.3.1
 * do. "" is an unknown version.
 */
enum tristate jemalloc_has_hooks(const char *version);

#endif
