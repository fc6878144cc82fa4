// SPDX-License-Identifier: Apache-2.0
/*
 * In a program that holds jemalloc itself, its functions stand together, as
 * its archive was linked: once among the ordinary code and once more among
 * the code the compiler deems unlikely. Both are found as dense runs of
 * functions with names jemalloc uses. Taking everything from the first to the
 * last would swallow the program's main(), and then no thread were ever safe.
 */
#include "target/jemalloc_text.h"

#include "base/cleanup.h"

#include <elf.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* Unknown names in a row that do not end a run: helpers of a version we have not seen. */
#define GAP_MAX 3
/* A run that is shorter may be the program's own functions. */
#define RUN_MIN 8
/* Where most of jemalloc's functions are expected to be. */
#define RUN_GOOD 64
/* jemalloc 5.3's code takes 0.7 MiB: without names it lies within this of mallctl. */
#define WINDOW (UINT64_C(1) << 20)

static const char *const starts[] = {
	"a0",
	"arena_",
	"arenas_",
	"atomic_",
	"background_thread",
	"base_",
	"batch_alloc",
	"bin_",
	"bitmap_",
	"buf_writer_",
	"buferror",
	"buffered_",
	"cache_bin_",
	"chunk_",
	"ckh_",
	"config_",
	"counter_",
	"ctl_",
	"decay_",
	"decrement_recent",
	"default_junk_",
	"div_",
	"do_rallocx",
	"ecache_",
	"edata_",
	"ehooks_",
	"emap_",
	"emitter_",
	"epoch_",
	"eset_",
	"experimental_",
	"extent_",
	"extents_",
	"exp_grow_",
	"fxp_",
	"gctx_",
	"geom_grow",
	"hash_",
	"hook_",
	"hooks_",
	"hpa_",
	"hpdata_",
	"huge_",
	"i_",
	"init_opt_",
	"inspect_",
	"ialloc",
	"idalloc",
	"imalloc",
	"iralloc",
	"isdalloc",
	"isalloc",
	"ivsalloc",
	"jemalloc_",
	"large_",
	"lg_prof_",
	"log_",
	"malloc",
	"max_background_",
	"metadata_",
	"mutex_",
	"mtx_",
	"nstime_",
	"opt_",
	"os_page",
	"pa_",
	"pac_",
	"pages_",
	"pai_",
	"parse_",
	"peak_",
	"percpu_",
	"posix_memalign",
	"prng_",
	"prof_",
	"psset_",
	"quarantine_",
	"ralloc",
	"rtree_",
	"safety_check_",
	"san_",
	"sc_",
	"sec_",
	"size_class",
	"stats_",
	"sz_",
	"tcache",
	"tcaches_",
	"tctx_",
	"tdata_",
	"te_",
	"test_hooks_",
	"thread_",
	"ticker_",
	"tsd_",
	"version_ctl",
	"witness_",
	"x2s",
	"x_x2s",
	"z2s",
	"zone_",
	"xmallctl",
	"aligned_alloc",
	"calloc",
	"cfree",
	"dallocx",
	"free",
	"mallctl",
	"memalign",
	"nallocx",
	"pvalloc",
	"rallocx",
	"realloc",
	"sallocx",
	"sdallocx",
	"valloc",
	"xallocx",
	"_Znw",
	"_Zna",
	"_Zdl",
	"_Zda",
	"_Z13fallback_impl",
	"_ZL9handleOOM",
	"newImpl",
	"_ZL7newImpl",
	"_ZL10handleOOM",
};

/* What the linker puts between the two runs; never jemalloc's. */
static const char *const stops[] = { "main",  "_start",	     "_init",
				     "_fini", "frame_dummy", "jemalloc_constructor" };

/* STRONG: in jemalloc's private namespace, or with its prefix. */
enum likeness { OTHER, LIKELY, STRONG, STOP };

struct func {
	uint64_t start, end;
	enum likeness like;
};

struct funcs {
	const struct jemalloc *je;
	struct func *v;
	size_t n, room;
	bool failed; /* out of memory */
};

struct run {
	struct range range;
	size_t n;      /* functions with jemalloc's names */
	size_t strong; /* of which STRONG */
};

static bool has_prefix(const char *name, const char *prefix)
{
	return !strncmp(name, prefix, strlen(prefix));
}

static enum likeness likeness(const struct jemalloc *je, const char *name)
{
	for (size_t i = 0; i < sizeof(stops) / sizeof(stops[0]); i++)
		if (!strcmp(name, stops[i]))
			return STOP;
	if (has_prefix(name, "je_") || (je->prefix[0] && has_prefix(name, je->prefix)))
		return STRONG;
	for (size_t i = 0; i < sizeof(starts) / sizeof(starts[0]); i++)
		if (has_prefix(name, starts[i]))
			return LIKELY;
	return OTHER;
}

static int add_func(void *ctx, const char *name, const struct symbol *sym)
{
	struct funcs *funcs = ctx;

	if (sym->type != STT_FUNC)
		return 0;
	if (funcs->n == funcs->room) {
		size_t room = funcs->room ? 2 * funcs->room : 4096;
		struct func *bigger = realloc(funcs->v, room * sizeof(*bigger));

		funcs->failed = !bigger;
		if (!bigger)
			return 1;
		funcs->v = bigger;
		funcs->room = room;
	}
	funcs->v[funcs->n++] =
		(struct func){ sym->addr, sym->addr + sym->size, likeness(funcs->je, name) };
	return 0;
}

/* A name that counts comes first among those of one address. */
static int by_start(const void *a, const void *b)
{
	const struct func *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return (int)y->like - (int)x->like;
}

/* The run that begins with function *i; moves *i past it. */
static struct run take_run(const struct funcs *funcs, size_t *i)
{
	struct run run = { .range = { funcs->v[*i].start, funcs->v[*i].start } };
	size_t last = *i, k;

	for (k = *i; k < funcs->n && k - last <= GAP_MAX && funcs->v[k].like != STOP; k++) {
		if (funcs->v[k].like == OTHER)
			continue;
		last = k;
		run.n++;
		run.strong += funcs->v[k].like == STRONG;
	}
	/* Up to the next function: alignment and assembly without a size count as inside. */
	for (k = last; k < funcs->n && funcs->v[k].start <= funcs->v[last].start; k++)
		if (funcs->v[k].end > run.range.end)
			run.range.end = funcs->v[k].end;
	if (k < funcs->n && funcs->v[k].start > run.range.end)
		run.range.end = funcs->v[k].start;
	*i = last + 1;
	return run;
}

/* Keep the largest of the runs that do not hold mallctl. */
static void keep_run(struct jemalloc *je, size_t *sizes, const struct run *run)
{
	size_t least = 0;

	if (run->n < RUN_MIN)
		return;
	if (je->n_more < JEMALLOC_MORE_MAX) {
		least = je->n_more++;
	} else {
		for (size_t i = 1; i < JEMALLOC_MORE_MAX; i++)
			if (sizes[i] < sizes[least])
				least = i;
		if (sizes[least] >= run->n)
			return;
	}
	je->more[least] = run->range;
	sizes[least] = run->n;
}

static bool bound_by_names(struct jemalloc *je, struct funcs *funcs)
{
	size_t sizes[JEMALLOC_MORE_MAX];
	size_t strong = 0;
	bool good = false;

	for (size_t i = 0; i < funcs->n; i++)
		strong += funcs->v[i].like == STRONG;
	qsort(funcs->v, funcs->n, sizeof(*funcs->v), by_start);
	for (size_t i = 0; i < funcs->n;) {
		struct run run;

		if (funcs->v[i].like != LIKELY && funcs->v[i].like != STRONG) {
			i++;
			continue;
		}
		run = take_run(funcs, &i);
		if (run.range.start <= je->mallctl && je->mallctl < run.range.end) {
			je->text = run.range;
			good = run.n >= RUN_GOOD;
		} else if (run.strong || strong < RUN_MIN) {
			/* With a private namespace, runs without it are the program's own. */
			keep_run(je, sizes, &run);
		}
	}
	return good;
}

/* Around mallctl, within the executable mapping that holds it. */
static void bound_by_window(struct jemalloc *je)
{
	const struct image *img = je->image;

	je->n_more = 0;
	je->text = (struct range){ je->mallctl, je->mallctl + 1 };
	for (size_t i = 0; i < img->n_exec; i++) {
		const struct range *x = &img->exec[i];

		if (je->mallctl < x->start || je->mallctl >= x->end)
			continue;
		je->text = *x;
		if (je->mallctl - x->start > WINDOW)
			je->text.start = je->mallctl - WINDOW;
		if (x->end - je->mallctl > WINDOW)
			je->text.end = je->mallctl + WINDOW;
	}
}

void jemalloc_text(struct jemalloc *je)
{
	struct funcs funcs = { .je = je };
	struct image *img = je->image;

	if (je->linkage != LINKAGE_STATIC && img->n_exec) {
		je->text = (struct range){ img->exec[0].start, img->exec[img->n_exec - 1].end };
		return;
	}
	image_each_symbol(img, add_func, &funcs);
	if (funcs.failed || !bound_by_names(je, &funcs))
		bound_by_window(je);
	free(funcs.v);
}
