// SPDX-License-Identifier: Apache-2.0
#include "jemalloc/jemalloc.h"

#include "base/cleanup.h"
#include "base/text.h"
#include "base/vec.h"
#include "elf/image_debug.h"
#include "elf/image_file.h"
#include "jemalloc/scan.h"
#include "process/procfs.h"

#include <ctype.h>
#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- facts from an image --- */

static const char message_mark[] = "<jemalloc>"; /* begins every message of every version */

static bool find_prefixed(const struct jemalloc *je, const char *prefix, const char *infix,
			  const char *name, unsigned char type, struct symbol *sym)
{
	char full[160];

	snprintf(full, sizeof(full), "%s%s%s", prefix, infix, name);
	return image_symbol(je->image, full, sym) && sym->type == type;
}

/*
 * Private names have the public prefix and "je_", or one of the two, depending on the build. Names
 * without the prefix may belong to another jemalloc: they count only when it is the only one in the
 * image.
 */
static bool find_private(const struct jemalloc *je, bool alone, const char *name,
			 unsigned char type, struct symbol *sym)
{
	return find_prefixed(je, je->prefix, "je_", name, type, sym) ||
	       find_prefixed(je, je->prefix, "", name, type, sym) ||
	       (alone && (find_prefixed(je, "", "je_", name, type, sym) ||
			  find_prefixed(je, "", "", name, type, sym)));
}

uint64_t jemalloc_find_cleanup(const struct jemalloc *je)
{
	struct symbol sym;

	return find_private(je, je->is_alone, "tsd_cleanup", STT_FUNC, &sym) ? sym.addr : 0;
}

/* The length of a string like "5.3.0-0-g" and 40 hex digits; 0 if `s` is not such a string. */
static size_t version_len(const char *s, const char *end)
{
	const char *c = s;
	size_t hex;

	for (int part = 0; part < 4; part++, c++) {
		const char *digits = c;

		while (c < end && isdigit((unsigned char)*c))
			c++;
		if (c == digits || c == end || *c != (part < 2 ? '.' : '-'))
			return 0;
	}
	if (c == end || *c++ != 'g')
		return 0;
	for (hex = 0; c + hex < end && isxdigit((unsigned char)c[hex]);)
		hex++;
	return hex == 40 && c + hex < end && !c[hex] ? (size_t)(c + hex - s) : 0;
}

/* Checks the string around every occurrence of "-g". */
static int search_version(void *ctx, unsigned int pflags, const char *bytes, size_t len,
			  uint64_t addr)
{
	struct jemalloc *je = ctx;
	const char *end = bytes + len;
	const char *at = bytes;

	(void)addr;
	if (pflags & PF_W)
		return 0;
	while ((at = text_search(at, (size_t)(end - at), "-g", 2))) {
		const char *start = at;
		size_t n;

		while (start > bytes && at - start < 24 && start[-1])
			start--;
		n = version_len(start, end);
		if (n && n < sizeof(je->version)) {
			memcpy(je->version, start, n);
			je->version[n] = '\0';
			return 1;
		}
		at += 2;
	}
	return 0;
}

void jemalloc_find_opts(struct jemalloc *je, pid_t pid)
{
	struct symbol sym;
	struct scan scan;
	char name[64];

	if (je->opts_sought)
		return;
	je->opts_sought = true;
	for (unsigned int i = 0; i < JEMALLOC_OPTS; i++) {
		snprintf(name, sizeof(name), "opt_%s", jemalloc_opt_name(i));
		if (find_private(je, je->is_alone, name, STT_OBJECT, &sym) &&
		    sym.size == jemalloc_opt_size(i))
			je->opt[i] = sym.addr;
	}
	if (!je->is_alone || je->config_prof != TRI_YES)
		return;
	scan_open(&scan, je->image, pid);
	je->prof_active = options_find_active(&scan);
	je->unwinder = options_find_unwinder(&scan);
	if (!je->opt[OPT_PROF])
		je->opt[OPT_PROF] = options_find_prof(&scan);
	options_find(&scan, je->mallctl, je->opt);
}

bool jemalloc_confirm_active(struct jemalloc *je, pid_t pid)
{
	static const char *const names[] = { "prof_active_state", "prof_active" };
	struct symbol sym;
	struct scan scan;

	jemalloc_find_opts(je, pid);
	if (!je->prof_active)
		return false;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (find_private(je, je->is_alone, names[i], STT_OBJECT, &sym) && sym.size == 1)
			return sym.addr == je->prof_active;
	/* Its allocation functions may have no prefix even if its control functions have one. */
	if (!find_prefixed(je, je->prefix, "", "malloc", STT_FUNC, &sym) &&
	    !find_prefixed(je, "", "", "malloc", STT_FUNC, &sym))
		return false;
	scan_open(&scan, je->image, pid);
	return options_allocation_reads(&scan, sym.addr, je->prof_active);
}

/* Fill in the rest, except what jemalloc_find_opts() does. */
static void jemalloc_describe(struct jemalloc *je, bool is_alone)
{
	static const char heap[] = "heap_v2/"; /* begins every dump; only with --enable-prof */
	struct symbol sym;

	je->is_alone = is_alone;
	if (find_prefixed(je, je->prefix, "", "malloc_stats_print", STT_FUNC, &sym))
		je->malloc_stats_print = sym.addr;
	if (find_prefixed(je, je->prefix, "", "malloc_message", STT_OBJECT, &sym))
		je->malloc_message = sym.addr;
	je->config_prof = image_search(je->image, PF_R, heap, strlen(heap)) ? TRI_YES : TRI_NO;
	image_each_segment(je->image, search_version, je);
}

bool jemalloc_has_mark(struct image *img)
{
	return image_search(img, PF_R, message_mark, strlen(message_mark)) != 0;
}

/*
 * A function named like mallctl may not be jemalloc's. jemalloc itself refers to one of these two
 * variables, so that no linker drops them, and has the mark in its messages. .gnu_debugdata names
 * only functions: then the function called by mallctl counts, or, if LTO removed that, both of its
 * siblings.
 */
static bool jemalloc_is_genuine(const struct jemalloc *je)
{
	static const char *const names[] = { "malloc_conf", "malloc_message" };
	struct symbol sym;
	bool found = false;

	/* Also without the prefix: a build may apply it only to the functions. */
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]) && !found; i++)
		found = find_prefixed(je, je->prefix, "", names[i], STT_OBJECT, &sym) ||
			find_prefixed(je, "", "", names[i], STT_OBJECT, &sym);
	found = found || find_private(je, true, "ctl_byname", STT_FUNC, &sym) ||
		(find_prefixed(je, je->prefix, "", "mallctlbymib", STT_FUNC, &sym) &&
		 find_prefixed(je, je->prefix, "", "mallctlnametomib", STT_FUNC, &sym));
	return found && jemalloc_has_mark(je->image);
}

/*
 * Are there other functions of jemalloc with its prefix? Not so for a program's own call_mallctl,
 * nor for a jemalloc whose unused functions the linker dropped.
 */
static bool jemalloc_has_siblings(const struct jemalloc *je)
{
	static const char *const names[] = { "mallctlbymib", "mallctlnametomib",
					     "malloc_stats_print" };
	struct symbol sym;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (find_prefixed(je, je->prefix, "", names[i], STT_FUNC, &sym))
			return true;
	return false;
}

/* The name of the configuration variable shows the build's prefix, if it has one. */
static int search_conf_name(void *ctx, unsigned int pflags, const char *bytes, size_t len,
			    uint64_t addr)
{
	static const char name[] = "MALLOC_CONF";
	const char *end = bytes + len, *at = bytes;
	struct jemalloc *je = ctx;

	(void)addr;
	if (pflags & PF_W)
		return 0;
	while ((at = text_search(at, (size_t)(end - at), name, sizeof(name)))) {
		const char *start = at;

		while (start > bytes && (isupper((unsigned char)start[-1]) || start[-1] == '_'))
			start--;
		if (start > bytes && !start[-1] && (size_t)(at - start) < sizeof(je->prefix)) {
			for (size_t i = 0; start + i < at; i++)
				je->prefix[i] = (char)tolower((unsigned char)start[i]);
			return 1;
		}
		at++;
	}
	return 0;
}

/* --- finding it --- */

#define FOUND_MAX 64
#define PRELOAD_MAX 4096
#define PATH_SHOWN 300
#define CODE_MIN (UINT64_C(128) << 10) /* smaller than any jemalloc */

static const char mallctl_name[] = "mallctl";

struct found {
	struct jemalloc *v;
	size_t n;
	struct image *image; /* being searched */
	pid_t pid;
	const char *preload; /* contents of LD_PRELOAD and ld.so.preload */
	bool failed;
	struct err *server;	/* why debuginfod did not help; NULL if not to be asked */
	struct image *nameless; /* contains a jemalloc, but no symbol names its mallctl */
	char said[200];		/* and the reason why the scan did not find it */
};

const char *jemalloc_linkage_name(enum jemalloc_linkage linkage)
{
	static const char *const names[] = {
		[LINKAGE_SHARED] = "shared",
		[LINKAGE_STATIC] = "static",
		[LINKAGE_PRELOAD] = "preload",
		[LINKAGE_NONE] = "none",
	};

	return names[linkage];
}

static const char plain_conf_name[] = "MALLOC_CONF";

bool jemalloc_is_conf_name(const char *name)
{
	const size_t len = strlen(name), tail = sizeof(plain_conf_name) - 1;

	return !name[strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_")] && len >= tail &&
	       !strcmp(name + len - tail, plain_conf_name);
}

/*
 * The build decides the variable's name: the symbols may have got their prefix later, and symbol
 * names may contain any bytes.
 */
const char *jemalloc_conf_name(struct jemalloc *je)
{
	char *name = je->conf_name;

	if (*name)
		return name;
	snprintf(name, sizeof(je->conf_name), "%s%s", je->prefix, plain_conf_name);
	for (char *c = name; *c; c++)
		*c = (char)toupper((unsigned char)*c);
	if (!jemalloc_is_conf_name(name) ||
	    (je->image && !image_search(je->image, PF_R, name, strlen(name) + 1)))
		strcpy(name, plain_conf_name);
	return name;
}

int jemalloc_version_cmp(const char *version, int major, int minor, int patch)
{
	int want[3] = { major, minor, patch }, got[3];

	if (sscanf(version, "%d.%d.%d", &got[0], &got[1], &got[2]) != 3)
		return 1;
	/* Builds from a clone without tags have version 0.0.0. */
	if (!got[0] && !got[1] && !got[2])
		return 1;
	for (size_t i = 0; i < 3; i++)
		if (got[i] != want[i])
			return got[i] < want[i] ? -1 : 1;
	return 0;
}

enum tristate jemalloc_has_hooks(const char *version)
{
	if (!*version)
		return TRI_UNKNOWN;
	return jemalloc_version_cmp(version, 5, 2, 0) >= 0 &&
			       jemalloc_version_cmp(version, 5, 3, 2) < 0
		       ? TRI_YES
		       : TRI_NO;
}

/* Is the file name of `path` that of an object in `list` (separated by blanks or colons)? */
static bool is_preloaded(const char *path, const char *list)
{
	static const char between[] = " \t\n:";
	const char *name = text_file_name(path);
	size_t stem = strcspn(name, "."); /* libjemalloc.so.2 may be a link to libjemalloc.so.2.1 */

	for (list += strspn(list, between); *list; list += strspn(list, between)) {
		size_t len = strcspn(list, between);
		const char *base = memrchr(list, '/', len);

		base = base ? base + 1 : list;
		if ((size_t)(list + len - base) >= stem && !strncmp(base, name, stem) &&
		    (list + len == base + stem || base[stem] == '.'))
			return true;
		list += len;
	}
	return false;
}

/* An alias of one already found, in the same or in another table. */
static bool is_known(const struct found *f, uint64_t addr)
{
	for (size_t i = 0; i < f->n; i++)
		if (f->v[i].mallctl == addr)
			return true;
	return false;
}

static bool has_found(const struct found *f, const struct image *img)
{
	for (size_t i = 0; i < f->n; i++)
		if (f->v[i].image == img)
			return true;
	return false;
}

static struct jemalloc *add_found(struct found *f, uint64_t mallctl)
{
	struct jemalloc *bigger = NULL;

	if (f->n < FOUND_MAX)
		bigger = realloc(f->v, (f->n + 1) * sizeof(*bigger));
	f->failed = !bigger;
	if (!bigger)
		return NULL;
	f->v = bigger;
	f->v[f->n] = (struct jemalloc){ .image = f->image, .mallctl = mallctl };
	if (f->image->is_main)
		f->v[f->n].linkage = LINKAGE_STATIC;
	else if (is_preloaded(f->image->path, f->preload))
		f->v[f->n].linkage = LINKAGE_PRELOAD;
	else
		f->v[f->n].linkage = LINKAGE_SHARED;
	return &f->v[f->n++];
}

static int match_name(void *ctx, const char *name, const struct symbol *sym)
{
	struct found *f = ctx;
	size_t len = strlen(name), tail = strlen(mallctl_name);
	struct jemalloc *je;

	if (len < tail || memcmp(name + len - tail, mallctl_name, tail) != 0 ||
	    (len > tail && name[len - tail - 1] != '_') || len - tail >= sizeof(je->prefix) ||
	    sym->type != STT_FUNC || !image_has_code(f->image, sym->addr) || is_known(f, sym->addr))
		return 0;
	je = add_found(f, sym->addr);
	if (je)
		memcpy(je->prefix, name, len - tail);
	return f->failed;
}

/*
 * Of those from `first` on, all in one image: if some have sibling functions, drop those without.
 */
static void drop_false_positives(struct found *f, size_t first)
{
	bool siblings[FOUND_MAX], any = false;
	size_t kept = first;

	for (size_t i = first; i < f->n; i++)
		any |= siblings[i] = jemalloc_has_siblings(&f->v[i]);
	for (size_t i = first; i < f->n; i++)
		if (!any || siblings[i])
			f->v[kept++] = f->v[i];
	f->n = kept;
}

static int search_image(struct found *f, struct image *img, struct err *err)
{
	size_t before = f->n, kept = f->n;

	f->image = img;
	if (image_may_name(img, mallctl_name))
		image_each_symbol(img, match_name, f);
	if (f->failed)
		return err_raise(err, ERROR_TOO_MANY_JEMALLOCS);
	for (size_t i = before; i < f->n; i++)
		if (jemalloc_is_genuine(&f->v[i]))
			f->v[kept++] = f->v[i];
	f->n = kept;
	if (kept - before > 1)
		drop_false_positives(f, before);
	for (size_t i = before; i < f->n; i++)
		jemalloc_describe(&f->v[i], f->n - before == 1);
	return 0;
}

/* An image that has jemalloc's mark, but no symbol that leads to it. */
static int scan_image(struct found *f, struct image *img, struct err *err)
{
	struct scan scan;
	struct jemalloc *je;
	uint64_t mallctl;

	f->nameless = img;
	f->image = img;
	scan_open(&scan, img, f->pid);
	mallctl = scan_mallctl(&scan, f->said, sizeof(f->said));
	if (!mallctl || is_known(f, mallctl))
		return 0;
	je = add_found(f, mallctl);
	if (!je)
		return err_no_memory(err);
	je->by_scan = true;
	image_each_segment(img, search_conf_name, je);
	jemalloc_describe(je, true);
	if (!je->version[0]) {
		f->n--;
		snprintf(f->said, sizeof(f->said),
			 "its version is unknown, so mallctl, which seems to be at %#llx, cannot "
			 "be confirmed",
			 (unsigned long long)mallctl);
		return 0;
	}
	je->malloc_stats_print = scan_stats_print(&scan, mallctl);
	return 0;
}

/*
 * Order by which one provides the main program's malloc: its own, else the preloaded one, else the
 * first one loaded. A library that does not export mallctl does not export its malloc either.
 */
static int rank(const struct jemalloc *je)
{
	if (je->linkage == LINKAGE_STATIC)
		return 0;
	if (je->by_scan)
		return 4;
	if (je->linkage == LINKAGE_PRELOAD)
		return 1;
	return je->prefix[0] ? 3 : 2;
}

static int by_rank(const void *a, const void *b)
{
	const struct jemalloc *x = a, *y = b;

	if (rank(x) != rank(y))
		return rank(x) - rank(y);
	if (x->image != y->image)
		return x->image->start > y->image->start ? -1 : 1; /* ld.so maps downward */
	return x->mallctl < y->mallctl ? -1 : 1;
}

static struct image *main_image(struct images *images)
{
	for (size_t i = 0; i < images->n; i++)
		if (images->v[i].is_main)
			return &images->v[i];
	return NULL;
}

static int none_found(const struct found *f, const struct proc *p, struct images *images,
		      struct err *err)
{
	struct image *prog = main_image(images);
	const struct err *server = f->server;
	char said[ERR_TEXT_SIZE];
	uint64_t secure = 0;

	if (prog && !image_elf(prog)) {
		err_raise(err, ERROR_PROGRAM_UNREADABLE, .pid = p->pid);
		return err_advise(err, FIX_ROOT_WITH_THE_FILE);
	}
	if (f->nameless) {
		err_raise(err, ERROR_JEMALLOC_WITHOUT_NAMES, .pid = p->pid,
			  .path = f->nameless->path,
			  .text = server ? err_text(server, said, sizeof(said)) : "",
			  .what = f->said);
		if (server && server->fixes[0])
			return err_advise(err, server->fixes[0]);
		return err_advise(err,
				  server ? FIX_INSTALL_ITS_SYMBOLS : FIX_INSTALL_OR_DEBUGINFOD);
	}
	err_raise(err, ERROR_NO_JEMALLOC, .pid = p->pid);
	if (prog && !prog->has_interp)
		return err_advise(err, FIX_BUILD_IN_STATIC);
	if (proc_auxval(p->mm_pid, AT_SECURE, &secure) && secure)
		return err_advise(err, FIX_BUILD_IN_PRIVILEGED);
	return err_advise(err, FIX_PRELOAD_JEMALLOC);
}

static void read_preload_variable(pid_t pid, char *buf, size_t size)
{
	struct err ignored;

	if (proc_getenv(pid, "LD_PRELOAD", buf, size, &ignored))
		buf[0] = '\0';
}

/* LD_PRELOAD followed by the target's own /etc/ld.so.preload. */
static void read_preload(pid_t pid, char *buf, size_t size)
{
	_cleanup_(cleanup_close) int fd = -1;
	ssize_t got;
	size_t used;

	read_preload_variable(pid, buf, size);
	used = strlen(buf);
	fd = procfs_open_in_root(pid, "/etc/ld.so.preload", PRELOAD_MAX);
	if (fd < 0 || used + 2 >= size)
		return;
	buf[used++] = ' ';
	got = read(fd, buf + used, size - used - 1);
	buf[used + (size_t)(got > 0 ? got : 0)] = '\0';
}

static bool has_texts(struct image *img)
{
	uint64_t code = 0;

	for (size_t i = 0; i < img->n_exec; i++)
		code += img->exec[i].end - img->exec[i].start;
	return code >= CODE_MIN && jemalloc_has_mark(img);
}

/* By symbols outside the image, else without symbols. */
static int search_stripped(struct found *f, struct image *img, struct err *err)
{
	size_t before = f->n;

	img->is_plain = !has_texts(img);
	if (img->is_plain || !img->is_loaded)
		return 0;
	/* Every jemalloc for Linux calls madvise(2). */
	if (image_is_stripped(img) && image_may_call(img, "madvise"))
		while (f->n == before && image_debug_next(img, f->server))
			if (search_image(f, img, err))
				return -1;
	return f->n == before ? scan_image(f, img, err) : 0;
}

/*
 * Searching for strings reads the whole file: once a jemalloc was found, only images are searched
 * that call madvise(2), like every jemalloc for Linux and few other libraries.
 */
static bool may_hold_another(const struct found *f, struct image *img)
{
	return img->path[0] == '/' && !img->is_plain && !has_found(f, img) &&
	       (!f->n || img->is_main || image_may_call(img, "madvise"));
}

/* By symbols, or without if there are none: each image may contain a jemalloc. */
static int search(struct found *f, struct images *images, struct err *err)
{
	struct image *prog = main_image(images);

	for (size_t i = 0; i < images->n; i++)
		if (images->v[i].path[0] == '/' && !images->v[i].is_plain &&
		    images->v[i].is_loaded && search_image(f, &images->v[i], err))
			return -1;
	if (prog && may_hold_another(f, prog) && search_stripped(f, prog, err))
		return -1;
	for (size_t i = 0; i < images->n; i++)
		if (!images->v[i].is_main && may_hold_another(f, &images->v[i]) &&
		    search_stripped(f, &images->v[i], err))
			return -1;
	return 0;
}

int jemalloc_find_alone(struct images *images, struct jemalloc **found, size_t *n, struct err *err)
{
	struct err server = ERR_INIT;
	struct found f = { .preload = "", .server = images->ask_debuginfod ? &server : NULL };

	if (search(&f, images, err) || !f.n) {
		free(f.v);
		return -1;
	}
	*n = f.n;
	*found = f.v;
	return 0;
}

enum jemalloc_linkage jemalloc_linkage_in(pid_t pid, const char *path, bool is_program)
{
	char preload[PRELOAD_MAX];

	if (is_program)
		return LINKAGE_STATIC;
	read_preload_variable(pid, preload, sizeof(preload));
	if (is_preloaded(path, preload))
		return LINKAGE_PRELOAD;
	read_preload(pid, preload, sizeof(preload));
	return is_preloaded(path, preload) ? LINKAGE_PRELOAD : LINKAGE_SHARED;
}

int jemalloc_find(const struct proc *p, struct images *images, struct jemalloc **found, size_t *n,
		  struct err *err)
{
	_cleanup_(cleanup_free) struct jemalloc *v = NULL;
	char preload[PRELOAD_MAX];
	struct found f = { .pid = p->mm_pid, .preload = preload };
	struct err server = ERR_INIT;
	int ret;

	read_preload(p->mm_pid, preload, sizeof(preload));
	f.server = images->ask_debuginfod ? &server : NULL;
	ret = search(&f, images, err);
	v = f.v;
	if (ret)
		return -1;
	if (!f.n)
		return none_found(&f, p, images, err);
	vec_sort(v, f.n, by_rank);
	*n = f.n;
	*found = take_ptr(v);
	return 0;
}
