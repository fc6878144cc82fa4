// SPDX-License-Identifier: Apache-2.0
#include "target/jemalloc.h"

#include "base/cleanup.h"
#include "base/text.h"
#include "target/image_file.h"
#include "target/jemalloc_opt.h"
#include "target/jemalloc_text.h"
#include "target/procfs.h"

#include <ctype.h>
#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FOUND_MAX 64
#define PRELOAD_MAX 4096

static const char mallctl_name[] = "mallctl";
static const char message_mark[] = "<jemalloc>"; /* opens every message of every version */

struct found {
	struct jemalloc *v;
	size_t n;
	struct image *image; /* being searched */
	pid_t pid;
	const char *preload; /* what LD_PRELOAD and ld.so.preload name */
	bool failed;
};

enum tristate jemalloc_peek(const struct proc *p, uint64_t addr)
{
	struct err ignored = ERR_INIT;
	unsigned char value;

	if (!addr || proc_read(p->mm_pid, addr, &value, 1, &ignored))
		return TRI_UNKNOWN;
	return value ? TRI_YES : TRI_NO;
}

const char *jemalloc_linkage_name(enum jemalloc_linkage linkage)
{
	static const char *const names[] = {
		[LINKAGE_SHARED] = "shared",
		[LINKAGE_STATIC] = "static",
		[LINKAGE_PRELOAD] = "preload",
	};

	return names[linkage];
}

/* The build decides the variable's name: the prefix may have been given to the symbols later. */
void jemalloc_conf_name(const struct jemalloc *je, char *buf, size_t size)
{
	static const char plain[] = "MALLOC_CONF";
	char name[sizeof(je->prefix) + sizeof(plain)];

	snprintf(name, sizeof(name), "%s%s", je->prefix, plain);
	for (char *c = name; *c; c++)
		*c = (char)toupper((unsigned char)*c);
	if (je->image && !image_search(je->image, PF_R, name, strlen(name) + 1))
		strcpy(name, plain);
	snprintf(buf, size, "%s", name);
}

int jemalloc_version_cmp(const char *version, int major, int minor, int patch)
{
	int want[3] = { major, minor, patch }, got[3];

	if (sscanf(version, "%d.%d.%d", &got[0], &got[1], &got[2]) != 3)
		return 1;
	/* A build from a clone without tags calls itself 0.0.0. */
	if (!got[0] && !got[1] && !got[2])
		return 1;
	for (size_t i = 0; i < 3; i++)
		if (got[i] != want[i])
			return got[i] < want[i] ? -1 : 1;
	return 0;
}

/* Is the file name of `path` that of one of the objects in `list` (blanks or colons between)? */
static bool is_preloaded(const char *path, const char *list)
{
	static const char between[] = " \t\n:";
	const char *slash = strrchr(path, '/');
	const char *name = slash ? slash + 1 : path;
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

static enum jemalloc_linkage linkage_of(const struct image *img, const char *preload)
{
	if (img->is_main)
		return LINKAGE_STATIC;
	return is_preloaded(img->path, preload) ? LINKAGE_PRELOAD : LINKAGE_SHARED;
}

/* An alias of one already found, in a table where both stand or in both tables. */
static bool is_known(const struct found *f, uint64_t addr)
{
	for (size_t i = 0; i < f->n; i++)
		if (f->v[i].mallctl == addr)
			return true;
	return false;
}

static bool in_text(const struct image *img, uint64_t addr)
{
	for (size_t i = 0; i < img->n_exec; i++)
		if (img->exec[i].start <= addr && addr < img->exec[i].end)
			return true;
	return false;
}

static int match_name(void *ctx, const char *name, const struct symbol *sym)
{
	struct found *f = ctx;
	size_t len = strlen(name), tail = strlen(mallctl_name);
	struct jemalloc *bigger, *je;

	if (len < tail || memcmp(name + len - tail, mallctl_name, tail) != 0 ||
	    (len > tail && name[len - tail - 1] != '_') || len - tail >= sizeof(je->prefix) ||
	    sym->type != STT_FUNC || !in_text(f->image, sym->addr) || is_known(f, sym->addr))
		return 0;
	bigger = f->n < FOUND_MAX ? realloc(f->v, (f->n + 1) * sizeof(*bigger)) : NULL;
	f->failed = !bigger;
	if (!bigger)
		return 1;
	f->v = bigger;
	je = &f->v[f->n++];
	*je = (struct jemalloc){ .image = f->image, .mallctl = sym->addr };
	memcpy(je->prefix, name, len - tail);
	je->linkage = linkage_of(f->image, f->preload);
	return 0;
}

static bool find_prefixed(const struct jemalloc *je, const char *prefix, const char *infix,
			  const char *name, unsigned char type, struct symbol *sym)
{
	char full[160];

	snprintf(full, sizeof(full), "%s%s%s", prefix, infix, name);
	return image_symbol(je->image, full, sym) && sym->type == type;
}

/*
 * Private names carry the public prefix and "je_", or one of the two, as the
 * build liked it. Names without the prefix may be another jemalloc's: they
 * count only when it is the image's only one.
 */
static uint64_t find_opt_prof(const struct jemalloc *je, bool alone)
{
	static const char name[] = "opt_prof";
	struct symbol sym;

	if (find_prefixed(je, je->prefix, "je_", name, STT_OBJECT, &sym) ||
	    find_prefixed(je, je->prefix, "", name, STT_OBJECT, &sym))
		return sym.addr;
	if (alone && (find_prefixed(je, "", "je_", name, STT_OBJECT, &sym) ||
		      find_prefixed(je, "", "", name, STT_OBJECT, &sym)))
		return sym.addr;
	return 0;
}

/* Length of "5.3.0-0-g" and 40 hex digits that end at a NUL, 0 if `s` is no such string. */
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

/* Every occurrence of "-g" is looked at from the start of its string. */
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

static void describe(struct jemalloc *je, pid_t pid, bool alone)
{
	static const char heap[] = "heap_v2/"; /* opens every dump: only with --enable-prof */
	struct symbol sym;

	if (find_prefixed(je, je->prefix, "", "malloc_stats_print", STT_FUNC, &sym))
		je->malloc_stats_print = sym.addr;
	if (find_prefixed(je, je->prefix, "", "malloc_message", STT_OBJECT, &sym))
		je->malloc_message = sym.addr;
	je->opt_prof = find_opt_prof(je, alone);
	if (!je->opt_prof && alone)
		je->opt_prof = jemalloc_opt_prof(je, pid);
	je->config_prof = image_search(je->image, PF_R, heap, strlen(heap)) ? TRI_YES : TRI_NO;
	image_each_segment(je->image, search_version, je);
	jemalloc_text(je);
}

/*
 * Something may be called like mallctl and not be jemalloc's. jemalloc itself
 * refers to these two, so that no linker drops them, and has the mark in its
 * messages.
 */
static bool is_genuine(const struct jemalloc *je)
{
	static const char *const names[] = { "malloc_conf", "malloc_message" };
	struct symbol sym;
	bool found = false;

	/* Without the prefix too: a build may give it to the functions alone. */
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]) && !found; i++)
		found = find_prefixed(je, je->prefix, "", names[i], STT_OBJECT, &sym) ||
			find_prefixed(je, "", "", names[i], STT_OBJECT, &sym);
	return found && image_search(je->image, PF_R, message_mark, strlen(message_mark));
}

static int search_image(struct found *f, struct image *img, struct err *err)
{
	size_t before = f->n, kept = f->n;

	f->image = img;
	if (image_may_name(img, mallctl_name))
		image_each_symbol(img, match_name, f);
	if (f->failed)
		return err_set(err, ERR_FAILED, "too many jemallocs in one process, or no memory");
	for (size_t i = before; i < f->n; i++)
		if (is_genuine(&f->v[i]))
			f->v[kept++] = f->v[i];
	f->n = kept;
	for (size_t i = before; i < f->n; i++)
		describe(&f->v[i], f->pid, f->n - before == 1);
	return 0;
}

/* The main program's malloc: its own, else the preloaded one, else the first that was loaded. */
static int rank(const struct jemalloc *je)
{
	if (je->linkage == LINKAGE_STATIC)
		return 0;
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

static int none_found(const struct proc *p, struct images *images, struct err *err)
{
	struct image *prog = main_image(images);

	if (prog && !image_elf(prog)) {
		err_set(err, ERR_NOJEMALLOC,
			"no jemalloc found in process %d, whose program file cannot be read",
			p->pid);
		return err_fix(err, "run as root, in the mount namespace that has the file");
	}
	if (prog && image_search(prog, PF_R, message_mark, strlen(message_mark))) {
		err_set(err, ERR_NOJEMALLOC,
			"process %d seems to contain jemalloc, but no symbol names its mallctl",
			p->pid);
		return err_fix(err,
			       "run a build of the program that was not stripped; this version "
			       "needs the symbols");
	}
	err_set(err, ERR_NOJEMALLOC, "process %d does not use jemalloc", p->pid);
	return err_fix(err, "start it with LD_PRELOAD=libjemalloc.so.2 "
			    "MALLOC_CONF=prof:true,prof_active:false");
}

/* LD_PRELOAD, and the target's own /etc/ld.so.preload, one after the other. */
static void read_preload(pid_t pid, char *buf, size_t size)
{
	_cleanup_(cleanup_close) int fd = -1;
	struct err ignored;
	struct stat st;
	ssize_t got;
	size_t used;

	if (proc_getenv(pid, "LD_PRELOAD", buf, size, &ignored))
		buf[0] = '\0';
	used = strlen(buf);
	fd = procfs_open_in_root(pid, "/etc/ld.so.preload", PRELOAD_MAX, &st);
	if (fd < 0 || used + 2 >= size)
		return;
	buf[used++] = ' ';
	got = read(fd, buf + used, size - used - 1);
	buf[used + (size_t)(got > 0 ? got : 0)] = '\0';
}

int jemalloc_find(const struct proc *p, struct images *images, struct jemalloc **found, size_t *n,
		  struct err *err)
{
	_cleanup_(cleanup_free) struct jemalloc *v = NULL;
	char preload[PRELOAD_MAX];
	struct found f = { .pid = p->mm_pid, .preload = preload };

	read_preload(p->mm_pid, preload, sizeof(preload));
	for (size_t i = 0; i < images->n; i++) {
		int ret = images->v[i].path[0] == '/' ? search_image(&f, &images->v[i], err) : 0;

		v = f.v;
		if (ret)
			return -1;
	}
	if (!f.n)
		return none_found(p, images, err);
	qsort(v, f.n, sizeof(*v), by_rank);
	*n = f.n;
	*found = take_ptr(v);
	return 0;
}
