// SPDX-License-Identifier: Apache-2.0
/*
 * Every option of every version from 3.0 on. Where a limit or a type changed,
 * an option has several rows, which do not overlap.
 */
#include "jemalloc/conf.h"

#include "base/text.h"

#include <ctype.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define V(major, minor, patch) CONF_VERSION(major, minor, patch)
#define FIRST 0
#define NOW 0
#define NO_MAX INT64_MAX
#define PAGE 4096
#define HUGEPAGE (2 << 20)
#define LARGE_MAX 0x7000000000000000
#define SECONDS_MAX 18446744072

const int conf_versions[] = {
	V(3, 6, 0), V(4, 0, 4), V(4, 4, 0), V(4, 5, 0), V(5, 0, 1), V(5, 1, 0),
	V(5, 2, 0), V(5, 2, 1), V(5, 3, 0), V(5, 3, 1), 0,
};
_Static_assert(sizeof(conf_versions) / sizeof(int) == CONF_VERSIONS + 1, "one for each family");

#define BOOL(name, since, until, flags, id)                          \
	{                                                            \
		name, CONF_BOOL, flags, since, until, 0, 1, NULL, id \
	}
#define SIZE(name, since, until, flags, min, max)                                    \
	{                                                                            \
		name, CONF_UNSIGNED, flags, since, until, min, max, NULL, CONF_OTHER \
	}
#define SIGNED(name, since, until, min, max)                                   \
	{                                                                      \
		name, CONF_SIGNED, 0, since, until, min, max, NULL, CONF_OTHER \
	}
#define WORDS(name, type, since, until, flags, words)                    \
	{                                                                \
		name, type, flags, since, until, 0, 0, words, CONF_OTHER \
	}
#define OTHER(name, type, since, flags, max)                            \
	{                                                               \
		name, type, flags, since, NOW, 0, max, NULL, CONF_OTHER \
	}

const struct conf_option conf_options[] = {
	/* Those that any beginning of their name stands for come first, in jemalloc's order. */
	WORDS("metadata_thp", CONF_WORD_CUT, V(5, 1, 0), NOW, CONF_CUT_KEY, "disabled auto always"),
	WORDS("dss", CONF_WORD_CUT, V(3, 1, 0), NOW, CONF_CUT_KEY, "disabled primary secondary"),
	WORDS("purge", CONF_WORD_CUT, V(4, 1, 0), V(5, 0, 0), CONF_CUT_KEY, "ratio decay"),
	WORDS("percpu_arena", CONF_WORD_CUT, V(5, 0, 0), NOW, CONF_CUT_KEY,
	      "percpu phycpu disabled"),
	WORDS("hpa_hugify_style", CONF_WORD_CUT, V(5, 3, 1), NOW, CONF_CUT_KEY,
	      "auto none eager lazy"),

	/* Profiling. */
	BOOL("prof", FIRST, NOW, CONF_PROFILING, CONF_PROF),
	{ "prof_prefix", CONF_TEXT, CONF_PROFILING, FIRST, NOW, 0, 4096, NULL, CONF_PREFIX },
	BOOL("prof_active", FIRST, NOW, CONF_PROFILING, CONF_PROF_ACTIVE),
	BOOL("prof_thread_active_init", V(4, 0, 0), NOW, CONF_PROFILING, CONF_THREAD_INIT),
	{ "lg_prof_sample", CONF_SIGNED, CONF_PROFILING, FIRST, V(4, 0, 0), 0, 63, NULL,
	  CONF_LG_SAMPLE },
	{ "lg_prof_sample", CONF_UNSIGNED, CONF_PROFILING | CONF_CLIP, V(4, 0, 0), NOW, 0, 63, NULL,
	  CONF_LG_SAMPLE },
	BOOL("prof_accum", FIRST, NOW, CONF_PROFILING, CONF_OTHER),
	SIZE("prof_bt_max", V(5, 3, 1), NOW, CONF_PROFILING | CONF_CLIP, 1, UINT32_MAX),
	{ "lg_prof_interval", CONF_SIGNED, CONF_PROFILING, FIRST, NOW, -1, 63, NULL,
	  CONF_LG_INTERVAL },
	BOOL("prof_gdump", FIRST, NOW, CONF_PROFILING, CONF_GDUMP),
	BOOL("prof_final", FIRST, NOW, CONF_PROFILING, CONF_FINAL),
	BOOL("prof_leak", FIRST, NOW, CONF_PROFILING, CONF_LEAK),
	BOOL("prof_leak_error", V(5, 3, 0), NOW, CONF_PROFILING, CONF_LEAK_ERROR),
	BOOL("prof_log", V(5, 2, 0), NOW, CONF_PROFILING, CONF_OTHER),
	BOOL("prof_pid_namespace", V(5, 3, 1), NOW, CONF_PROFILING, CONF_OTHER),
	{ "prof_recent_alloc_max", CONF_SIGNED, CONF_PROFILING, V(5, 3, 0), NOW, -1, NO_MAX, NULL,
	  CONF_OTHER },
	BOOL("prof_stats", V(5, 3, 0), NOW, CONF_PROFILING, CONF_OTHER),
	BOOL("prof_sys_thread_name", V(5, 3, 0), NOW, CONF_PROFILING, CONF_OTHER),
	WORDS("prof_time_resolution", CONF_WORD, V(5, 3, 0), NOW, CONF_PROFILING, "default high"),
	BOOL("prof_unbias", V(5, 3, 0), NOW, CONF_PROFILING, CONF_OTHER),

	/* About the configuration itself, and what is reported. */
	BOOL("abort", FIRST, NOW, 0, CONF_OTHER),
	BOOL("abort_conf", V(5, 0, 0), NOW, 0, CONF_ABORT_CONF),
	BOOL("confirm_conf", V(5, 2, 1), NOW, 0, CONF_CONFIRM),
	BOOL("stats_print", FIRST, NOW, 0, CONF_OTHER),
	OTHER("stats_print_opts", CONF_TEXT, V(5, 0, 0), 0, NO_MAX),
	SIGNED("stats_interval", V(5, 3, 0), NOW, -1, NO_MAX),
	OTHER("stats_interval_opts", CONF_TEXT, V(5, 3, 0), 0, NO_MAX),
	OTHER("log", CONF_TEXT, V(5, 1, 0), CONF_SPECIAL, 999),

	/* Arenas, decay, thread caches. */
	SIZE("narenas", FIRST, V(5, 3, 0), 0, 1, NO_MAX),
	{ "narenas", CONF_NARENAS, 0, V(5, 3, 0), NOW, 1, NO_MAX, NULL, CONF_OTHER },
	OTHER("narenas_ratio", CONF_RATIO, V(5, 3, 0), 0, NO_MAX),
	BOOL("retain", V(5, 0, 0), NOW, 0, CONF_OTHER),
	SIGNED("lg_dirty_mult", FIRST, V(5, 0, 0), -1, 63),
	SIGNED("decay_time", V(4, 1, 0), V(5, 0, 0), -1, SECONDS_MAX),
	SIGNED("dirty_decay_ms", V(5, 0, 0), NOW, -1, SECONDS_MAX * 1000),
	SIGNED("muzzy_decay_ms", V(5, 0, 0), NOW, -1, SECONDS_MAX * 1000),
	BOOL("background_thread", V(5, 0, 0), NOW, 0, CONF_OTHER),
	SIZE("max_background_threads", V(5, 1, 0), NOW, CONF_CLIP, 1, 4096),
	BOOL("tcache", FIRST, NOW, 0, CONF_OTHER),
	{ "lg_tcache_max", CONF_SIGNED, 0, FIRST, V(5, 3, 0), -1, 63, NULL, CONF_LG_TCACHE_MAX },
	SIZE("lg_tcache_max", V(5, 3, 0), V(5, 3, 1), CONF_CLIP, 0, 23),
	SIZE("lg_tcache_max", V(5, 3, 1), NOW, CONF_CLIP, 0, 15),
	SIZE("tcache_max", V(5, 3, 0), V(5, 3, 1), CONF_CLIP, 0, 8 << 20),
	SIZE("tcache_max", V(5, 3, 1), NOW, CONF_CLIP, 0, 32 << 10),
	OTHER("tcache_ncached_max", CONF_RANGES, V(5, 3, 1), 0, NO_MAX),
	SIGNED("lg_tcache_nslots_mul", V(5, 3, 0), NOW, -16, 16),
	SIZE("tcache_nslots_small_min", V(5, 3, 0), NOW, CONF_CLIP, 1, 2048),
	SIZE("tcache_nslots_small_max", V(5, 3, 0), NOW, CONF_CLIP, 1, 2048),
	SIZE("tcache_nslots_large", V(5, 3, 0), NOW, CONF_CLIP, 1, 2048),
	SIZE("tcache_gc_incr_bytes", V(5, 3, 0), NOW, CONF_CLIP, 1024, NO_MAX),
	SIZE("tcache_gc_delay_bytes", V(5, 3, 0), NOW, 0, 0, NO_MAX),
	SIZE("lg_tcache_flush_small_div", V(5, 3, 0), NOW, CONF_CLIP, 1, 16),
	SIZE("lg_tcache_flush_large_div", V(5, 3, 0), NOW, CONF_CLIP, 1, 16),
	SIGNED("mutex_max_spin", V(5, 3, 0), NOW, -1, NO_MAX),

	/* Size classes and the memory below. */
	SIZE("lg_chunk", FIRST, V(4, 0, 0), CONF_CLIP, 14, 63),
	SIZE("lg_chunk", V(4, 0, 0), V(5, 0, 0), CONF_CLIP, 16, 63),
	BOOL("thp", V(4, 5, 0), V(5, 0, 0), 0, CONF_OTHER),
	WORDS("thp", CONF_WORD_CUT, V(5, 1, 0), NOW, 0, "default always never"),
	SIZE("lg_extent_max_active_fit", V(5, 1, 0), NOW, 0, 0, 64),
	SIZE("oversize_threshold", V(5, 2, 0), NOW, 0, 0, LARGE_MAX),
	OTHER("bin_shards", CONF_RANGES, V(5, 2, 0), 0, NO_MAX),
	WORDS("slab_sizes", CONF_RANGES, V(5, 2, 0), V(5, 3, 0), 0, NULL),
	WORDS("slab_sizes", CONF_RANGES, V(5, 3, 0), NOW, 0, "default"),
	BOOL("trust_madvise", V(5, 3, 0), NOW, 0, CONF_OTHER),
	BOOL("cache_oblivious", V(5, 3, 1), NOW, 0, CONF_OTHER),
	BOOL("huge_arena_pac_thp", V(5, 3, 1), NOW, 0, CONF_OTHER),
	BOOL("disable_large_size_classes", V(5, 3, 1), NOW, 0, CONF_OTHER),
	OTHER("process_madvise_max_batch", CONF_UNSIGNED, V(5, 3, 1), CONF_CLIP, 128),
	SIZE("calloc_madvise_threshold", V(5, 3, 1), NOW, 0, 0, LARGE_MAX),
	BOOL("experimental_tcache_gc", V(5, 3, 1), NOW, 0, CONF_OTHER),
	BOOL("hpa", V(5, 3, 0), NOW, 0, CONF_OTHER),
	SIZE("hpa_slab_max_alloc", V(5, 3, 0), NOW, CONF_CLIP, PAGE, HUGEPAGE),
	SIZE("hpa_hugification_threshold", V(5, 3, 0), NOW, CONF_CLIP, PAGE, HUGEPAGE),
	OTHER("hpa_hugification_threshold_ratio", CONF_RATIO, V(5, 3, 0), 0, 1),
	SIZE("hpa_hugify_delay_ms", V(5, 3, 0), NOW, 0, 0, NO_MAX),
	BOOL("hpa_hugify_sync", V(5, 3, 1), NOW, 0, CONF_OTHER),
	SIZE("hpa_min_purge_interval_ms", V(5, 3, 0), NOW, 0, 0, NO_MAX),
	SIZE("hpa_min_purge_delay_ms", V(5, 3, 1), NOW, 0, 0, NO_MAX),
	SIZE("hpa_purge_threshold", V(5, 3, 1), NOW, CONF_CLIP, PAGE, HUGEPAGE),
	OTHER("hpa_purge_threshold_ratio", CONF_RATIO, V(5, 3, 1), 0, 1),
	OTHER("hpa_dirty_mult", CONF_RATIO_OFF, V(5, 3, 0), 0, NO_MAX),
	SIZE("hpa_sec_nshards", V(5, 3, 0), NOW, CONF_CLIP, 0, NO_MAX),
	SIZE("hpa_sec_max_alloc", V(5, 3, 0), V(5, 3, 1), CONF_CLIP, PAGE, NO_MAX),
	SIZE("hpa_sec_max_alloc", V(5, 3, 1), NOW, CONF_CLIP, PAGE, 32 << 10),
	SIZE("hpa_sec_max_bytes", V(5, 3, 0), V(5, 3, 1), CONF_CLIP, PAGE, NO_MAX),
	SIZE("hpa_sec_max_bytes", V(5, 3, 1), NOW, CONF_CLIP, 256 << 10, NO_MAX),
	SIZE("hpa_sec_bytes_after_flush", V(5, 3, 0), V(5, 3, 1), CONF_CLIP, PAGE, NO_MAX),
	SIZE("hpa_sec_batch_fill_extra", V(5, 3, 0), V(5, 3, 1), CONF_CLIP, 0, 512),
	SIZE("hpa_sec_batch_fill_extra", V(5, 3, 1), NOW, CONF_CLIP, 1, 512),
	SIGNED("experimental_hpa_max_purge_nhp", V(5, 3, 1), NOW, -1, NO_MAX),
	BOOL("experimental_hpa_start_huge_if_thp_always", V(5, 3, 1), NOW, 0, CONF_OTHER),
	BOOL("experimental_hpa_enforce_hugify", V(5, 3, 1), NOW, 0, CONF_OTHER),

	/* Filling, debugging. */
	BOOL("junk", FIRST, V(4, 0, 0), 0, CONF_OTHER),
	WORDS("junk", CONF_WORD, V(4, 0, 0), NOW, 0, "true false alloc free"),
	BOOL("zero", FIRST, NOW, 0, CONF_OTHER),
	SIZE("quarantine", FIRST, V(5, 0, 0), 0, 0, NO_MAX),
	BOOL("redzone", FIRST, V(5, 0, 0), 0, CONF_OTHER),
	BOOL("utrace", FIRST, NOW, CONF_SPECIAL, CONF_OTHER),
	BOOL("valgrind", FIRST, V(4, 0, 0), CONF_SPECIAL, CONF_OTHER),
	BOOL("xmalloc", FIRST, NOW, CONF_SPECIAL, CONF_OTHER),
	BOOL("experimental_infallible_new", V(5, 3, 0), NOW, 0, CONF_OTHER),
	WORDS("zero_realloc", CONF_WORD, V(5, 3, 0), NOW, 0, "alloc free abort"),
	OTHER("debug_double_free_max_scan", CONF_UNSIGNED, V(5, 3, 1), 0, NO_MAX),
	{ "lg_san_uaf_align", CONF_SIGNED, CONF_SPECIAL, V(5, 3, 0), NOW, -1, NO_MAX, NULL,
	  CONF_OTHER },
	SIZE("san_guard_small", V(5, 3, 0), NOW, 0, 0, NO_MAX),
	SIZE("san_guard_large", V(5, 3, 0), NOW, 0, 0, NO_MAX),
	{ .name = NULL },
};

int conf_version_parse(const char *text)
{
	unsigned int major, minor, patch = 0;

	if (sscanf(text, "%2u.%2u.%2u", &major, &minor, &patch) < 2 || major < 3)
		return 0;
	return (int)CONF_VERSION(major, minor, patch);
}

const char *conf_version_text(int version, char *buf, size_t size)
{
	snprintf(buf, size, "%d.%d.%d", version / 10000, version / 100 % 100, version % 100);
	return buf;
}

static bool is_in(const struct conf_option *o, int version)
{
	return o->since <= version && (!o->until || version < o->until);
}

/* What jemalloc compares with strncmp() and the length of the key. */
static bool matches(const struct conf_option *o, const char *key, size_t len)
{
	size_t whole = strlen(o->name);

	return (len == whole || (len < whole && (o->flags & CONF_CUT_KEY))) &&
	       !memcmp(o->name, key, len);
}

const struct conf_option *conf_option_find(const char *key, size_t len, int version)
{
	for (const struct conf_option *o = conf_options; o->name; o++) {
		if (is_in(o, version) && matches(o, key, len))
			return o;
	}
	return NULL;
}

const struct conf_option *conf_option_named(const char *key, size_t len)
{
	const struct conf_option *found = NULL;

	for (const struct conf_option *o = conf_options; o->name; o++) {
		if (strlen(o->name) == len && !memcmp(o->name, key, len) &&
		    (!found || o->since >= found->since))
			found = o;
	}
	return found;
}

const char *conf_option_near(const char *key, size_t len)
{
	const char *best = NULL;
	int least = len < 6 ? 2 : 4;
	char word[TEXT_DISTANCE_MAX + 1];

	if (len < 2 || len > TEXT_DISTANCE_MAX)
		return NULL;
	for (size_t i = 0; i < len; i++)
		word[i] = (char)tolower((unsigned char)key[i]);
	word[len] = '\0';
	for (const struct conf_option *o = conf_options; o->name; o++) {
		int d = text_distance(word, o->name);

		if (d < least) {
			least = d;
			best = o->name;
		}
	}
	return best;
}
