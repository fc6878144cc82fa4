// SPDX-License-Identifier: Apache-2.0
/*
 * Determines which functions of a program belong to the jemalloc in it.
 *
 * Their order in the file depends on the linker (lld leaves jemalloc_constructor() at its section's
 * position, GNU ld moves it elsewhere), on its options (a section per function, or one for all) and
 * on LTO, which mixes them with the program's. So no order is assumed. Each symbol stands for one
 * function, which is classified by two sources:
 *
 * - names: the interface (malloc(), mallctl(), operator new), with its prefix in this program, and
 * the private namespace that configure gives to everything non-static ("je_"); - code: functions
 * that these call, jump to or take the address of, if their symbols are local (a static function,
 * or a hidden one after linking), or named like jemalloc's functions. They are jemalloc's, since
 * jemalloc calls functions of other object files only by global names. This is repeated for the
 * functions found.
 *
 * If the symbol table records the source file of a local function, that counts as well: functions
 * of other files than jemalloc's are excluded. A function that has a name like jemalloc's, in a
 * file with a name like jemalloc's, is jemalloc's if another one of that file was found, or if its
 * neighbors on both sides were. That adds functions that no code refers to, such as handlers in
 * tables. With LTO, and for hidden functions with some linkers, there is no such record: then
 * handlers are recognized by their names.
 *
 * If code leads to an address without a symbol, the symbol table is incomplete, and the result says
 * so: then frame tables (.eh_frame) delimit the functions, and the others are found through the
 * code of the handlers of mallctl's names. DWARF is not read: a file that has it has the symbols
 * too.
 */
#include "jemalloc/jemalloc.h"

#include "base/cleanup.h"
#include "base/text.h"
#include "base/vec.h"
#include "elf/image_file.h"
#include "jemalloc/arch/decode.h"
#include "jemalloc/scan.h"

#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CODE_MAX (16u << 20) /* bytes decoded; jemalloc 5.3 has 0.4 MiB */
#define PADDING_MAX 64	     /* between one function and the next */
#define FRAME_MIN 16	     /* bytes in the shortest .eh_frame entry of a function */

/* The public interface of jemalloc 3.6 to 5.3.1, without the prefix. */
static const char *const interface[] = {
	"malloc",
	"calloc",
	"realloc",
	"free",
	"aligned_alloc",
	"posix_memalign",
	"memalign",
	"valloc",
	"pvalloc",
	"cfree",
	"free_sized",
	"free_aligned_sized",
	"mallocx",
	"rallocx",
	"xallocx",
	"sallocx",
	"dallocx",
	"sdallocx",
	"nallocx",
	"malloc_usable_size",
	"mallctl",
	"mallctlbymib",
	"mallctlnametomib",
	"malloc_stats_print",
	"malloc_size",
	"batch_alloc",
	"jemalloc_prefork",
	"jemalloc_postfork_parent",
	"allocm",
	"rallocm",
	"jemalloc_constructor",
};

/* operator new, new[], delete and delete[] */
static const char *const operators[] = { "_Znw", "_Zna", "_Zdl", "_Zda" };

/* Prefixes of its static functions, and of others in builds without a private namespace. */
static const char *const private[] = {
	"approximate_",	 "arenas_",	  "config_",
	"epoch_",	 "experimental_", "max_background_",
	"default_junk_", "lg_",		  "opt_",
	"postponed_",	 "pow2_",	  "version_",
	"arena_",	 "atomic_",	  "background_thread",
	"base_",	 "batch_",	  "bin_",
	"bitmap_",	 "buf_",	  "cache_bin_",
	"chunk_",	 "ckh_",	  "counter_",
	"ctl_",		 "decay_",	  "div_",
	"ecache_",	 "edata_",	  "ehooks_",
	"emap_",	 "emitter_",	  "eset_",
	"extent_",	 "extents_",	  "fxp_",
	"hook_",	 "hpa_",	  "hpdata_",
	"huge_",	 "inspect_",	  "iralloc",
	"jemalloc_",	 "large_",	  "log_",
	"malloc_",	 "mutex_",	  "nstime_",
	"pa_",		 "pac_",	  "pages_",
	"pai_",		 "peak_",	  "prng_",
	"prof_",	 "psset_",	  "quarantine_",
	"rtree_",	 "safety_",	  "san_",
	"sc_",		 "sec_",	  "stats_",
	"sz_",		 "tcache_",	  "tcaches_",
	"te_",		 "thread_",	  "ticker_",
	"tsd_",		 "witness_",	  "zone_",
};

/* Its source files, without the suffix: .c, or .cpp for the operators. */
static const char *const sources[] = {
	"arena",
	"atomic",
	"background_thread",
	"base",
	"bin",
	"bin_info",
	"bitmap",
	"buf_writer",
	"cache_bin",
	"chunk",
	"chunk_dss",
	"chunk_mmap",
	"ckh",
	"conf",
	"counter",
	"ctl",
	"decay",
	"div",
	"ecache",
	"edata",
	"edata_cache",
	"ehooks",
	"emap",
	"eset",
	"exp_grow",
	"extent",
	"extent_dss",
	"extent_mmap",
	"fxp",
	"hash",
	"hook",
	"hooks",
	"hpa",
	"hpa_central",
	"hpa_hooks",
	"hpa_utils",
	"hpdata",
	"huge",
	"inspect",
	"jemalloc",
	"jemalloc_cpp",
	"large",
	"log",
	"malloc_io",
	"mb",
	"mutex",
	"mutex_pool",
	"nstime",
	"pa",
	"pa_extra",
	"pac",
	"pages",
	"pai",
	"peak_event",
	"prng",
	"prof",
	"prof_data",
	"prof_log",
	"prof_recent",
	"prof_stack_range",
	"prof_stats",
	"prof_sys",
	"psset",
	"quarantine",
	"rtree",
	"safety_check",
	"san",
	"san_bump",
	"sc",
	"sec",
	"spin",
	"stats",
	"sz",
	"tcache",
	"test_hooks",
	"thread_event",
	"thread_event_registry",
	"ticker",
	"tsd",
	"util",
	"witness",
};

#define N(list) (sizeof(list) / sizeof((list)[0]))

struct func {
	uint64_t start, end;
	unsigned int file; /* number of its source file's record; 0: file or name are not like
			    * jemalloc's */
	bool ours;
	bool open;     /* ours if reached from our functions */
	bool reserved; /* it has a reserved name: then it is the C library's */
	bool decoded;  /* its references were examined */
};

struct funcs {
	const struct jemalloc *je;
	bool bare;	      /* the interface exists without the prefix, too */
	const char *file;     /* current source file record of the symbol table */
	unsigned int n_files; /* its number */
	bool is_source;	      /* its name is like one of jemalloc's */
	bool is_open;	      /* its local functions may be jemalloc's */
	struct func *v;
	size_t n, room;
	bool failed;	     /* out of memory */
	bool more;	     /* there are functions that are not decoded yet */
	bool nameless;	     /* code leads to an address without a symbol */
	size_t left;	     /* bytes that may still be decoded */
	struct range hull;   /* from the first to the last handler of a mallctl name */
	struct range frames; /* .eh_frame */
	/* The code being decoded. */
	const char *bytes;
	size_t len;
	uint64_t addr;
};

static bool begins_with_any(const char *name, const char *const *starts, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (*name == *starts[i] && text_begins(name, starts[i]))
			return true;
	return false;
}

/* Compilers add to the names of a function's parts and copies: ".cold", ".constprop.0". */
static bool is_interface(const char *name)
{
	size_t len = strcspn(name, ".");

	for (size_t i = 0; i < N(interface); i++)
		if (strlen(interface[i]) == len && memcmp(name, interface[i], len) == 0)
			return true;
	return false;
}

/* Is it jemalloc's by its name alone? */
static bool is_named(const struct funcs *f, const char *name)
{
	const char *prefix = f->je->prefix;
	size_t len = strlen(prefix);

	if (text_begins(name, "je_") || begins_with_any(name, operators, N(operators)))
		return true;
	if (len && text_begins(name, prefix) &&
	    (text_begins(name + len, "je_") || is_interface(name + len) ||
	     (len >= 3 && !strcmp(prefix + len - 3, "je_"))))
		return true;
	return f->bare && is_interface(name);
}

/* Handlers of mallctl names, and default extent hooks: only tables refer to them. */
static bool is_in_table(const char *name)
{
	static const char *const ends[] = { "_ctl", "_index", "_default" };
	size_t len = strcspn(name, ".");

	for (size_t i = 0; i < N(ends); i++)
		if (len > strlen(ends[i]) &&
		    memcmp(name + len - strlen(ends[i]), ends[i], strlen(ends[i])) == 0)
			return true;
	return text_begins(name, "ehooks_default_") || text_begins(name, "hpa_hooks_");
}

static bool is_source(const char *file)
{
	const char *name = text_file_name(file), *dot = strrchr(name, '.');

	if (text_begins(name, "jemalloc_") && !text_begins(name, "jemalloc_cpp"))
		name += strlen("jemalloc_"); /* a file prefix in some vendored copies */
	if (!dot || dot < name || (strcmp(dot, ".c") != 0 && strcmp(dot, ".cpp") != 0))
		return false;
	for (size_t i = 0; i < N(sources); i++)
		if (strlen(sources[i]) == (size_t)(dot - name) &&
		    memcmp(name, sources[i], (size_t)(dot - name)) == 0)
			return true;
	return false;
}

/* Names that linkers give to the result of LTO; "" is for symbols made local by the linker. */
static bool is_no_source(const char *file)
{
	const char *dot = strrchr(file, '.');

	return !*file || !strcmp(file, "<artificial>") || (dot && !strcmp(dot, ".o"));
}

static struct func *add(struct funcs *f)
{
	if (f->n == f->room) {
		size_t room = f->room ? 2 * f->room : 4096;
		struct func *bigger = reallocarray(f->v, room, sizeof(*bigger));

		f->failed = !bigger;
		if (!bigger)
			return NULL;
		f->v = bigger;
		f->room = room;
	}
	return &f->v[f->n++];
}

static int add_func(void *ctx, const char *name, const struct symbol *sym)
{
	struct funcs *f = ctx;
	struct func *func;

	if (sym->type != STT_FUNC)
		return 0;
	if (sym->file != f->file) {
		f->file = sym->file;
		f->is_source = f->file && is_source(f->file);
		f->n_files += f->is_source;
		f->is_open = f->is_source || (f->file && is_no_source(f->file));
	}
	func = add(f);
	if (!func)
		return 1;
	*func = (struct func){ .start = sym->addr,
			       .end = sym->addr + (sym->size ? sym->size : 1),
			       .ours = is_named(f, name),
			       .open = f->is_open,
			       /* Mangled names of C++ and Rust begin with _Z or _R. */
			       .reserved = name[0] == '_' && name[1] != 'Z' && name[1] != 'R' };
	if (strstr(name, ".lto_priv.")) /* local before GCC partitioned the program */
		func->open = true;
	if (begins_with_any(name, private, N(private))) {
		func->ours |= func->open && !f->is_source && is_in_table(name);
		func->open = true;
		func->file = f->is_source ? f->n_files : 0;
	}
	return 0;
}

static int by_start(const void *a, const void *b)
{
	const struct func *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

/*
 * Keep one entry per address: it may have several names, even of several files if identical code
 * was folded.
 */
static void merge_aliases(struct funcs *f)
{
	size_t n = 0;

	vec_sort(f->v, f->n, by_start);
	for (size_t i = 0; i < f->n; i++) {
		struct func *to = n ? &f->v[n - 1] : NULL;

		if (!to || to->start != f->v[i].start) {
			f->v[n++] = f->v[i];
			continue;
		}
		if (to->end < f->v[i].end)
			to->end = f->v[i].end;
		if (!to->file)
			to->file = f->v[i].file;
		to->ours |= f->v[i].ours;
		to->open |= f->v[i].open;
		to->reserved |= f->v[i].reserved;
	}
	f->n = n;
	for (size_t i = 0; i + 1 < n; i++)
		if (f->v[i].end > f->v[i + 1].start)
			f->v[i].end = f->v[i + 1].start;
}

static struct func *find(const struct funcs *f, uint64_t addr)
{
	size_t lo = 0, hi = f->n;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (addr < f->v[mid].start)
			hi = mid;
		else if (addr >= f->v[mid].end)
			lo = mid + 1;
		else
			return &f->v[mid];
	}
	return NULL;
}

static size_t read_segment(void *ctx, uint64_t addr, void *buf, size_t len)
{
	const struct funcs *f = ctx;

	if (addr < f->addr || addr - f->addr >= f->len)
		return 0;
	if (len > f->len - (addr - f->addr))
		len = f->len - (addr - f->addr);
	memcpy(buf, f->bytes + (addr - f->addr), len);
	return len;
}

static void take(struct funcs *f, struct func *func)
{
	f->more |= !func->ours;
	func->ours = true;
}

static void note_ref(void *ctx, uint64_t to, bool branch)
{
	struct funcs *f = ctx;
	struct decode code = { .read = read_segment, .ctx = f };
	struct func *func;

	if (to < f->addr || to - f->addr >= f->len)
		return;
	func = find(f, to);
	if (func && func->open && !func->reserved && (branch || to == func->start))
		take(f, func);
	else if (!func && branch && !decode_stub(&code, to))
		f->nameless = true;
}

static int decode_ours(void *ctx, unsigned int pflags, const char *bytes, size_t len, uint64_t addr)
{
	struct funcs *f = ctx;

	if (!(pflags & PF_X))
		return 0;
	f->bytes = bytes;
	f->len = len;
	f->addr = addr;
	for (size_t i = 0; i < f->n; i++) {
		struct func *func = &f->v[i];
		size_t size = func->end - func->start;

		if (!func->ours || func->decoded || func->start < addr ||
		    func->start - addr >= len || size > len - (func->start - addr))
			continue;
		func->decoded = true;
		f->nameless |= size > f->left;
		if (size > f->left)
			continue;
		f->left -= size;
		decode_refs(bytes + (func->start - addr), size, func->start, note_ref, f);
	}
	return 0;
}

/* Add functions between two of ours, if all of them are from such files. */
static void take_between(struct funcs *f)
{
	size_t from = f->n;

	for (size_t i = 0; i < f->n; i++) {
		if (f->v[i].ours)
			while (from < i)
				take(f, &f->v[from++]);
		if (f->v[i].ours)
			from = i + 1;
		else if (!f->v[i].file)
			from = f->n;
	}
}

/*
 * Add all functions of a source file with such names, once one of its functions was found. Not all
 * that follow its record: objects without a record, such as those of the C library, appear after
 * the record of another object.
 */
static void take_files(struct funcs *f)
{
	_cleanup_(cleanup_free) bool *found = calloc(f->n_files + 1, sizeof(*found));

	f->failed |= !found;
	for (size_t i = 0; i < f->n && found; i++)
		if (f->v[i].ours)
			found[f->v[i].file] = true;
	for (size_t i = 0; i < f->n && found; i++)
		if (f->v[i].file && found[f->v[i].file])
			take(f, &f->v[i]);
}

static void follow(struct funcs *f)
{
	f->left = CODE_MAX;
	do {
		f->more = false;
		image_each_segment(f->je->image, decode_ours, f);
		take_files(f);
		take_between(f);
	} while (f->more && !f->failed);
}

static int put(struct jemalloc_text *text, uint64_t start, uint64_t end)
{
	struct range *bigger = reallocarray(text->v, text->n + 1, sizeof(*bigger));

	if (!bigger)
		return -1;
	text->v = bigger;
	text->v[text->n++] = (struct range){ start, end };
	return 0;
}

static int put_funcs(const struct funcs *f, struct jemalloc_text *text)
{
	const struct func *last = NULL;

	for (size_t i = 0; i < f->n; i++) {
		const struct func *func = &f->v[i];

		if (!func->ours) {
			last = NULL;
			continue;
		}
		if (last && func->start - last->end <= PADDING_MAX)
			text->v[text->n - 1].end = func->end;
		else if (put(text, func->start, func->end) < 0)
			return -1;
		last = func;
	}
	return 0;
}

/* Add the functions of the .eh_frame entries. GCC and clang produce only this encoding. */
static int add_frames(void *ctx, unsigned int pflags, const char *bytes, size_t len, uint64_t addr)
{
	struct {
		uint32_t len, cie;
		int32_t start; /* DW_EH_PE_pcrel | DW_EH_PE_sdata4 */
		uint32_t size;
	} fde;
	struct funcs *f = ctx;
	uint64_t at = f->frames.start - addr, end = f->frames.end - addr, start;
	struct func *func;
	uint32_t size;

	(void)pflags;
	if (f->frames.start < addr || end > len)
		return 0;
	for (; end - at >= FRAME_MIN && !f->failed; at += sizeof(size) + size) {
		memcpy(&size, bytes + at, sizeof(size));
		if (size < FRAME_MIN - sizeof(size) || size > end - at - sizeof(size))
			break;
		memcpy(&fde, bytes + at, sizeof(fde));
		start = addr + at + 8 + (uint64_t)(int64_t)fde.start;
		if (!fde.cie || start < f->hull.start || start >= f->hull.end || !fde.size)
			continue;
		func = add(f);
		if (func)
			*func = (struct func){ .start = start,
					       .end = start + fde.size,
					       .open = true };
	}
	return 1;
}

static void add_seed(void *ctx, uint64_t addr)
{
	struct funcs *f = ctx;
	struct func *func = add(f);

	if (!func)
		return;
	*func = (struct func){ .start = addr, .end = addr + 1, .ours = true };
	if (addr < f->hull.start)
		f->hull.start = addr;
	if (addr >= f->hull.end)
		f->hull.end = addr + 1;
}

static int find_static(struct jemalloc_text *text, const struct jemalloc *je, pid_t pid)
{
	struct funcs f = { .je = je };
	struct symbol sym;
	struct scan scan;
	char name[128];
	int ret;

	snprintf(name, sizeof(name), "%smalloc", je->prefix);
	f.bare = !je->prefix[0] || !image_symbol(je->image, name, &sym);
	image_each_symbol(je->image, add_func, &f);
	merge_aliases(&f);
	follow(&f);
	text->whole = !je->by_scan && !f.nameless && find(&f, je->mallctl);
	/*
	 * Without symbols: add the functions reached from mallctl, the handlers of its names, and
	 * prof_dump, as far as they are between the first and the last of these. Frame tables
	 * delimit the functions.
	 */
	if (!text->whole) {
		f.hull = (struct range){ UINT64_MAX, 0 };
		scan_open(&scan, je->image, pid);
		scan_control(&scan, je->mallctl, add_seed, &f);
		if (image_section(je->image, ".eh_frame", &f.frames))
			image_each_segment(je->image, add_frames, &f);
		merge_aliases(&f);
		follow(&f);
	}
	ret = f.failed ? -1 : put_funcs(&f, text);
	/*
	 * A thread waiting in a hook called from malloc(3) also has return addresses between them.
	 */
	if (!ret && !text->whole)
		ret = put(text, f.hull.start, f.hull.end);
	free(f.v);
	return ret;
}

int jemalloc_text(struct jemalloc_text *out, const struct jemalloc *je, pid_t pid, struct err *err)
{
	const struct image *img = je->image;
	struct jemalloc_text text = { 0 };
	int ret;

	if (je->linkage == LINKAGE_STATIC || !img->n_exec) {
		ret = find_static(&text, je, pid);
	} else {
		text.whole = true;
		ret = put(&text, img->exec[0].start, img->exec[img->n_exec - 1].end);
	}
	if (ret < 0) {
		jemalloc_text_fini(&text);
		return err_no_memory(err);
	}
	*out = text;
	return 0;
}

void jemalloc_text_fini(struct jemalloc_text *text)
{
	free(text->v);
	*text = (struct jemalloc_text){ 0 };
}

bool jemalloc_text_has(const struct jemalloc_text *text, uint64_t addr)
{
	for (size_t i = 0; i < text->n; i++)
		if (text->v[i].start <= addr && addr < text->v[i].end)
			return true;
	return false;
}
